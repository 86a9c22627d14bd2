//! What came of the search for blocks that nothing points to.

use serde::{Deserialize, Serialize};

/// Whether the blocks that a process left at its end were searched for those that nothing points to.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum LeakSearch {
    /// The process came to no end at which it could be searched: a signal ended it, it executed another program
    /// (which discards its blocks), or it went on.
    #[default]
    NoEnd,
    /// They were.
    Done {
        /// Threads that had not ended: their registers were not seen.
        other_threads: u32,
    },
    /// They were not.
    Not(NotSearched),
}

/// Why blocks were not searched.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotSearched {
    /// The user said so.
    #[error("memtoll was told not to (--no-leak-search)")]
    TurnedOff,
    /// Blocks are missing that may have pointers to others.
    #[error("some of its blocks were not recorded, and these may point to others")]
    HiddenBlocks,
    /// What keeps pointers in forms of its own.
    #[error("{0} keeps pointers in forms of its own")]
    Disguised(String),
    /// What the system says.
    #[error("its memory cannot be read: {0}")]
    Unreadable(String),
    /// It would have taken longer than the process may be held up.
    #[error("it has too much memory for the time that it may be held up")]
    TooMuch,
    /// Another thread ended the process, or memtoll could not keep up.
    #[error("it ended before memtoll was done, or memtoll was too far behind with its calls")]
    Ended,
}
