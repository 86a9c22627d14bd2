//! From the allocations outwards: all stacks side by side, sorted anew by each further frame.

use super::frame_names::FrameNames;
use super::grow::{ByName, Child, Ending, Way};
use super::twig::End;
use crate::stacks::{Path, Stacks};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// A stack, and what is left of it outside of the branch at which it is.
#[derive(Clone, Copy)]
struct Item {
    stack: u32,
    rest: Path,
}

/// Stacks from the allocation, or from the function that is asked for, outwards.
pub(super) struct Callers<'a> {
    stacks: &'a Stacks<'a>,
    /// By path, the stack that is a part of it.
    of_path: Vec<u32>,
    /// By stack, the limit's number.
    values: Vec<u64>,
    /// By stack.
    ends: Vec<Option<End>>,
    /// Those of a branch are next to each other.
    items: Vec<Item>,
    sorted: Vec<Item>,
}

impl<'a> Callers<'a> {
    pub fn new<T>(stacks: &'a Stacks<'a>, ends: &[Ending<T>], names: &mut FrameNames) -> Callers<'a> {
        let begins = begins(stacks, names);
        let mut of_path = vec![NONE; stacks.paths()];
        let (mut values, mut items) = (Vec::new(), Vec::new());
        for Ending { path, value, .. } in ends {
            let Some(begin) = begins.as_ref().map_or(Some(*path), |begins| begins[path.number()]) else { continue };
            if of_path[begin.number()] == NONE {
                of_path[begin.number()] = items.len() as u32;
                items.push(Item { stack: items.len() as u32, rest: begin });
                values.push(0u64);
            }
            let stack = of_path[begin.number()];
            of_path[path.number()] = stack;
            values[stack as usize] = values[stack as usize].wrapping_add(*value);
        }
        let ends = vec![None; items.len()];
        Callers { stacks, of_path, values, ends, items, sorted: Vec::new() }
    }
}

/// By path, from where on it is a part of the tree: from the outermost frame of the function that is asked for. Nothing if
/// none is asked for.
fn begins(stacks: &Stacks, names: &mut FrameNames) -> Option<Vec<Option<Path>>> {
    if !names.want_a_function() {
        return None;
    }
    let mut begins = vec![None; stacks.paths()];
    for number in 1..begins.len() {
        let path = Path::numbered(number);
        let Some((callers, frame)) = stacks.split(path) else { continue };
        begins[number] = begins[callers.number()].or_else(|| names.is_of_function(frame).then_some(path));
    }
    Some(begins)
}

impl Way for Callers<'_> {
    type Bundle = Range<usize>;

    fn all(&mut self) -> Range<usize> {
        0..self.items.len()
    }

    fn value(&self, bundle: &Range<usize>) -> u64 {
        let values = self.items[bundle.clone()].iter().map(|item| self.values[item.stack as usize]);
        values.fold(0, u64::wrapping_add)
    }

    fn settle(&mut self, bundle: &Range<usize>, end: End) {
        for item in &self.items[bundle.clone()] {
            self.ends[item.stack as usize] = Some(end);
        }
    }

    fn split(&mut self, bundle: Range<usize>, names: &mut FrameNames) -> Vec<Child<Range<usize>>> {
        // The group of each item; those that end here are in none.
        let mut of_item = Vec::with_capacity(bundle.len());
        let mut found: Vec<Child<Range<usize>>> = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        let mut by_name = ByName::default();
        for item in &mut self.items[bundle.clone()] {
            let Some((callers, frame)) = self.stacks.split(item.rest) else {
                of_item.push(NONE);
                continue;
            };
            item.rest = callers;
            let name = names.key(frame);
            let group = by_name.place(&found, name).unwrap_or_else(|| {
                found.push(Child { frame, name, bundle: 0..0 });
                sizes.push(0);
                found.len() - 1
            });
            sizes[group] += 1;
            of_item.push(group as u32);
        }
        let mut at = bundle.start;
        for (child, size) in found.iter_mut().zip(&sizes) {
            child.bundle = at..at;
            at += size;
        }
        self.sorted.clear();
        self.sorted.extend_from_slice(&self.items[bundle]);
        for (item, group) in self.sorted.iter().zip(of_item).filter(|(_, group)| *group != NONE) {
            let place = &mut found[group as usize].bundle;
            self.items[place.end] = *item;
            place.end += 1;
        }
        found
    }

    fn end(&mut self, path: Path) -> Option<End> {
        let stack = self.of_path[path.number()];
        self.ends.get(stack as usize).copied().flatten()
    }
}
