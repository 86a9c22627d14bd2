//! What a program's recordings say, and what is wrong with it.

use crate::reported::Compared;

/// The larger of these is allowed: faults (a process's start has about 30 that no event shows), share.
const FEW: f64 = 50.0;
const APART: f64 = 0.01;
const CHARGED: f64 = 0.95;
const SAME_PLACE: f64 = 0.95;
const TIME_APART: f64 = 0.10;
const WHOLE_APART: f64 = 0.05;
const RESIDENT_APART: f64 = 0.02;
/// Tolerance of zeroing against what was measured before: others use the caches, too.
const ZEROING_APART: f64 = 0.5;
/// Less than this is some forty samples of all plain runs: their own error is as large as what is allowed. ms.
const LITTLE: f64 = 5.0;

/// Two numbers of the same thing: memtoll's, and that of another account.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub reported: f64,
    pub truth: f64,
}

impl Pair {
    /// How far memtoll's is away, as a share of the other.
    pub fn apart(&self) -> f64 {
        (self.reported - self.truth) / self.truth.max(1e-9)
    }

    fn faults(&self) -> String {
        format!("{:.0} ({:.0})", self.reported, self.truth)
    }

    fn ms(&self) -> String {
        format!("{:.1} ms ({:.1})", self.reported, self.truth)
    }
}

/// The time that zeroing takes, ms: memtoll's, and what as many pages take if a cache holds all of them or none.
#[derive(Clone, Copy, Debug)]
pub struct Zeroed {
    pub reported: f64,
    pub cached: f64,
    pub uncached: f64,
}

impl Zeroed {
    fn is_possible(&self) -> bool {
        let room = 1.0 + ZEROING_APART;
        self.cached / room <= self.reported && self.reported <= self.uncached * room
    }

    fn ms(&self) -> String {
        format!("{:.1} ms ({:.1} to {:.1})", self.reported, self.cached, self.uncached)
    }
}

/// The times of one way to record.
#[derive(Debug)]
pub struct Times {
    pub way: &'static str,
    /// The allocator's own work.
    pub allocator: Compared,
    /// Parts and rest together, without the recorder.
    pub whole: Compared,
    /// What each recording says that the recorder took, ms.
    pub recorder: Vec<f64>,
}

/// Medians of some runs of a program.
#[derive(Debug)]
pub struct Figures {
    pub name: &'static str,
    /// CPU time of the plain runs, ms.
    pub cpu: f64,
    /// Faults that memtoll saw, and those that the kernel counted in the same run.
    pub seen: Pair,
    /// Faults under memtoll, all but the recorder's own, and those of the plain runs.
    pub own: Pair,
    /// By how much the plain runs differ from each other.
    pub spread: f64,
    /// Between a plain run and one under memtoll, at least.
    pub nearest: f64,
    pub recorder_faults: f64,
    /// Faults of anonymous memory that is no stack, and the share of them that is charged.
    pub anonymous: f64,
    pub charged: f64,
    /// Share of the charged faults that perf saw in the same module.
    pub same_place: f64,
    /// Beside samples of the plain runs, ms.
    pub faults: Pair,
    pub zeroing: Zeroed,
    pub mapping: Pair,
    /// Beside samples of a recorded run, ms.
    pub recorder: Pair,
    /// Calls that grew or shrank the heap, and all for mappings by strace.
    pub heap_moves: Pair,
    /// The largest resident set without the recorder, and that of plain runs, MiB; of programs of one process.
    pub resident: Option<Pair>,
    /// As recorded, and as calibrated by plain runs.
    pub times: Vec<Times>,
}

impl Figures {
    /// What is wrong, and whether that is a failure.
    pub fn complaints(&self) -> Vec<(bool, String)> {
        let mut all = Vec::new();
        if (self.seen.reported - self.seen.truth).abs() > FEW.max(self.seen.truth * APART) {
            all.push((true, format!("{} faults seen (by the kernel)", self.seen.faults())));
        }
        if self.nearest > FEW.max(self.own.truth * APART) {
            all.push((false, "no run without memtoll has about as many faults as one with it".to_owned()));
        }
        if self.charged < CHARGED && self.anonymous > FEW {
            all.push((true, format!("only {:.1} % of the anonymous faults are charged", self.charged * 100.0)));
        }
        if self.same_place < SAME_PLACE {
            all.push((true, format!("perf saw only {:.1} % of the faults in the same place", self.same_place * 100.0)));
        }
        if !self.zeroing.is_possible() {
            all.push((true, format!("zeroing takes {}", self.zeroing.ms())));
        }
        if let Some(resident) = self.resident.filter(|resident| resident.apart().abs() > RESIDENT_APART) {
            all.push((false, format!("the peak resident set differs by {:+.1} %", resident.apart() * 100.0)));
        }
        for Times { way, allocator, whole, .. } in &self.times {
            let apart = [
                (allocator, TIME_APART, allocator.truth.value >= LITTLE, "the allocator's time"),
                (whole, WHOLE_APART, true, "the sum of parts and rest"),
            ];
            for (time, aim, counts, what) in apart {
                if counts && time.apart().abs() > aim {
                    all.push((false, format!("{way}: {what} differs by {:+.0} %", time.apart() * 100.0)));
                }
                // Of five recordings, one interval may miss the truth.
                let missed = time.reported.len() - time.held();
                if missed * 5 > time.reported.len() {
                    let of = time.reported.len();
                    all.push((false, format!("{way}: {what} is outside of {missed} of {of} intervals")));
                }
            }
        }
        all.into_iter().map(|(failure, text)| (failure, format!("{}: {text}", self.name))).collect()
    }

    /// All of it, in lines. What another account says stands in brackets.
    pub fn text(&self) -> String {
        let mut lines = vec![format!("{}: {:.1} ms of CPU time", self.name, self.cpu)];
        lines.push(format!(
            "  faults       {} seen, {} own ± {:.0}, {:.0} the recorder's, {:.1} % charged, {:.1} % in the same place",
            self.seen.faults(),
            self.own.faults(),
            self.spread / 2.0,
            self.recorder_faults,
            self.charged * 100.0,
            self.same_place * 100.0
        ));
        let resident = self.resident.map_or(String::new(), |resident| {
            format!(", peak resident set {:.2} MiB ({:.2})", resident.reported, resident.truth)
        });
        lines.push(format!("  mappings     {} heap moves{resident}", self.heap_moves.faults()));
        lines.push(format!(
            "  kernel       {} faults, {} of them zeroing, {} mappings, {} recorder",
            self.faults.ms(),
            self.zeroing.ms(),
            self.mapping.ms(),
            self.recorder.ms()
        ));
        for Times { way, allocator, whole, .. } in &self.times {
            lines.push(format!("  {way:<12} allocator {}; parts and rest {}", allocator.text(), whole.text()));
        }
        lines.join("\n")
    }

    /// The times as a row of a Markdown table.
    pub fn row(&self) -> Vec<String> {
        let ways = |of: fn(&Times) -> &Compared| self.times.iter().flat_map(move |times| of(times).cells());
        let truth =
            |of: fn(&Times) -> &Compared| self.times.first().map(|times| format!("{:.1}", of(times).truth.value));
        let mut cells = vec![self.name.to_owned()];
        cells.extend(truth(|times| &times.allocator));
        cells.extend(ways(|times| &times.allocator));
        cells.extend(truth(|times| &times.whole));
        cells.extend(ways(|times| &times.whole));
        cells
    }
}
