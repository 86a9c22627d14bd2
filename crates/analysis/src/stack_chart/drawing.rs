//! Which bars a chart has: the heaviest path of each column, and what goes on from one column to the next. Columns do not depend on
//! each other, so all processors weigh them; only the bars need their order.

use super::{Amount, Bar, Has};
use crate::stacks::{Path, Stacks};
use memtoll_model::{FrameId, Image, StackId, TextId};
use memtoll_trace::ids::NodeId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// The paths of the call sites that a chart is of.
#[derive(Default)]
pub(super) struct Paths {
    /// By site; `None`: its stack does not count, or the chart has none of it.
    of_sites: Vec<Option<Path>>,
    /// What each path is called from, and its innermost frame.
    callers: Vec<Option<(Path, FrameId)>>,
}

impl Paths {
    pub fn of(image: &Image, stacks: &mut Stacks, by_line: bool, sites: impl Iterator<Item = Option<NodeId>>) -> Paths {
        let mut paths = Paths::default();
        let mut is_known = Vec::new();
        let mut of_stacks: FxHashMap<StackId, Option<Path>> = FxHashMap::default();
        // A function's frame that stands for all its lines.
        let mut functions: FxHashMap<(TextId, TextId), FrameId> = FxHashMap::default();
        for site in sites {
            let index = NodeId::index_of(site);
            if is_known.len() <= index {
                is_known.resize((index + 1).next_power_of_two(), false);
                paths.of_sites.resize(is_known.len(), None);
            }
            if std::mem::replace(&mut is_known[index], true) {
                continue;
            }
            let stack = image.node(site);
            let path = *of_stacks.entry(stack).or_insert_with(|| {
                let mut frames = Vec::new();
                if !stacks.leading(stack).matches {
                    return None;
                }
                stacks.list(stack, &mut frames);
                Some(frames.into_iter().rev().fold(Path::EMPTY, |callers, frame| {
                    let of = stacks.recording().frames.frame(frame);
                    let mut stands = || *functions.entry((of.function, of.module)).or_insert(frame);
                    stacks.path_within(callers, if by_line { frame } else { stands() })
                }))
            });
            paths.of_sites[index] = path;
            path.into_iter().for_each(|path| paths.add(stacks, path));
        }
        paths
    }

    /// Adds a path, with all that it is called from.
    fn add(&mut self, stacks: &Stacks, path: Path) {
        self.callers.resize(self.callers.len().max(stacks.paths()), None);
        let mut next = path;
        while let (None, Some((caller, frame))) = (self.callers[next.number()], stacks.split(next)) {
            self.callers[next.number()] = Some((caller, frame));
            next = caller;
        }
    }

    fn caller(&self, path: Path) -> Option<Path> {
        self.callers[path.number()].map(|(caller, _)| caller)
    }
}

/// What a column shows.
pub(super) struct Column {
    /// What all its stacks have.
    pub has: Has,
    /// The path that has most, from the outermost frame inwards, with what is below each.
    pub shown: Vec<(Path, Has)>,
}

/// What the paths of a column have. All is zero between columns.
pub(super) struct Weights<'a> {
    paths: &'a Paths,
    /// By path: what is below it, what is its own, and whether it has any.
    below: Vec<Has>,
    own: Vec<f64>,
    is_met: Vec<bool>,
    /// And which of the paths that it calls has most; of those that have as much, the one with the smallest number.
    heaviest: Vec<Option<Path>>,
}

impl<'a> Weights<'a> {
    pub fn new(paths: &'a Paths) -> Weights<'a> {
        let count = paths.callers.len().max(Path::EMPTY.number() + 1);
        Weights {
            paths,
            below: vec![Has::default(); count],
            own: vec![0.0; count],
            is_met: vec![false; count],
            heaviest: vec![None; count],
        }
    }

    /// Weighs the amounts of a column.
    pub fn column(&mut self, amounts: &[Amount]) -> Column {
        let (mut has, mut met) = (Has::default(), Vec::new());
        for amount in amounts {
            let Some(path) = self.paths.of_sites[NodeId::index_of(amount.site)] else { continue };
            has += amount.has;
            self.own[path.number()] += amount.has.value;
            self.below[path.number()] += amount.has;
            let mut next = Some(path);
            // Whose callers are met is met, too.
            while let Some(at) = next.filter(|at| !std::mem::replace(&mut self.is_met[at.number()], true)) {
                met.push(at);
                next = self.paths.caller(at);
            }
        }
        // Callers have smaller numbers than what they call.
        met.sort_unstable_by_key(|path| Reverse(path.number()));
        for path in &met {
            let Some(caller) = self.paths.caller(*path) else { continue };
            let has = self.below[path.number()];
            self.below[caller.number()] += has;
            let heaviest = &mut self.heaviest[caller.number()];
            if heaviest.is_none_or(|known| self.below[known.number()].value <= has.value) {
                *heaviest = Some(*path);
            }
        }
        let shown = self.heaviest();
        for path in met {
            let at = path.number();
            (self.below[at], self.own[at], self.is_met[at]) = (Has::default(), 0.0, false);
            self.heaviest[at] = None;
        }
        Column { has, shown }
    }

    /// The path that has most.
    fn heaviest(&self) -> Vec<(Path, Has)> {
        let most_of = |at: &Path| self.heaviest.get(at.number()).copied().flatten();
        let goes_on = |at: &Path| most_of(at).filter(|next| self.below[next.number()].value > self.own[at.number()]);
        let all = std::iter::successors(goes_on(&Path::EMPTY), goes_on);
        all.map(|path| (path, self.below[path.number()])).collect()
    }
}

/// Bars, as far as they are drawn.
#[derive(Default)]
pub(super) struct Bars {
    pub all: Vec<Bar>,
    /// Those of the last column, from the outermost frame inwards, with their paths.
    open: Vec<(Path, usize)>,
}

impl Bars {
    /// Adds a column's frames to bars of the one before it, as far as they are the same, and makes new ones.
    pub fn extend(&mut self, paths: &Paths, column: usize, shown: &[(Path, Has)]) {
        let same = self.open.iter().zip(shown).take_while(|(open, shown)| open.0 == shown.0).count();
        self.open.truncate(same);
        for ((_, bar), (_, has)) in self.open.iter().zip(shown) {
            self.all[*bar].columns.1 = column + 1;
            self.all[*bar].has += *has;
        }
        for &(path, has) in &shown[same..] {
            let Some((_, frame)) = paths.callers[path.number()] else { continue };
            let caller = self.open.last().map(|(_, bar)| *bar);
            self.open.push((path, self.all.len()));
            self.all.push(Bar { caller, frame, columns: (column, column + 1), has });
        }
    }
}
