//! Functions that are shown as addresses, because their files have no symbols.

use super::unnamed_code::{is_good_part, ranked};
use super::{Finding, Share, What, Whole};
use crate::sites::Row;
use memtoll_model::{Frame, Frames};
use serde::Serialize;

/// A good part of the allocations are made in functions without names.
#[derive(Clone, Debug, Serialize)]
pub struct NoNames {
    /// The loaded files without symbols that matter, those with most allocations first; three at the most.
    pub files: Vec<String>,
}

/// Files that a finding names, at most.
const MOST: usize = 3;

/// `sites`: all call sites.
pub(super) fn find(frames: &Frames, sites: &[Row]) -> Option<Finding> {
    let modules = ranked(sites, |row| {
        let frame = frames.frame(row.frame?);
        // Code that was made at run time is in no file.
        let is_in_file = |frame: &Frame| frames.text(frame.module).starts_with('/');
        (frame.address.is_some() && is_in_file(&frame)).then_some(frame.module)
    });
    let (part, whole) = is_good_part(&modules, sites)?;
    // Those that hardly matter are left out.
    let matter = modules.iter().filter(|(_, number)| *number >= part / 20);
    let files = matter.map(|(module, _)| frames.text(*module).to_owned()).take(MOST).collect();
    let share = Share::new(part as f64, whole as f64, Whole::Allocations);
    Some(Finding::new(What::NoNames(NoNames { files }), None, share))
}
