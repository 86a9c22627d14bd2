//! Functions that allocate on behalf of others, such as a program's own `xmalloc`: known by what they do, not by their
//! names. Their callers are what a reader looks for.

mod call_paths;
mod folded;

pub use folded::{Folded, without_wrappers};

use crate::library::qualified_name;
use crate::stacks::{Stacks, Texts};
use crate::sums::Sums;
use call_paths::{Anywhere, CallPaths, Rest};
use memtoll_model::{FrameId, Frames, TextId};
use memtoll_trace::path::last_part;
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};

/// Smallest share of all allocations that a wrapper makes, percent.
const LEAST_PERCENT: u64 = 25;
/// Of further ones, which then have to serve many by themselves: of a family such as `zmalloc`, `zmalloc_usable` and
/// `zrealloc`, one is never enough.
const LEAST_PERCENT_OF_FURTHER: u64 = 15;
/// A function with more places that allocate is more than a wrapper.
const MOST_PLACES: usize = 4;
const FEWEST_CALLERS: usize = 3;
/// Wrappers that a note names, those of other wrappers included.
const MOST: usize = 6;
/// Callers that are named.
const MOST_LARGEST: usize = 3;
/// Functions that call each other, the last of them on behalf of many.
const LONGEST_CHAIN: usize = 4;

/// What stands between the allocator and those who want the memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wrappers {
    /// What they are called, from the allocator outwards: functions, and loaded files whose functions have no names.
    pub names: Vec<String>,
    /// A regular expression for [`crate::stacks::View::fold`] that matches all of them.
    pub pattern: String,
    /// Allocations and reallocations through any of them.
    pub allocations: u64,
    /// Number of functions that lead when they are folded.
    pub callers: usize,
    /// A few of these that have a hundredth of that or more, as frames, with their allocations and reallocations through
    /// the wrappers; those with most first.
    pub largest: Vec<(FrameId, u64)>,
    chain: Vec<Wrapper>,
}

/// Something that allocates.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Wrapper {
    /// A function, by its name.
    Function(TextId),
    /// A loaded file without names, by its path.
    File(TextId),
}

impl Wrapper {
    fn holds(self, frames: &Frames, frame: FrameId) -> bool {
        match self {
            Wrapper::Function(name) => frames.frame(frame).function == name,
            Wrapper::File(path) => frames.frame(frame).module == path,
        }
    }
}

/// Which call paths are looked at.
#[derive(Clone, Copy, PartialEq)]
enum Paths {
    All,
    /// Those with most allocations, as many as have 95 % of all: enough to know what is a wrapper, and a part of the time.
    Most,
}

/// Finds the wrappers through which many of the allocations come.
pub fn find(stacks: &mut Stacks, sums: &Sums) -> Option<Wrappers> {
    let keepers = keepers(stacks, sums);
    find_among(stacks, sums, &keepers, Paths::All)
}

fn find_among(stacks: &mut Stacks, sums: &Sums, keepers: &FxHashSet<TextId>, which: Paths) -> Option<Wrappers> {
    let frames = &stacks.recording().frames;
    let least =
        if which == Paths::All { 1 } else { least_of_most(sums.sites.iter().map(|site| site.allocations()).collect()) };
    let sites = || sums.sites.iter().filter(|site| site.allocations() >= least);
    // What leads each stack says whether it is worth while to look at all callers.
    let mut leading = Vec::new();
    for site in sites() {
        let first = stacks.leading(site.node).leading;
        leading.push((stacks.first(first), site.allocations()));
    }
    let total: u64 = leading.iter().map(|(_, allocations)| allocations).sum();
    let (_, most) = leading_function(frames, leading.into_iter(), &FxHashSet::default())?;
    longest_chain(most, total, &Wrappers::default())?;
    let (paths, all) = CallPaths::of(stacks, sites().map(|site| (site.node, site.allocations())));
    find_in(frames, &paths, all, keepers.clone())
}

/// The least of the largest numbers that make up 95 % of all; 1 at least.
fn least_of_most(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable_by(|a, b| b.cmp(a));
    let enough = numbers.iter().sum::<u64>() / 100 * 95;
    let mut sum = 0;
    let is_enough = |number: &&u64| {
        sum += **number;
        sum >= enough
    };
    numbers.iter().find(is_enough).map_or(1, |least| (*least).max(1))
}

/// Functions that release blocks themselves about as often as they allocate: they allocate for themselves, such as a
/// handler of signals that any function may seem to call.
pub(super) fn keepers(stacks: &mut Stacks, sums: &Sums) -> FxHashSet<TextId> {
    let frames = &stacks.recording().frames;
    let mut calls: FxHashMap<TextId, (u64, u64)> = FxHashMap::default();
    for site in &sums.sites {
        let leading = stacks.leading(site.node).leading;
        let Some(frame) = stacks.first(leading) else { continue };
        let (acquired, released) = calls.entry(frames.frame(frame).function).or_default();
        *acquired += site.allocations();
        *released += site.frees();
    }
    let own = calls.into_iter().filter(|(_, (acquired, released))| *acquired > 0 && released * 2 >= *acquired);
    own.map(|(function, _)| function).collect()
}

/// The same, with all call paths and their allocations. Functions in `refused` are none.
fn find_in(frames: &Frames, paths: &CallPaths, all: Vec<Rest>, mut refused: FxHashSet<TextId>) -> Option<Wrappers> {
    let mut rest = all.clone();
    let total: u64 = rest.iter().map(|rest| rest.allocations).sum();
    let mut found = Wrappers::default();
    while found.names.len() < MOST
        && let leads = rest.iter().map(|rest| (rest.first, rest.allocations))
        && let Some((leading, allocations)) = leading_function(frames, leads, &refused)
        && allocations > 0
        && let Some(longest) = longest_chain(allocations, total, &found)
    {
        match chain_of_wrappers(frames, paths, &rest, leading, longest) {
            Some(chain) => {
                found.add(frames, &chain);
                rest.iter_mut().for_each(|rest| paths.fold(rest, |frame| found.holds(frames, frame)));
            }
            None => {
                refused.insert(leading);
            }
        }
    }
    let is_wrapped = |(rest, path): &(&Rest, &Rest)| rest.is_shorter_than(path);
    let wrapped = || rest.iter().zip(&all).filter(is_wrapped).map(|(rest, _)| rest);
    found.allocations = wrapped().map(|rest| rest.allocations).sum();
    let mut callers: FxHashMap<TextId, (FrameId, u64)> = FxHashMap::default();
    for (frame, allocations) in wrapped().filter_map(|rest| Some((rest.first?, rest.allocations))) {
        callers.entry(frames.frame(frame).function).or_insert((frame, 0)).1 += allocations;
    }
    found.callers = callers.len();
    found.largest = callers.into_values().collect();
    found.largest.sort_by_key(|(frame, allocations)| (std::cmp::Reverse(*allocations), *frame));
    let of_all = found.allocations;
    found.largest.retain(|(_, allocations)| allocations * 100 >= of_all);
    found.largest.truncate(MOST_LARGEST);
    (!found.names.is_empty()).then_some(found)
}

/// How long a chain may be that begins with a function, by its allocations; nothing if these are too few.
fn longest_chain(allocations: u64, total: u64, found: &Wrappers) -> Option<usize> {
    let is_least = |percent: u64| allocations * 100 >= total * percent;
    match (is_least(LEAST_PERCENT), is_least(LEAST_PERCENT_OF_FURTHER) && !found.names.is_empty()) {
        (true, _) => Some(LONGEST_CHAIN),
        (false, true) => Some(1),
        (false, false) => None,
    }
}

impl Wrappers {
    pub fn holds(&self, frames: &Frames, frame: FrameId) -> bool {
        self.chain.iter().any(|wrapper| wrapper.holds(frames, frame))
    }

    fn add(&mut self, frames: &Frames, chain: &[Wrapper]) {
        for wrapper in chain {
            let (name, pattern) = match *wrapper {
                Wrapper::Function(name) => (qualified_name(frames.text(name)).to_owned(), pattern_of(frames, name)),
                Wrapper::File(path) => {
                    let file = last_part(frames.shown(frames.text(path)));
                    (file.to_owned(), regex::escape(stem(file)))
                }
            };
            self.chain.push(*wrapper);
            self.names.push(name);
            self.pattern = match self.pattern.as_str() {
                "" => pattern,
                others => format!("{others}|{pattern}"),
            };
        }
    }
}

/// The function that leads, if it is a wrapper, and those of its callers that are wrappers for it alone. They lead no more
/// then.
fn chain_of_wrappers(
    frames: &Frames,
    paths: &CallPaths,
    rest: &[Rest],
    leading: TextId,
    longest: usize,
) -> Option<Vec<Wrapper>> {
    let mut rest: Vec<Rest> = rest.iter().filter(|rest| leads(frames, rest) == Some(leading)).copied().collect();
    let all: u64 = rest.iter().map(|rest| rest.allocations).sum();
    let mut chain = Vec::new();
    let mut next = leading;
    while chain.len() < longest {
        let first = rest.iter().find(|rest| leads(frames, rest) == Some(next))?.first?;
        let wrapper = wrapper_of(frames, paths, &rest, first);
        let places: FxHashSet<FrameId> = rest.iter().filter_map(|rest| rest.first).collect();
        if matches!(wrapper, Wrapper::Function(_)) && places.len() > MOST_PLACES {
            return None;
        }
        rest.iter_mut().for_each(|rest| paths.fold(rest, |frame| wrapper.holds(frames, frame)));
        // One that calls itself has work of its own.
        let mut recursion = Anywhere::new(paths, |frame| wrapper.holds(frames, frame));
        let of_recursion = rest.iter().filter(|rest| recursion.is_in(rest));
        if of_recursion.map(|rest| rest.allocations).sum::<u64>() * 5 > all {
            return None;
        }
        chain.push(wrapper);
        let mut callers: FxHashMap<TextId, u64> = FxHashMap::default();
        for rest in &rest {
            if let Some(caller) = leads(frames, rest) {
                *callers.entry(caller).or_default() += rest.allocations;
            }
        }
        if callers.len() >= FEWEST_CALLERS {
            return Some(chain);
        }
        let (&caller, &most) = callers.iter().max_by_key(|(function, number)| (**number, **function))?;
        if most * 20 < all * 19 {
            return None;
        }
        next = caller;
    }
    None
}

/// The function of the frame. If it has no name, all of its file, provided that most of these paths come from functions
/// elsewhere that have names: instead of a file whose exported functions have names, addresses would lead.
fn wrapper_of(frames: &Frames, paths: &CallPaths, rest: &[Rest], frame: FrameId) -> Wrapper {
    let file = Wrapper::File(frames.frame(frame).module);
    let has_name = |frame: FrameId| frames.frame(frame).address.is_none();
    let elsewhere = |rest: &Rest| paths.find(*rest, |frame| !file.holds(frames, frame));
    let is_shown = |rest: &&Rest| elsewhere(rest).is_some_and(has_name);
    let are_shown = || {
        let all: u64 = rest.iter().map(|rest| rest.allocations).sum();
        rest.iter().filter(is_shown).map(|rest| rest.allocations).sum::<u64>() * 2 > all
    };
    match !has_name(frame) && are_shown() {
        true => file,
        false => Wrapper::Function(frames.frame(frame).function),
    }
}

fn leads(frames: &Frames, rest: &Rest) -> Option<TextId> {
    Some(frames.frame(rest.first?).function)
}

/// The function that leads most allocations, and how many. `leading`: what leads, with its allocations.
fn leading_function(
    frames: &Frames,
    leading: impl Iterator<Item = (Option<FrameId>, u64)>,
    refused: &FxHashSet<TextId>,
) -> Option<(TextId, u64)> {
    let mut sums: FxHashMap<TextId, u64> = FxHashMap::default();
    for (frame, allocations) in leading {
        let function = frame.map(|frame| frames.frame(frame).function);
        if let Some(function) = function.filter(|function| !refused.contains(function)) {
            *sums.entry(function).or_default() += allocations;
        }
    }
    sums.into_iter().max_by_key(|(function, allocations)| (*allocations, std::cmp::Reverse(*function)))
}

/// `libsqlite3` of `libsqlite3.so.0.8.6`.
fn stem(file: &str) -> &str {
    file.split_once(".so").map_or(file, |(stem, _)| stem)
}

/// A regular expression that matches this function and no other, in as few characters as will do.
fn pattern_of(frames: &Frames, function: TextId) -> String {
    let escaped = regex::escape(qualified_name(frames.text(function)));
    let Ok(regex) = Regex::new(&escaped) else { return escaped };
    let matches_others = frames.ids().any(|id| {
        let texts = Texts::of(frames, id);
        let is_other = frames.frame(id).function != function && regex.is_match(qualified_name(texts.function));
        is_other || regex.is_match(texts.module_name())
    });
    if matches_others { format!("^{escaped}$") } else { escaped }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    #[test]
    fn a_smaller_wrapper_is_told_only_beside_a_large_one() {
        let (none, some) = (Wrappers::default(), Wrappers { names: vec!["zmalloc".to_owned()], ..Wrappers::default() });
        assert_eq!([25, 24].map(|n| longest_chain(n, 100, &none)), [Some(LONGEST_CHAIN), None]);
        assert_eq!([25, 16, 14].map(|n| longest_chain(n, 100, &some)), [Some(LONGEST_CHAIN), Some(1), None]);
    }

    #[test]
    fn wrappers_hold_the_frames_of_their_functions_and_files() {
        let frames = golden("tiny").frames;
        let all = || frames.ids();
        let first = frames.frame(FrameId::new(0));
        let (function, file) = (first.function, first.module);
        let held = |chain: &[Wrapper]| -> Vec<FrameId> {
            let wrappers = Wrappers { chain: chain.to_vec(), ..Wrappers::default() };
            all().filter(|frame| wrappers.holds(&frames, *frame)).collect()
        };
        let of =
            |is_held: &dyn Fn(FrameId) -> bool| -> Vec<FrameId> { all().filter(|frame| is_held(*frame)).collect() };
        let of_function = of(&|frame| frames.frame(frame).function == function);
        let of_file = of(&|frame| frames.frame(frame).module == file);
        assert!(!of_function.is_empty() && of_function.len() < of_file.len() && of_file.len() < frames.len());
        assert_eq!(held(&[Wrapper::Function(function)]), of_function);
        assert_eq!(held(&[Wrapper::File(file)]), of_file);
        assert_eq!(held(&[Wrapper::Function(function), Wrapper::File(file)]), of_file, "any of them");
        assert!(held(&[]).is_empty());
    }
}
