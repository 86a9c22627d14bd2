//! Ranks of parallel jobs.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Which process of a parallel job (MPI) something is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Rank {
    /// Its number within the job, from 0.
    pub rank: u32,
    /// How many processes the job has; null: its launcher does not say.
    pub ranks: Option<u32>,
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks {
            Some(ranks) => write!(f, "rank {} of {ranks}", self.rank),
            None => write!(f, "rank {}", self.rank),
        }
    }
}
