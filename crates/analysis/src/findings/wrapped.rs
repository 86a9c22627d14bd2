//! Functions that allocate on behalf of others.

use super::{Finding, Share, What, Whole};
use crate::stacks::Stacks;
use crate::sums::Sums;
use crate::wrappers::{self, Wrappers};
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
    /// Functions on whose behalf they allocate.
    pub callers: usize,
    #[serde(skip)]
    pub wrappers: Wrappers,
}

pub(super) fn find(stacks: &mut Stacks, sums: &Sums) -> Option<Finding> {
    let found = wrappers::find(stacks, sums)?;
    let total: u64 = sums.sites.iter().map(|site| site.allocations()).sum();
    let share = Share::new(found.allocations as f64, total as f64, Whole::Allocations);
    let what = What::Wrapped(Box::new(Wrapped {
        functions: found.names.clone(),
        fold: found.pattern.clone(),
        allocations: found.allocations,
        callers: found.callers,
        wrappers: found,
    }));
    Some(Finding::new(what, None, share))
}
