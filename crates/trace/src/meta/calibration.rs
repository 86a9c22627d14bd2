//! What a program takes without the recorder: runs of it that were only sampled, in turn with recorded ones.

use super::Usage;
use serde::{Deserialize, Serialize};

/// Runs of the program of a recording, by `memtoll record --calibrate` or `memtoll calibrate`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Calibration {
    /// When it began: nanoseconds since 1970, UTC.
    pub started: u64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Processor time after which it was looked where a thread was, ns.
    pub period: u64,
    /// Whether it was seen where threads were inside the kernel. Without, only time outside it was sampled.
    pub sees_kernel: bool,
    /// Why there are no samples, if the kernel refused them.
    #[serde(default)]
    pub refused: Option<String>,
    /// Runs without the recorder.
    pub plain: Vec<PlainRun>,
    /// Recorded runs, in turn with those.
    pub recorded: Vec<PlainRun>,
}

/// What one run took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
pub struct PlainRun {
    /// Time from start to end, ns.
    pub wall: u64,
    /// What the kernel counted for all its processes. A largest resident set of 0 is not known.
    pub usage: Usage,
    /// Where it was found; `None` of runs that were not sampled so.
    pub samples: Option<Samples>,
}

/// Where a thread may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In the allocator's code.
    Allocator,
    /// In other code outside the kernel.
    Program,
    /// In the kernel, in a page fault (or an interrupt, which takes little).
    Fault,
    /// In the kernel, in a system call that makes, changes or removes mappings, or moves the heap's end.
    Mapping,
    /// In the kernel, in anything else: other system calls, with the page faults inside them, starting, ending.
    Kernel,
}

/// How often threads were found where, each time after another [`Calibration::period`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Samples {
    /// [`Found::Allocator`]
    pub allocator: u64,
    /// [`Found::Program`]
    pub program: u64,
    /// [`Found::Fault`]
    pub fault: u64,
    /// [`Found::Mapping`]
    pub mapping: u64,
    /// [`Found::Kernel`]
    pub kernel: u64,
}

impl Samples {
    /// So many more.
    pub fn add(&mut self, found: Found, number: u64) {
        let sum = match found {
            Found::Allocator => &mut self.allocator,
            Found::Program => &mut self.program,
            Found::Fault => &mut self.fault,
            Found::Mapping => &mut self.mapping,
            Found::Kernel => &mut self.kernel,
        };
        *sum = sum.saturating_add(number);
    }

    /// How many were found there.
    pub fn of(&self, found: Found) -> u64 {
        match found {
            Found::Allocator => self.allocator,
            Found::Program => self.program,
            Found::Fault => self.fault,
            Found::Mapping => self.mapping,
            Found::Kernel => self.kernel,
        }
    }

    /// All.
    pub fn all(&self) -> u64 {
        [Found::Allocator, Found::Program, Found::Fault, Found::Mapping, Found::Kernel]
            .into_iter()
            .fold(0, |sum, found| sum.saturating_add(self.of(found)))
    }
}
