//! What a program takes without the recorder: runs of it with nothing else, runs that are only sampled, and recorded ones, in
//! turn.

use super::Usage;
use serde::{Deserialize, Serialize};

/// Runs of the program of a recording, by `memtoll record --calibrate` or `memtoll calibrate`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Calibration {
    /// When it began: nanoseconds since 1970, UTC.
    pub started: u64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// CPU time after which it was looked where a thread was, ns.
    pub period: u64,
    /// Whether it was seen where threads were inside the kernel. Without, only time outside it was sampled.
    pub sees_kernel: bool,
    /// Why there are no samples, if the kernel refused them.
    pub refused: Option<String>,
    /// Runs without the recorder and without samples, which take time themselves.
    pub plain: Vec<PlainRun>,
    /// Where further runs without the recorder were found, run by run.
    pub sampled: Vec<Samples>,
    /// The code outside the kernel and the allocator in which those were found, all of them together.
    pub code: Vec<Code>,
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
}

/// How often threads were found where, each time after another [`Calibration::period`].
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Samples {
    /// In the allocator's code.
    pub allocator: u64,
    /// In other code outside the kernel.
    pub program: u64,
    /// In the kernel, in a page fault (or an interrupt, which takes little).
    pub fault: u64,
    /// In the kernel, in a system call that makes, changes or removes mappings, or moves the heap's end.
    pub mapping: u64,
    /// In the kernel, in anything else: other system calls, with the page faults inside them, starting, ending.
    pub kernel: u64,
}

/// Code of one function, with what was inlined there.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Code {
    /// The functions, the innermost one first. Names as in stacks.
    pub functions: Vec<String>,
    /// How often threads were found there.
    pub samples: u64,
}
