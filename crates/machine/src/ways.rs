//! The ways to take memory and to give it back, and samples of them: what the program `machine/ways` prints.

use crate::program::{Error, Program};

/// A way to take memory and to give it back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Way {
    /// Stays the same from version to version.
    pub id: String,
    /// For people.
    pub name: String,
    /// Whether several threads can go it at once.
    pub in_threads: bool,
    /// Why it cannot be gone here.
    pub obstacle: Option<String>,
}

/// What of the memory is touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Touch {
    /// Every byte.
    Whole,
    /// The first byte of each 64 KiB.
    Sparse,
}

/// One use: memory is taken, touched and given back. CPU time of all threads, nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Use {
    pub take: f64,
    pub touch: f64,
    pub give: f64,
    /// Wall time of the slowest thread.
    pub wall: f64,
    /// Wall time of single writes.
    pub writes: Vec<f64>,
}

impl Use {
    pub fn cpu(&self) -> f64 {
        self.take + self.touch + self.give
    }
}

/// What of the process was resident, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Residency {
    pub before: f64,
    pub touched: f64,
    /// After it was given back.
    pub given: f64,
    /// Of `given`, what the kernel takes when it needs memory.
    pub lazy: f64,
    /// What the memory's files held after it was given back.
    pub in_file: f64,
    /// Of `touched`, what lay in huge pages.
    pub huge: f64,
}

/// Memory used twice in one process.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub first: Use,
    pub again: Use,
    pub resident: Residency,
}

/// The measuring program.
pub(crate) struct Ways {
    program: Program,
}

impl Ways {
    pub fn new() -> Result<Ways, Error> {
        static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/ways"));
        Ok(Ways { program: Program::new("memtoll-ways", PROGRAM)? })
    }

    /// Every way there is, with obstacles for `bytes`.
    pub fn list(&self, bytes: u64) -> Result<Vec<Way>, Error> {
        self.program.run(&["list", &bytes.to_string()])?.lines().map(parse_way).collect()
    }

    /// Takes a sample of a way in `threads` threads. `Err` inside if the machine refused a call: which, and why.
    pub fn sample(
        &self,
        way: &Way,
        touch: Touch,
        bytes_per_thread: u64,
        threads: usize,
    ) -> Result<Result<Sample, String>, Error> {
        let touch = if touch == Touch::Whole { "whole" } else { "sparse" };
        let words = ["sample", &way.id, touch, &bytes_per_thread.to_string(), &threads.to_string()];
        match self.program.run(&words) {
            Ok(text) => parse_sample(&text),
            // The kernel's way to say that there is not enough memory.
            Err(Error::Failed { status, stderr }) if stderr.is_empty() => Ok(Err(format!("it was ended ({status})"))),
            Err(error) => Err(error),
        }
    }
}

fn parse_way(line: &str) -> Result<Way, Error> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [id, name, threads, obstacle] = columns[..] else { return Err(Error::Output(line.to_owned())) };
    Ok(Way {
        id: id.to_owned(),
        name: name.to_owned(),
        in_threads: threads == "threads",
        obstacle: (!obstacle.is_empty()).then(|| obstacle.to_owned()),
    })
}

fn parse_sample(text: &str) -> Result<Result<Sample, String>, Error> {
    if let Some(reason) = text.strip_prefix("failed ") {
        return Ok(Err(reason.trim().to_owned()));
    }
    let mut uses: Vec<Use> = Vec::new();
    let mut resident = None;
    for line in text.lines() {
        let unexpected = || Error::Output(line.chars().take(200).collect());
        let mut words = line.split(' ');
        let key = words.next().unwrap_or_default();
        let numbers: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().map_err(|_| unexpected())?;
        match (key, &numbers[..]) {
            ("use", &[take, touch, give, wall]) => uses.push(Use { take, touch, give, wall, writes: Vec::new() }),
            ("latencies", _) => uses.last_mut().ok_or_else(unexpected)?.writes = numbers,
            ("resident", &[before, touched, given, lazy, in_file, huge]) => {
                resident = Some(Residency { before, touched, given, lazy, in_file, huge });
            }
            _ => return Err(unexpected()),
        }
    }
    match (<[Use; 2]>::try_from(uses), resident) {
        (Ok([first, again]), Some(resident)) => Ok(Ok(Sample { first, again, resident })),
        _ => Err(Error::Output("a sample is not complete".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists() {
        let way = parse_way("pageout\tMADV_PAGEOUT\tthreads\tno swap").unwrap();
        assert_eq!(way.id, "pageout");
        assert!(way.in_threads);
        assert_eq!(way.obstacle.as_deref(), Some("no swap"));
        assert_eq!(parse_way("brk\tbrk\talone\t").unwrap().obstacle, None);
        assert!(parse_way("brk").is_err());
    }

    #[test]
    fn samples() {
        let text = "use 1 20 3 25\nlatencies 4 5\nuse 0 10 0 11\nlatencies\nresident 1 2 3 4 5 6\n";
        let sample = parse_sample(text).unwrap().unwrap();
        assert_eq!(sample.first, Use { take: 1.0, touch: 20.0, give: 3.0, wall: 25.0, writes: vec![4.0, 5.0] });
        assert_eq!(sample.first.cpu(), 24.0);
        assert!(sample.again.writes.is_empty());
        assert_eq!(sample.resident.huge, 6.0);
        assert_eq!(parse_sample("failed mmap: no memory\n").unwrap(), Err("mmap: no memory".to_owned()));
        for wrong in ["", "use 1 2 3 4\n", "latencies 1\n", "use 1 2\n", "use a b c d\n", "boo\n"] {
            assert!(parse_sample(wrong).is_err(), "{wrong:?}");
        }
    }
}
