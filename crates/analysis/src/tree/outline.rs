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

/// What numbers of all stacks add up to: a row for each branch.
pub struct Added {
    width: usize,
    /// Of all stacks through it.
    of_branches: Vec<f64>,
    /// Of those through branches below it that are too small.
    of_dropped: Vec<f64>,
}

impl Added {
    /// The sums of a branch.
    pub fn of_branch(&self, branch: usize) -> &[f64] {
        &self.of_branches[branch * self.width..][..self.width]
    }

    /// The sums of what is too small below it.
    pub fn of_dropped(&self, branch: usize) -> &[f64] {
        &self.of_dropped[branch * self.width..][..self.width]
    }
}

fn add(sums: &mut [f64], numbers: impl IntoIterator<Item = f64>) {
    sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
}

impl<T> Outline<T> {
    /// The branches, each before those below it, and of these the largest first.
    pub fn branches(&self) -> &[Twig] {
        &self.twigs
    }

    /// Adds up `width` numbers of each stack.
    pub fn add_up<N: IntoIterator<Item = f64>>(&self, width: usize, numbers: impl Fn(&T) -> N) -> Added {
        let [mut of_branches, mut of_dropped] = [(); 2].map(|()| vec![0.0; self.twigs.len() * width]);
        for (end, of) in &self.ends {
            let at = end.branch as usize * width;
            add(&mut of_branches[at..][..width], numbers(of));
            if end.is_dropped {
                add(&mut of_dropped[at..][..width], numbers(of));
            }
        }
        for (branch, twig) in self.twigs.iter().enumerate().skip(1).rev() {
            let (before, from_here) = of_branches.split_at_mut(branch * width);
            add(&mut before[twig.parent as usize * width..], from_here[..width].iter().copied());
        }
        Added { width, of_branches, of_dropped }
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
