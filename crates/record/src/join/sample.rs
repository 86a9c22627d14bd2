//! The kernel's samples of where threads run.

use memtoll_kernel::Mode;
use memtoll_trace::ids::Ticks;
use std::sync::Arc;

/// What code a sample met.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Spot {
    Recorder,
    /// At a byte of a file.
    File(Arc<str>, u64),
    /// Code that no file has.
    Elsewhere,
}

/// A sample of which it is not known yet whether it met the thread inside a call.
#[derive(Clone, Debug)]
pub struct Sample {
    /// When.
    pub at: Ticks,
    /// The code.
    pub spot: Spot,
    /// Who ran it.
    pub mode: Mode,
}
