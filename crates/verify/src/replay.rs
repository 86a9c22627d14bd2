//! Makes the calls of a recording again: the same sizes, alignments and lifetimes, by as many threads, in the same order
//! within each and where one frees what another one allocated. Against the allocator of the system or another one, with
//! tunables, without some call sites, or with a pool in their place. So "what if" is measured and not modelled.
//!
//! * [`plan`]: what is asked for
//! * [`script`]: the calls as the player (`machine/player`) wants them
//! * [`prepare`]: from a recording to a script
//! * [`touched`]: which share of a block's pages the program touched
//! * [`player`]: one playing
//! * [`contest`]: all contestants, in turn, and what the player itself takes
//! * [`fidelity`]: how near a replay is to what was recorded
//! * [`expected`]: what a contestant saves in the program itself
//! * [`text`], [`json`]: the result

pub mod contest;
pub mod expected;
pub mod fidelity;
pub mod json;
pub mod plan;
pub mod player;
pub mod prepare;
pub mod script;
pub mod text;
pub mod touched;

use memtoll_trace::unreadable::Unreadable;

/// Why nothing was replayed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A site of the plan is in no call stack.
    #[error("no call site matches \"{0}\"; memtoll report --flat lists them")]
    NoSite(String),
    /// The recording has nothing to replay.
    #[error("the process made no calls of an allocator that could be replayed")]
    NoCalls,
    /// The recording's events cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The player cannot be built into memory or started.
    #[error(transparent)]
    Player(#[from] memtoll_machine::Error),
    /// The player failed.
    #[error("{contestant}: the player {how}{stderr}")]
    Failed {
        /// Against which allocator.
        contestant: String,
        /// How it ended.
        how: String,
        /// Its standard error.
        stderr: String,
    },
    /// A file cannot be written or read.
    #[error("cannot replay: {0}")]
    Io(#[from] std::io::Error),
}
