//! Notes that help to read the first screen: why functions have no names, and what stands between the allocator and the
//! code that a reader looks for.

use crate::{format, names, unnamed};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::wrappers::Wrappers;
use memtoll_model::{Frames, Recording};
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// The notes. `paths`: all call paths.
pub fn notes(recording: &Recording, paths: &[Row], wrappers: Option<&Wrappers>) -> Vec<String> {
    let frames = &recording.frames;
    [
        without_lines(frames, paths),
        unnamed::note(recording, paths),
        wrappers.map(|wrappers| wrapper(frames, paths, wrappers)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Sums of allocations by key, largest first.
fn ranked<K: Hash + Eq + Ord + Copy>(found: impl Iterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut sums: FxHashMap<K, u64> = FxHashMap::default();
    found.for_each(|(key, number)| *sums.entry(key).or_default() += number);
    let mut ranked: Vec<(K, u64)> = sums.into_iter().collect();
    ranked.sort_by_key(|(key, number)| (std::cmp::Reverse(*number), *key));
    ranked
}

fn acquired(row: &Row) -> u64 {
    Metric::Acquisitions.value(&row.metrics)
}

/// That the lines of the program's own code are missing, and how to build it with them.
fn without_lines(frames: &Frames, paths: &[Row]) -> Option<String> {
    let total: u64 = paths.iter().map(acquired).sum();
    let modules = ranked(paths.iter().filter_map(|row| {
        let frame = row.frame?;
        let texts = Texts::of(frames, frame);
        let is_own = texts.line.is_none() && frames.frame(frame).address.is_none() && !is_installed(texts.module);
        is_own.then(|| (frames.frame(frame).module, acquired(row)))
    }));
    let (module, _) = *modules.first()?;
    let of_all: u64 = modules.iter().map(|(_, number)| number).sum();
    if of_all == 0 || of_all < total / 5 {
        return None;
    }
    let name = names::last_part(frames.shown(frames.text(module)));
    Some(match is_rust(frames, module) {
        true => format!(
            "{name} was built without line numbers: put debug = \"line-tables-only\" under [profile.release] in its \
             Cargo.toml, build and record it again, and lines take the place of names"
        ),
        false => format!(
            "{name} was built without line numbers: compile it with -g, record it again, and lines take the place of names"
        ),
    })
}

/// Whether a file comes from a package of the system: whoever runs it did not build it.
fn is_installed(module: &str) -> bool {
    let system = ["/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/nix/store/", "/snap/"];
    let packages = ["/site-packages/", "/dist-packages/", "/node_modules/"];
    !module.starts_with('/')
        || packages.iter().any(|folder| module.contains(folder))
        || system.iter().any(|folder| module.starts_with(folder)) && !module.starts_with("/usr/local/")
}

/// Whether Rust's runtime is in a file.
fn is_rust(frames: &Frames, module: u32) -> bool {
    let runtime = ["std::rt::lang_start", "core::", "<core::", "alloc::", "<alloc::", "__rust"];
    (0..frames.len() as u32).map(|id| frames.frame(id)).filter(|frame| frame.module == module).any(|frame| {
        let function = frames.text(frame.function);
        runtime.iter().any(|start| function.starts_with(start))
    })
}

/// That most allocations come through a function on behalf of others, such as a program's own `xmalloc`.
fn wrapper(frames: &Frames, paths: &[Row], wrappers: &Wrappers) -> String {
    let total: u64 = paths.iter().map(acquired).sum();
    let one = |(frame, number): &(u32, u64)| {
        format!("{} {}", names::function(frames, *frame), format::percent(*number, wrappers.allocations))
    };
    format!(
        "{} of all allocations are made in {}, for {} callers ({}): {} shows these instead",
        format::percent(wrappers.allocations, total).trim(),
        wrappers.names.join(", "),
        format::count(wrappers.callers as u64),
        wrappers.largest.iter().map(one).collect::<Vec<_>>().join(", "),
        fold(wrappers)
    )
}

/// The option that shows the callers of wrappers instead of them, for a shell.
pub fn fold(wrappers: &Wrappers) -> String {
    let is_plain = wrappers.pattern.chars().all(|c| c.is_ascii_alphanumeric() || "_:.+-".contains(c));
    if is_plain { format!("--fold {}", wrappers.pattern) } else { format!("--fold '{}'", wrappers.pattern) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_ranked() {
        let found = [("b", 2), ("a", 1), ("b", 3), ("c", 1)];
        assert_eq!(ranked(found.into_iter()), [("b", 5), ("a", 1), ("c", 1)]);
    }
}
