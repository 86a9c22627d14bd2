//! What recording costs a process that is over at once: most of it is spent to begin and to end.

use crate::run::{CommandLine, Usage, median};
use std::path::Path;

/// Processes in a run.
const PROCESSES: usize = 500;
/// Runs of heaptrack, which takes tens of milliseconds for each.
const HEAPTRACKS: usize = 10;

/// Recordings in a round, each of one process.
const RECORDINGS: usize = 10;

/// Processor time for each `/bin/true`, of one way to start it.
pub struct Short {
    /// How they are started.
    pub name: &'static str,
    /// Alone, ms.
    pub plain: f64,
    /// What memtoll adds to the processes themselves, ms.
    pub in_target: f64,
    /// What it adds in all, ms.
    pub whole: f64,
    /// The same for `heaptrack --raw`, started for each process: it does not follow children.
    pub heaptrack: Option<f64>,
}

/// Measures `rounds` times. `own` is this program, for its command `repeat`; `record` puts a command under memtoll, and
/// `target` runs one there and says what it took alone.
pub fn measure(
    rounds: usize,
    own: &Path,
    heaptrack: bool,
    record: &dyn Fn(&CommandLine) -> CommandLine,
    target: &dyn Fn(&CommandLine) -> Result<Usage, String>,
) -> Result<Vec<Short>, String> {
    let repeat = |count: usize, words: &[&str]| {
        let count = count.to_string();
        CommandLine::new(words).under([own.as_os_str(), "repeat".as_ref(), count.as_ref(), "--".as_ref()])
    };
    let script = format!("for ((i = 0; i < {PROCESSES}; ++i)); do /bin/true; done");
    let ways = [
        ("posix_spawn", repeat(PROCESSES, &["/bin/true"])),
        ("bash, which forks first", CommandLine::new(["/bin/bash", "-c", &script])),
    ];
    let each = |cpu: f64, processes: usize| cpu * 1e3 / processes as f64;
    let mut measured = Vec::new();
    for (name, command) in ways {
        let (mut plain, mut in_target, mut whole) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let alone = command.measure()?.cpu;
            plain.push(each(alone, PROCESSES));
            in_target.push(each(target(&command)?.cpu - alone, PROCESSES));
            whole.push(each(record(&command).measure()?.cpu - alone, PROCESSES));
        }
        let (plain, in_target, whole) = (median(plain), median(in_target), median(whole));
        measured.push(Short { name, plain, in_target, whole, heaptrack: None });
    }
    if heaptrack {
        let file = std::env::temp_dir().join(format!("heaptrack-short-{}", std::process::id()));
        let output = file.to_string_lossy().into_owned();
        let taken = repeat(HEAPTRACKS, &["heaptrack", "--raw", "-o", &output, "/bin/true"]).measure();
        for suffix in ["raw.zst", "raw.gz"] {
            let _ = std::fs::remove_file(format!("{output}.{suffix}"));
        }
        measured[0].heaptrack = Some(each(taken?.cpu, HEAPTRACKS) - measured[0].plain);
    }
    Ok(measured)
}

/// CPU time that a whole recording of `/bin/true` takes, beyond that of `/bin/true`, ms: the median of `rounds` times
/// [`RECORDINGS`].
pub fn whole_recording(rounds: usize, record: &dyn Fn(&CommandLine) -> CommandLine) -> Result<f64, String> {
    let alone = CommandLine::new(["/bin/true"]);
    let recorded = record(&alone);
    // The first three measure what the machine's operations cost; the others know it.
    repeat(3, &recorded)?;
    let runs = (0..rounds * RECORDINGS).map(|_| Ok((recorded.measure()?.cpu - alone.measure()?.cpu) * 1e3));
    Ok(median(runs.collect::<Result<Vec<f64>, String>>()?))
}

/// Runs a command again and again.
pub fn repeat(count: usize, command: &CommandLine) -> Result<(), String> {
    (0..count).try_for_each(|_| command.measure().map(drop))
}

/// The measurements as lines of text.
pub fn lines(measured: &[Short]) -> String {
    let mut text = format!("\nshort processes: ms of CPU for each of {PROCESSES} /bin/true\n");
    for Short { name, plain, in_target, whole, heaptrack } in measured {
        let memtoll = whole - in_target;
        text += &format!(
            "  started by {name}: plain {plain:.2}, memtoll adds {whole:.2} ({in_target:.2} in the processes, {memtoll:.2} in memtoll)"
        );
        if let Some(heaptrack) = heaptrack {
            text += &format!("; heaptrack --raw, started for each, adds {heaptrack:.0}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_ends_the_repetition() {
        assert!(repeat(3, &CommandLine::new(["true"])).is_ok());
        assert!(repeat(3, &CommandLine::new(["false"])).is_err());
    }
}
