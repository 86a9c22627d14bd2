//! A part of a tree without its sums: its branches, and at which of them each stack ends. Then as much is added up as is shown:
//! single numbers, which takes a fraction of the time, or all sums.

use super::bottom_up::each_branch;
use super::twig::{End, Twig};
use super::{Branch, Dropped};
use crate::sums::Site;
use rustc_hash::FxHashMap;

/// Branches, and what is added up of stacks.
pub struct Outline<T> {
    pub(super) twigs: Vec<Twig>,
    pub(super) ends: Vec<(End, T)>,
}

/// A root of nothing.
impl<T> Default for Outline<T> {
    fn default() -> Outline<T> {
        Outline { twigs: vec![Twig::root()], ends: Vec::new() }
    }
}

/// What a number of all stacks adds up to, by branch.
pub struct Added {
    /// Of all stacks through it.
    pub of_branch: Vec<f64>,
    /// Of those through branches below it that are too small.
    pub of_dropped: Vec<f64>,
}

impl<T> Outline<T> {
    /// The branches, each before those below it, and of these the largest first.
    pub fn branches(&self) -> &[Twig] {
        &self.twigs
    }

    /// Adds up a number of each stack.
    pub fn add_up(&self, number: impl Fn(&T) -> f64) -> Added {
        let [mut of_branch, mut of_dropped] = [(); 2].map(|()| vec![0.0; self.twigs.len()]);
        for (end, of) in &self.ends {
            let number = number(of);
            of_branch[end.branch as usize] += number;
            if end.is_dropped {
                of_dropped[end.branch as usize] += number;
            }
        }
        for (branch, twig) in self.twigs.iter().enumerate().skip(1).rev() {
            of_branch[twig.parent as usize] += of_branch[branch];
        }
        Added { of_branch, of_dropped }
    }
}

impl Outline<Site<'_>> {
    /// Gives branches their sums, from the leaves to the root. Each is made once, where it stays.
    pub(super) fn with_sums(self) -> Branch {
        let Outline { twigs, ends } = self;
        let mut dropped: FxHashMap<usize, Box<Dropped>> = FxHashMap::default();
        for (end, site) in ends.iter().filter(|(end, _)| end.is_dropped) {
            let branch = end.branch as usize;
            let of = dropped.entry(branch).or_default();
            of.branches = twigs[branch].dropped;
            site.add_to(&mut of.metrics);
        }
        let mut made: Vec<Vec<Branch>> = Vec::new();
        made.resize_with(twigs.len(), Vec::new);
        let mut root = None;
        let ends = ends.into_iter().map(|(end, site)| (end.branch, site)).collect();
        each_branch(&twigs, ends, |number, sums, _| {
            let twig = &twigs[number];
            let mut children = std::mem::take(&mut made[number]);
            children.reverse();
            let branch = Branch {
                frame: twig.frame,
                label: twig.label.clone(),
                key: twig.key,
                metrics: *sums,
                children,
                dropped: dropped.remove(&number),
                has_more: twig.has_more,
            };
            if number == 0 {
                root = Some(branch);
                return;
            }
            let siblings = &mut made[twig.parent as usize];
            if siblings.is_empty() {
                siblings.reserve_exact(twigs[twig.parent as usize].children as usize);
            }
            siblings.push(branch);
        });
        root.unwrap_or_default()
    }
}
