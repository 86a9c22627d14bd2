//! Functions that allocate on behalf of others.

use super::{Finding, Share, What, Whole};
use crate::call_paths::CallPaths;
use crate::wrappers::{self, Wrappers};
use memtoll_model::Frames;
use serde::Serialize;

/// Many allocations come through functions that allocate on behalf of others.
#[derive(Clone, Debug, Serialize)]
pub struct Wrapped {
    /// What they are called, from the allocator outwards.
    pub functions: Vec<String>,
    /// What folds them: a regular expression.
    pub fold: String,
    /// Allocations and reallocations through any of them.
    pub allocations: u64,
    /// On behalf of so many functions.
    pub callers: usize,
    /// The wrappers.
    #[serde(skip)]
    pub wrappers: Wrappers,
}

/// `paths`: all call paths.
pub(super) fn find(frames: &Frames, paths: &CallPaths) -> Option<Finding> {
    let found = wrappers::find(frames, paths)?;
    let share = Share::new(found.allocations as f64, paths.acquired() as f64, Whole::Allocations);
    let what = What::Wrapped(Box::new(Wrapped {
        functions: found.names.clone(),
        fold: found.pattern.clone(),
        allocations: found.allocations,
        callers: found.callers,
        wrappers: found,
    }));
    Some(Finding { what, site: None, share })
}
