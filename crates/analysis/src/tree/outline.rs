//! A part of a tree without its sums: its branches, and at which of them each stack ends. Then as much is added up as is shown:
//! single numbers, which takes a fraction of the time, or all sums.

use super::grow::{End, Twig};
use super::{Branch, Dropped};
use crate::sums::Site;

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
        let Outline { mut twigs, ends } = self;
        // The stacks that end at branch n: `order[starts[n]..starts[n + 1]]`.
        let mut starts = vec![0; twigs.len() + 2];
        ends.iter().for_each(|(end, _)| starts[end.branch as usize + 2] += 1);
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut order = vec![0; ends.len()];
        for (index, (end, _)) in ends.iter().enumerate() {
            let place = &mut starts[end.branch as usize + 1];
            order[*place] = index;
            *place += 1;
        }
        let mut made: Vec<Vec<Branch>> = Vec::new();
        made.resize_with(twigs.len(), Vec::new);
        while let Some(twig) = twigs.pop() {
            let number = twigs.len();
            let mut branch = Branch::new(twig.frame, twig.key);
            branch.label = twig.label;
            branch.has_more = twig.has_more;
            if twig.dropped > 0 {
                branch.dropped = Some(Box::new(Dropped { branches: twig.dropped, ..Dropped::default() }));
            }
            branch.children = std::mem::take(&mut made[number]);
            branch.children.reverse();
            for &index in &order[starts[number]..starts[number + 1]] {
                let (end, site) = ends[index];
                site.add_to(&mut branch.metrics);
                if let Some(dropped) = branch.dropped.as_mut().filter(|_| end.is_dropped) {
                    site.add_to(&mut dropped.metrics);
                }
            }
            for child in &branch.children {
                branch.metrics.add(&child.metrics);
            }
            let parent = twig.parent as usize;
            let Some(above) = twigs.get(parent) else { return branch };
            let siblings = &mut made[parent];
            if siblings.is_empty() {
                siblings.reserve_exact(above.children as usize);
            }
            siblings.push(branch);
        }
        Branch::default()
    }
}
