//! Functions that are shown as addresses, because their files have no symbols.

use super::names_of_code::{is_good_part, ranked};
use super::{Finding, Share, What, Whole};
use crate::call_paths::CallPaths;
use memtoll_model::{Frame, Frames};
use serde::Serialize;

/// A good part of the allocations are made in functions without names.
#[derive(Clone, Debug, Serialize)]
pub struct NoNames {
    /// The loaded files without symbols that matter, those with most allocations first; three at the most.
    pub files: Vec<String>,
}

/// Files that are told.
const MOST: usize = 3;

/// `paths`: all call paths.
pub(super) fn find(frames: &Frames, paths: &CallPaths) -> Option<Finding> {
    let modules = ranked(paths, |path| {
        let frame = frames.frame(*path.frames.first()?);
        // Code that was made at run time is in no file.
        let is_in_file = |frame: &Frame| frames.text(frame.module).starts_with('/');
        (frame.address.is_some() && is_in_file(&frame)).then_some(frame.module)
    });
    let (part, whole) = is_good_part(&modules, paths)?;
    // Those that hardly matter are left out.
    let matter = modules.iter().filter(|(_, number)| *number >= part / 20);
    let files = matter.map(|(module, _)| frames.text(*module).to_owned()).take(MOST).collect();
    let share = Share::new(part as f64, whole as f64, Whole::Allocations);
    Some(Finding { what: What::NoNames(NoNames { files }), site: None, share })
}
