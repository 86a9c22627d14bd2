//! What recording costs a program whose threads do nothing but allocate, more of them than there are processors, and one with a crowd
//! of threads: how much longer it takes from start to end.

use crate::run::{CommandLine, Usage, median};

/// The same loop with some number of threads.
pub struct Loop {
    /// How deep the calls are.
    pub name: &'static str,
    /// malloc/free pairs of each thread.
    pairs: u32,
    threads: u32,
    mode: &'static str,
}

/// Threads that wait for memtoll, as they write faster than it packs.
pub const FOUR: [Loop; 2] = [
    Loop { name: "23 frames deep", pairs: 2_500_000, threads: 4, mode: "random" },
    Loop { name: "called directly", pairs: 2_500_000, threads: 4, mode: "flat" },
];
/// Many threads that begin at once.
pub const CROWD: [Loop; 1] = [Loop { name: "called directly", pairs: 1_000, threads: 1_000, mode: "flat" }];

/// Seconds from start to end, medians, and the medians of the rounds' ratios.
pub struct Burst {
    /// What was measured.
    pub of: &'static Loop,
    /// Alone.
    pub plain: f64,
    /// Recorded: the program itself.
    pub recorded: f64,
    /// The same as a multiple of the plain run of the round.
    pub times: f64,
    /// Until memtoll has packed what came faster than it packs.
    pub whole: f64,
}

/// What a recorded run took.
pub struct Recorded {
    /// The program alone.
    pub program: Usage,
    /// Together with memtoll, until the recording is there.
    pub whole: Usage,
}

/// Measures each loop `rounds` times. `program` makes them; `record` runs a command under memtoll.
pub fn measure(
    rounds: usize,
    loops: &'static [Loop],
    program: &str,
    record: &dyn Fn(&CommandLine) -> Result<Recorded, String>,
) -> Result<Vec<Burst>, String> {
    let one = |of: &'static Loop| -> Result<Burst, String> {
        let command = CommandLine::new([program, &of.pairs.to_string(), &of.threads.to_string(), of.mode]);
        let (mut plain, mut recorded, mut times, mut whole) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rounds {
            let alone = command.measure()?.wall;
            let run = record(&command)?;
            plain.push(alone);
            recorded.push(run.program.wall);
            times.push(run.program.wall / alone);
            whole.push(run.whole.wall);
        }
        let (plain, recorded, times, whole) = (median(plain), median(recorded), median(times), median(whole));
        Ok(Burst { of, plain, recorded, times, whole })
    };
    loops.iter().map(one).collect()
}

/// The measurements as lines of text.
pub fn lines(measured: &[Burst]) -> String {
    let line = |Burst { of, plain, recorded, times, whole }: &Burst| {
        let Loop { name, pairs, threads, .. } = of;
        format!(
            "  {threads} threads, {pairs} pairs each, {name}: plain {plain:.2}, recorded {recorded:.2} ({times:.2} times), all \
             packed after {whole:.2}\n"
        )
    };
    let all: String = measured.iter().map(line).collect();
    format!("\nthreads that only allocate: seconds from start to end\n{all}")
}
