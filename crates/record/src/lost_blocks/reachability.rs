//! Which blocks can be reached from where.
//!
//! The kinds are those of Valgrind's memcheck, so that their numbers can be compared: a pointer into the middle of a block may be
//! a pointer to it, or only look like one.

use super::block_map::Pointer;
use std::ops::Range;

/// How a block can be reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// By pointers to the beginnings of blocks, from a root.
    Reachable,
    /// Only if a pointer into the middle of a block is taken for one to the block.
    PossiblyLost,
    /// Only from blocks that are lost.
    IndirectlyLost,
    /// From nowhere, or only from itself.
    Lost,
}

/// Which pointers lie in which block, and in roots.
#[derive(Default)]
pub struct Graph {
    pub roots: Vec<Pointer>,
    /// Pointers in blocks, by block.
    pointers: Vec<Pointer>,
    /// By block: where its pointers end.
    ends: Vec<usize>,
}

impl Graph {
    /// Adds a pointer that lies in a block; in the order of the blocks. A block's pointer to itself does not keep it.
    pub fn add(&mut self, from: usize, pointer: Pointer) {
        if pointer.block as usize != from {
            self.begin_block(from);
            self.pointers.push(pointer);
        }
    }

    fn begin_block(&mut self, block: usize) {
        if self.ends.len() < block {
            self.ends.resize(block, self.pointers.len());
        }
    }

    /// How many pointers there are.
    pub fn len(&self) -> usize {
        self.pointers.len() + self.roots.len()
    }

    fn pointers_of(&self, block: usize) -> &[Pointer] {
        let end = |block: usize| self.ends.get(block).copied().unwrap_or(self.pointers.len());
        let range: Range<usize> = block.checked_sub(1).map_or(0, end)..end(block);
        &self.pointers[range]
    }
}

/// How each of `count` blocks can be reached. `is_whole` says of a pointer into the middle whether such pointers stand for the
/// block (see [`super::inner_pointers`]).
pub fn classify(count: usize, graph: &Graph, mut is_whole: impl FnMut(Pointer) -> bool) -> Vec<Reach> {
    let mut reach = vec![None; count];
    let mut waiting: Vec<u32> = Vec::new();
    let mut inner: Vec<Pointer> = Vec::new();
    let mut sort = |pointers: &[Pointer], waiting: &mut Vec<u32>, reach: &mut [Option<Reach>]| {
        for pointer in pointers {
            let found = &mut reach[pointer.block as usize];
            match found {
                Some(_) => {}
                None if pointer.offset == 0 || is_whole(*pointer) => {
                    *found = Some(Reach::Reachable);
                    waiting.push(pointer.block);
                }
                None => inner.push(*pointer),
            }
        }
    };
    sort(&graph.roots, &mut waiting, &mut reach);
    while let Some(block) = waiting.pop() {
        sort(graph.pointers_of(block as usize), &mut waiting, &mut reach);
    }
    let mut spread = |from: u32, kind: Reach, reach: &mut [Option<Reach>]| {
        waiting.push(from);
        while let Some(block) = waiting.pop() {
            for pointer in graph.pointers_of(block as usize) {
                let found = &mut reach[pointer.block as usize];
                // What is lost itself and pointed to by another lost block is lost because of that one.
                let is_new = match found {
                    None => true,
                    Some(Reach::Lost) => kind == Reach::IndirectlyLost && pointer.block != from,
                    Some(_) => false,
                };
                if is_new {
                    *found = Some(kind);
                    waiting.push(pointer.block);
                }
            }
        }
    };
    for pointer in inner {
        if reach[pointer.block as usize].is_none() {
            reach[pointer.block as usize] = Some(Reach::PossiblyLost);
            spread(pointer.block, Reach::PossiblyLost, &mut reach);
        }
    }
    for block in 0..count {
        if reach[block].is_none() {
            reach[block] = Some(Reach::Lost);
            spread(block as u32, Reach::IndirectlyLost, &mut reach);
        }
    }
    reach.into_iter().map(|reach| reach.unwrap_or(Reach::Lost)).collect()
}

#[cfg(test)]
mod tests {
    use super::Reach::*;
    use super::*;

    fn to(block: u32) -> Pointer {
        Pointer { block, offset: 0 }
    }

    fn into(block: u32) -> Pointer {
        Pointer { block, offset: 8 }
    }

    fn graph(roots: &[Pointer], pointers: &[(usize, Pointer)]) -> Graph {
        let mut graph = Graph { roots: roots.to_vec(), ..Graph::default() };
        pointers.iter().for_each(|(from, pointer)| graph.add(*from, *pointer));
        graph
    }

    #[track_caller]
    fn are(roots: &[Pointer], pointers: &[(usize, Pointer)], expected: &[Reach]) {
        assert_eq!(classify(expected.len(), &graph(roots, pointers), |_| false), expected);
    }

    #[test]
    fn what_a_root_leads_to_is_reachable() {
        are(&[to(0)], &[(0, to(2)), (2, to(3))], &[Reachable, Lost, Reachable, Reachable]);
    }

    #[test]
    fn the_head_of_a_list_is_lost_and_the_others_because_of_it() {
        are(&[], &[(1, to(0)), (2, to(1))], &[IndirectlyLost, IndirectlyLost, Lost]);
        are(&[], &[(0, to(1)), (1, to(2))], &[Lost, IndirectlyLost, IndirectlyLost]);
    }

    #[test]
    fn one_block_of_a_circle_is_lost() {
        are(&[], &[(0, to(0)), (0, to(1)), (1, to(2)), (2, to(0))], &[Lost, IndirectlyLost, IndirectlyLost]);
        // Two that lead into the circle.
        are(&[], &[(0, to(1)), (1, to(0)), (2, to(1)), (3, to(0))], &[IndirectlyLost, IndirectlyLost, Lost, Lost]);
    }

    #[test]
    fn a_pointer_into_the_middle_may_be_one() {
        are(&[into(0)], &[(0, to(1)), (2, to(1))], &[PossiblyLost, PossiblyLost, Lost]);
        are(&[into(0), to(1)], &[(1, to(0))], &[Reachable, Reachable]);
        are(&[to(0)], &[(0, into(1)), (1, into(2))], &[Reachable, PossiblyLost, PossiblyLost]);
        are(&[], &[(0, into(1))], &[Lost, IndirectlyLost]);
        let graph = graph(&[into(0)], &[(0, into(1))]);
        assert_eq!(classify(2, &graph, |pointer| pointer.block == 0), [Reachable, PossiblyLost]);
    }
}
