//! From the entries inwards. Paths are known by what they are called from, so they are a tree already; several are one
//! branch where frames are called the same.

use super::frame_names::FrameNames;
use super::grow::{ByName, Child, Ending, Way};
use super::twig::End;
use crate::stacks::{Path, Stacks};

/// No path: what is above the root, or outside of the function.
const NONE: u32 = u32::MAX;

/// Paths from the root inwards, by number.
pub(super) struct Callees<'a> {
    stacks: &'a Stacks<'a>,
    /// What a path is called from. Those of the function that is asked for are called from the root.
    parents: Vec<u32>,
    /// What is called from path n: `children[starts[n]..starts[n + 1]]`.
    starts: Vec<u32>,
    children: Vec<u32>,
    /// The limit's number, with that of all that is called from the path.
    values: Vec<u64>,
    ends: Vec<Option<End>>,
    /// Whether paths have the ends of what they are called from.
    is_spread: bool,
    /// Whether stacks without a frame are a part.
    has_empty: bool,
}

impl<'a> Callees<'a> {
    pub fn new<T>(stacks: &'a Stacks<'a>, ends: &[Ending<T>], names: &mut FrameNames) -> Callees<'a> {
        let count = stacks.paths();
        let mut is_used = vec![false; count];
        let mut values = vec![0u64; count];
        for Ending { path, value, .. } in ends {
            is_used[path.number()] = true;
            values[path.number()] = values[path.number()].wrapping_add(*value);
        }
        let of_path = |number: usize| stacks.split(Path::numbered(number));
        let callers = |number| of_path(number).map_or(NONE, |(callers, _)| callers.number() as u32);
        let mut parents: Vec<u32> = (0..count).map(callers).collect();
        if names.want_a_function() {
            // What a path is called from stands before it.
            for number in 1..count {
                let is_outside = parents.get(parents[number] as usize).is_none_or(|above| *above == NONE);
                if is_outside {
                    let begins = of_path(number).is_some_and(|(_, frame)| names.is_of_function(frame));
                    parents[number] = if begins { Path::EMPTY.number() as u32 } else { NONE };
                }
            }
            values[Path::EMPTY.number()] = 0;
        }
        let mut starts = vec![0u32; count + 2];
        for number in (1..count).rev().filter(|&number| parents[number] != NONE) {
            if is_used[number] {
                let parent = parents[number] as usize;
                is_used[parent] = true;
                values[parent] = values[parent].wrapping_add(values[number]);
                starts[parent + 2] += 1;
            }
        }
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut children = vec![0; starts[count + 1] as usize];
        for number in (1..count).filter(|&number| is_used[number] && parents[number] != NONE) {
            let place = &mut starts[parents[number] as usize + 1];
            children[*place as usize] = number as u32;
            *place += 1;
        }
        Callees {
            stacks,
            parents,
            starts,
            children,
            values,
            ends: vec![None; count],
            is_spread: false,
            has_empty: !names.want_a_function(),
        }
    }

    /// Gives paths the ends of what they are called from.
    fn spread(&mut self) {
        for number in 1..self.ends.len() {
            if self.ends[number].is_none() && self.parents[number] != NONE {
                self.ends[number] = self.ends[self.parents[number] as usize];
            }
        }
        self.is_spread = true;
    }
}

impl Way for Callees<'_> {
    type Bundle = Vec<u32>;

    fn all(&mut self) -> Vec<u32> {
        vec![Path::EMPTY.number() as u32]
    }

    fn value(&self, bundle: &Vec<u32>) -> u64 {
        bundle.iter().fold(0, |sum, &number| sum.wrapping_add(self.values[number as usize]))
    }

    fn settle(&mut self, bundle: &Vec<u32>, end: End) {
        for &number in bundle {
            self.ends[number as usize] = Some(end);
        }
    }

    fn split(&mut self, bundle: Vec<u32>, names: &mut FrameNames) -> Vec<Child<Vec<u32>>> {
        let mut found: Vec<Child<Vec<u32>>> = Vec::new();
        let mut by_name = ByName::default();
        for number in bundle {
            let [from, to] = [number, number + 1].map(|number| self.starts[number as usize] as usize);
            for &child in &self.children[from..to] {
                let Some((_, frame)) = self.stacks.split(Path::numbered(child as usize)) else { continue };
                let name = names.key(frame);
                match by_name.place(&found, name) {
                    Some(known) => found[known].bundle.push(child),
                    None => found.push(Child { frame, name, bundle: vec![child] }),
                }
            }
        }
        found
    }

    fn end(&mut self, path: Path) -> Option<End> {
        if !self.is_spread {
            self.spread();
        }
        let is_member = path != Path::EMPTY || self.has_empty;
        self.ends[path.number()].filter(|_| is_member)
    }
}
