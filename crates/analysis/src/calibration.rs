//! What the program takes without the recorder, measured by plain runs of it: means with their intervals.
//!
//! Means, not medians: those of the parts add up to that of the CPU time, exactly.

use crate::estimate::Estimate;
use crate::student_t;
use memtoll_text::Quantity;
use memtoll_text::format::Unit;
use memtoll_trace::meta::{Calibration, Found, PlainRun, Samples};
use serde::Serialize;

/// Confidence of all intervals.
pub const CONFIDENCE: f64 = 0.95;

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// CPU time of all processes, ns. The sum of the five after it.
    Processor,
    /// Part of that: where samples were found, ns.
    Part(Found),
    /// Time outside the kernel as it counts it, ns.
    User,
    /// Time inside the kernel as it counts it, ns.
    System,
    /// From start to end, ns.
    Wall,
    MinorFaults,
    MajorFaults,
    /// Largest resident set of a process, bytes.
    Resident,
    /// How often a thread waited for something.
    Voluntary,
    /// How often a thread lost the processor to another one.
    Involuntary,
}

impl Figure {
    /// All, in the order in which they are shown.
    pub const ALL: [Figure; 14] = [
        Figure::Processor,
        Figure::Part(Found::Allocator),
        Figure::Part(Found::Fault),
        Figure::Part(Found::Mapping),
        Figure::Part(Found::Kernel),
        Figure::Part(Found::Program),
        Figure::User,
        Figure::System,
        Figure::Wall,
        Figure::MinorFaults,
        Figure::MajorFaults,
        Figure::Resident,
        Figure::Voluntary,
        Figure::Involuntary,
    ];
}

impl Quantity for Figure {
    fn row(self) -> (&'static str, &'static str, Unit) {
        match self {
            Figure::Processor => ("cpu_ns", "CPU time", Unit::Time),
            Figure::Part(Found::Allocator) => ("allocator_ns", "  in the allocator", Unit::Time),
            Figure::Part(Found::Fault) => ("fault_time_ns", "  in page faults", Unit::Time),
            Figure::Part(Found::Mapping) => ("mapping_ns", "  making and removing mappings", Unit::Time),
            Figure::Part(Found::Kernel) => ("kernel_ns", "  otherwise in the kernel", Unit::Time),
            Figure::Part(Found::Program) => ("program_ns", "  the program's own work", Unit::Time),
            Figure::User => ("user_ns", "user time", Unit::Time),
            Figure::System => ("system_ns", "system time", Unit::Time),
            Figure::Wall => ("wall_ns", "wall time", Unit::Time),
            Figure::MinorFaults => ("minor_faults", "minor faults", Unit::Count),
            Figure::MajorFaults => ("major_faults", "major faults", Unit::Count),
            Figure::Resident => ("resident_peak_bytes", "peak resident set", Unit::Bytes),
            Figure::Voluntary => ("voluntary_switches", "times a thread waited", Unit::Count),
            Figure::Involuntary => ("involuntary_switches", "times a thread lost the CPU", Unit::Count),
        }
    }
}

/// A mean, and where the true one lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub runs: usize,
    /// Of the runs.
    pub mean: f64,
    /// Of the mean; `None` of a single run.
    pub standard_error: Option<f64>,
    /// Lower end of the interval, at [`CONFIDENCE`].
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

impl Spread {
    /// Of values, one a run. `least_error`: the mean is not known better than that. `None` of no values.
    fn of(values: &[f64], least_error: f64) -> Option<Spread> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let free = (runs - 1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_error = (runs > 1).then(|| (squares / free / runs as f64).sqrt().max(least_error));
        let margin = standard_error.and_then(|error| Some(sigmas(runs)? * error));
        Some(Spread::around(runs, mean, standard_error, margin))
    }

    fn around(runs: usize, mean: f64, standard_error: Option<f64>, margin: Option<f64>) -> Spread {
        // None of these figures can be less than nothing.
        let low = margin.map(|margin| (mean - margin).max(0.0));
        Spread { runs, mean, standard_error, low, high: margin.map(|margin| mean + margin) }
    }

    /// The product of two means that err by themselves.
    fn times(&self, other: &Spread) -> Spread {
        let mean = self.mean * other.mean;
        let both = |of: fn(&Spread) -> Option<f64>| Some((of(self)? * other.mean).hypot(of(other)? * self.mean));
        let runs = self.runs.min(other.runs);
        Spread::around(runs, mean, both(|spread| spread.standard_error), both(Spread::margin))
    }

    /// As others write it; the interval of a single run is not known, so it is everything.
    pub fn estimate(&self) -> Estimate {
        let (low, high) = (self.low.unwrap_or(0.0), self.high.unwrap_or(2.0 * self.mean));
        Estimate { value: self.mean, low, high }
    }

    /// Half of the interval; `None` of a single run.
    pub fn margin(&self) -> Option<f64> {
        Some(self.high? - self.mean)
    }
}

/// Half the interval of a number of runs, over the standard error; `None` of a single run.
fn sigmas(runs: usize) -> Option<f64> {
    let free = runs.checked_sub(1).filter(|free| *free > 0)? as f64;
    student_t::errors(free, CONFIDENCE)
}

/// What runs took, figure by figure.
pub struct Runs<'a> {
    runs: &'a [PlainRun],
    sampled: &'a [Samples],
    sees_kernel: bool,
}

/// The runs without the recorder.
pub fn plain(calibration: &Calibration) -> Runs<'_> {
    Runs { runs: &calibration.plain, sampled: &calibration.sampled, sees_kernel: calibration.sees_kernel }
}

/// The recorded runs, of which nothing says where their time went.
pub fn recorded(calibration: &Calibration) -> Runs<'_> {
    Runs { runs: &calibration.recorded, sampled: &[], sees_kernel: calibration.sees_kernel }
}

fn processor(run: &PlainRun) -> f64 {
    run.usage.user_ns as f64 + run.usage.system_ns as f64
}

impl Runs<'_> {
    /// How many there are.
    pub fn number(&self) -> usize {
        self.runs.len()
    }

    /// A figure; `None` if it is not known.
    pub fn of(&self, figure: Figure) -> Option<Spread> {
        let all = |of: fn(&PlainRun) -> f64| Spread::of(&self.runs.iter().map(of).collect::<Vec<_>>(), 0.0);
        match figure {
            Figure::Processor => all(processor),
            Figure::Part(found) => self.part(found),
            Figure::User => all(|run| run.usage.user_ns as f64),
            Figure::System => all(|run| run.usage.system_ns as f64),
            Figure::Wall => all(|run| run.wall as f64),
            Figure::MinorFaults => all(|run| run.usage.minor_faults as f64),
            Figure::MajorFaults => all(|run| run.usage.major_faults as f64),
            Figure::Resident => {
                // Of a program about as large as memtoll, it is known by chance: of some runs only.
                let is_known = self.runs.iter().all(|run| run.usage.max_resident > 0);
                all(|run| run.usage.max_resident as f64).filter(|_| is_known)
            }
            Figure::Voluntary => all(|run| run.usage.voluntary_switches as f64),
            Figure::Involuntary => all(|run| run.usage.involuntary_switches as f64),
        }
    }

    /// CPU time by where threads were found in sampled runs: their mean share of what the others took. Those of all
    /// parts add up to the CPU time.
    fn part(&self, found: Found) -> Option<Spread> {
        if self.sampled.is_empty() {
            return None;
        }
        // Where the kernel does not show itself, only how much time that is in all.
        let whole = match (self.sees_kernel, found) {
            (true, _) => self.of(Figure::Processor)?,
            (false, Found::Allocator | Found::Program) => self.of(Figure::User)?,
            (false, Found::Kernel) => return self.of(Figure::System),
            (false, Found::Fault | Found::Mapping) => return None,
        };
        let all: u64 = self.sampled.iter().map(Samples::all).sum();
        let of_all: u64 = self.sampled.iter().map(|run| run.of(found)).sum();
        if all == 0 {
            return None;
        }
        let share = |run: &Samples| match run.all() {
            0 => of_all as f64 / all as f64, // a run too short for a sample
            all => run.of(found) as f64 / all as f64,
        };
        // Runs that agree by chance do not make a few samples certain.
        let least_error = (of_all.max(1) as f64).sqrt() / all as f64;
        Some(Spread::of(&self.sampled.iter().map(share).collect::<Vec<_>>(), least_error)?.times(&whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::{Samples, Usage};

    fn run(user_ns: u64, system_ns: u64) -> PlainRun {
        PlainRun { wall: 0, usage: Usage { user_ns, system_ns, ..Usage::default() } }
    }

    fn samples([allocator, program, fault, mapping, kernel]: [u64; 5]) -> Samples {
        Samples { allocator, program, fault, mapping, kernel }
    }

    fn calibration(sees_kernel: bool, plain: Vec<PlainRun>, sampled: Vec<Samples>) -> Calibration {
        Calibration {
            started: 0,
            command: Vec::new(),
            period: 250_000,
            sees_kernel,
            refused: None,
            plain,
            sampled,
            code: Vec::new(),
            recorded: Vec::new(),
        }
    }

    const PARTS: [Found; 5] = [Found::Allocator, Found::Program, Found::Fault, Found::Mapping, Found::Kernel];

    #[test]
    fn keys_have_their_units() {
        for figure in Figure::ALL {
            let units = [Unit::Time, Unit::Bytes].map(|unit| figure.key().ends_with(unit.in_keys()));
            assert_eq!(units, [figure.unit() == Unit::Time, figure.unit() == Unit::Bytes], "{}", figure.key());
        }
    }

    #[test]
    fn parts_add_up_to_the_processor_time() {
        let runs = vec![run(900, 100), run(500, 700), run(40, 2)];
        let counts = [[3, 5, 1, 0, 1], [2, 2, 7, 2, 0], [0; 5]];
        for sees_kernel in [true, false] {
            let seen = |[allocator, program, fault, mapping, kernel]: [u64; 5]| match sees_kernel {
                true => samples([allocator, program, fault, mapping, kernel]),
                false => samples([allocator, program, 0, 0, 0]),
            };
            let calibration = calibration(sees_kernel, runs.clone(), counts.map(seen).to_vec());
            let plain = plain(&calibration);
            let parts: f64 =
                PARTS.iter().filter_map(|found| plain.of(Figure::Part(*found))).map(|part| part.mean).sum();
            let whole = plain.of(Figure::Processor).unwrap().mean;
            assert!((parts - whole).abs() < 1e-9 * whole, "{parts} {whole}");
            assert_eq!(plain.of(Figure::Part(Found::Fault)).is_some(), sees_kernel);
        }
    }

    /// Of three values, a table of Student's t says 4.3027.
    #[test]
    fn the_interval_is_students() {
        let spread = Spread::of(&[1000.0, 1010.0, 1020.0], 0.0).unwrap();
        assert!((spread.margin().unwrap() - 4.3027 * 10.0 / 3f64.sqrt()).abs() < 1e-2, "{spread:?}");
        assert_eq!(spread.mean, 1010.0);
        assert_eq!(Spread::of(&[5.0], 0.0).unwrap().margin(), None);
        assert_eq!(Spread::of(&[], 0.0), None);
        // So wide that it would begin below nothing.
        assert_eq!(Spread::of(&[0.0, 9.0], 0.0).unwrap().low, Some(0.0));
    }

    #[test]
    fn few_samples_are_not_certain() {
        let found = samples([0, 4, 0, 0, 0]);
        let calibration = calibration(true, vec![run(100_000, 0); 2], vec![found; 2]);
        let allocator = plain(&calibration).of(Figure::Part(Found::Allocator)).unwrap();
        assert!(allocator.mean == 0.0 && allocator.standard_error.unwrap() > 0.0, "{allocator:?}");
    }
}
