//! The wrappers of malloc that reports and advice fold away, so that their callers lead: those that are called like one, and
//! those that behave like one.

use super::{Paths, find_among, keepers};
use crate::library::qualified_name;
use crate::stacks::{Names, Stacks, Texts, View};
use crate::sums::Sums;
use memtoll_model::{FrameId, Recording, TextId};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// Names of functions that allocate for others: `xmalloc`, `zrealloc_usable`, `g_strdup`, `os::malloc`.
const BY_NAME: &str = r"(?i)^(?:[a-z0-9_]+::)*_*[a-z0-9_]*([cmz]|re|mem_?)alloc(_?(usable|array|n|f|z|0|st|internal|raw))?$|^(g_|_?py(mem|object)_(raw)?)(new0?|malloc0?_n|realloc_n|resize)$|^AllocateHeap$|^([a-z]|g_|git_)?strn?dup0?$";
/// Libraries whose state belongs to who begins and ends it.
const LIBRARIES: &str = r"^lib(z|z-ng|bz2|lzma|zstd)\.so";
/// Places that call a function with such a name, at least: one that is called from a single line allocates for itself.
const FEWEST_CALLS: usize = 2;

/// What is folded away.
#[derive(Clone, Debug, Serialize)]
pub struct Folded {
    /// What they are called, those with most allocations first: functions, and loaded files that are folded as a whole.
    pub functions: Vec<String>,
    /// Allocations and reallocations through any of them.
    pub allocations: u64,
    /// For [`View::wrappers`].
    #[serde(skip)]
    pub regex: Regex,
}

impl Folded {
    /// The wrappers through which allocations of a recording come. `stacks` are plain ones of it.
    pub fn of(stacks: &mut Stacks, sums: &Sums) -> Option<Folded> {
        let keepers = keepers(stacks, sums);
        let found = find_among(stacks, sums, &keepers, Paths::Most);
        let frames = &stacks.recording().frames;
        let named = by_name(stacks, sums, &keepers);
        let patterns = named.iter().map(|name| format!("^{}$", regex::escape(name)));
        let patterns: Vec<String> =
            patterns.chain(found.map(|found| found.pattern)).chain([LIBRARIES.to_owned()]).collect();
        let regex = Regex::new(&patterns.join("|")).ok()?;
        let mut known: FxHashMap<(TextId, TextId), Option<&str>> = FxHashMap::default();
        let mut by_name: FxHashMap<&str, u64> = FxHashMap::default();
        for site in &sums.sites {
            let leading = stacks.leading(site.node).leading;
            let Some(id) = stacks.first(leading) else { continue };
            let frame = frames.frame(id);
            let name = || {
                let texts = Texts::of(frames, id);
                [texts.module_name(), qualified_name(texts.function)].into_iter().find(|name| regex.is_match(name))
            };
            if let Some(name) = *known.entry((frame.function, frame.module)).or_insert_with(name) {
                *by_name.entry(name).or_default() += site.allocations();
            }
        }
        let mut led: Vec<(&str, u64)> = by_name.into_iter().filter(|(_, number)| *number > 0).collect();
        led.sort_by_key(|(name, number)| (std::cmp::Reverse(*number), *name));
        let allocations = led.iter().map(|(_, number)| number).sum();
        let functions: Vec<String> = led.into_iter().map(|(name, _)| name.to_owned()).collect();
        (!functions.is_empty()).then_some(Folded { functions, allocations, regex })
    }

    /// One expression for what several recordings fold.
    pub fn regex_of_all<'f>(all: impl Iterator<Item = &'f Regex>) -> Option<Regex> {
        let patterns: FxHashSet<&str> = all.map(Regex::as_str).collect();
        let mut patterns: Vec<&str> = patterns.into_iter().collect();
        patterns.sort_unstable();
        Regex::new(&patterns.join("|")).ok().filter(|_| !patterns.is_empty())
    }
}

/// Functions that are called like a wrapper and allocate for several places.
fn by_name<'r>(stacks: &mut Stacks<'r>, sums: &Sums, keepers: &FxHashSet<TextId>) -> Vec<&'r str> {
    let frames = &stacks.recording().frames;
    let Ok(regex) = Regex::new(BY_NAME) else { return Vec::new() };
    let mut known: FxHashMap<TextId, bool> = FxHashMap::default();
    let mut is_named = |frame: FrameId| {
        let is_like_one =
            |function: &TextId| !keepers.contains(function) && regex.is_match(qualified_name(frames.text(*function)));
        *known.entry(frames.frame(frame).function).or_insert_with_key(is_like_one)
    };
    let mut calls: FxHashMap<TextId, FxHashSet<FrameId>> = FxHashMap::default();
    let mut path = Vec::new();
    for site in &sums.sites {
        let leading = stacks.leading(site.node).leading;
        if !stacks.first(leading).is_some_and(&mut is_named) {
            continue;
        }
        stacks.list_while(site.node, &mut path, &mut is_named);
        let Some((caller, wrappers)) = path.split_last().filter(|(caller, _)| !is_named(**caller)) else { continue };
        for wrapper in wrappers {
            calls.entry(frames.frame(*wrapper).function).or_default().insert(*caller);
        }
    }
    let mut by_name: FxHashMap<&str, FxHashSet<FrameId>> = FxHashMap::default();
    for (function, callers) in calls {
        by_name.entry(qualified_name(frames.text(function))).or_default().extend(callers);
    }
    let mut names: Vec<&str> =
        by_name.into_iter().filter(|(_, callers)| callers.len() >= FEWEST_CALLS).map(|(name, _)| name).collect();
    names.sort_unstable();
    names
}

/// The stacks of a recording with its wrappers of malloc folded away.
pub fn without_wrappers<'r>(recording: &'r Recording, sums: &Sums) -> Stacks<'r> {
    let mut stacks = Stacks::new(recording, &View::default());
    if let Some(folded) = Folded::of(&mut stacks, sums) {
        stacks.fold_wrappers(&Names::from(folded.regex.clone()));
    }
    stacks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_known_by_their_names() {
        let regex = Regex::new(BY_NAME).unwrap();
        for name in [
            "xmalloc", "zrealloc_usable", "sqlite3Malloc", "_PyMem_RawMalloc", "PyMem_Malloc", "PyObject_Calloc",
            "PyMem_Resize", "g_malloc0", "g_malloc_n", "os::malloc", "AllocateHeap", "jv_mem_alloc", "ucp_memalloc",
            "xstrdup", "strndup",
        ] {
            assert!(regex.is_match(name), "{name}");
        }
        for name in [
            "allocate_pixels", "Pool::make", "alloc_table", "member_alloc", "main", "libtcmalloc.so.4", "libzip.so.4",
            "struct_dup", "resize", "std::vector::resize", "os::init",
        ] {
            assert!(!regex.is_match(name), "{name}");
        }
    }
}
