//! What recording costs a program whose threads do nothing but allocate, more of them than there are processors: how much
//! longer it takes from start to end.

use crate::run::{CommandLine, Usage, median};

/// malloc/free pairs of each thread.
const PAIRS: &str = "2500000";
const THREADS: &str = "4";

/// Seconds from start to end, medians, and the medians of the rounds' ratios.
pub struct Burst {
    /// How deep the calls are.
    pub name: &'static str,
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

/// Measures `rounds` times. `program` is the loop; `record` runs a command under memtoll.
pub fn measure(
    rounds: usize,
    program: &str,
    record: &dyn Fn(&CommandLine) -> Result<Recorded, String>,
) -> Result<Vec<Burst>, String> {
    let of = |name: &'static str, mode: &str| -> Result<Burst, String> {
        let command = CommandLine::new([program, PAIRS, THREADS, mode]);
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
        Ok(Burst { name, plain, recorded, times, whole })
    };
    Ok(vec![of("23 frames deep", "random")?, of("called directly", "flat")?])
}

/// The measurements as lines of text.
pub fn lines(measured: &[Burst]) -> String {
    let mut text = format!("\n{THREADS} threads that only allocate: seconds from start to end, {PAIRS} pairs each\n");
    for Burst { name, plain, recorded, times, whole } in measured {
        text += &format!(
            "  {name}: plain {plain:.2}, recorded {recorded:.2} ({times:.2} times), all packed after {whole:.2}\n"
        );
    }
    text
}
