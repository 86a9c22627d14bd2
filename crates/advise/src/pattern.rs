//! How the blocks of some call sites live: read from the events, in one pass.
//!
//! Vocabulary: an *instance* is an object whose block is replaced by a larger one as it grows, such as a vector; its
//! *steps* are those blocks, the last of which has its final size. Blocks die *in bulk* if a thread releases many in a
//! row and acquires none in between.

pub mod calls;
mod follow;
mod heap;
mod live;
#[cfg(test)]
mod reference;

use calls::Calls;
use follow::{Follower, Survivors};
use heap::NO_SITE;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::stacks::Stacks;
use memtoll_model::{FrameId, Image, Recording, StackId};
use memtoll_trace::costs::{CostKind, Place};
use memtoll_trace::ids::NodeId;
use rustc_hash::FxHashMap;

/// Different sizes that are told apart; what comes later counts as the nearest larger one of them.
const MOST_SIZES: usize = 4096;
/// Parts of the run for which never-freed blocks are counted.
pub const PARTS: usize = 8;

/// What the heap takes for a block of `size` bytes: glibc's header, rounded up.
pub fn heap_bytes(size: u64) -> u64 {
    (size.saturating_add(8 + 15) & !15).max(32)
}

/// The blocks of one call site.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pattern {
    /// How long its calls took.
    pub calls: Calls,
    /// Acquisitions that were read.
    pub blocks: u64,
    pub bytes: u64,
    pub heap_bytes: u64,
    /// Instances: blocks, less those that another one replaced.
    pub instances: u64,
    /// Final sizes of instances, and how many have each.
    pub finals: FxHashMap<u64, u64>,
    /// Blocks that a larger one replaced.
    pub steps: u64,
    /// Bytes that were copied on the way.
    pub copied_bytes: u64,
    /// Reallocations that left the block where it was.
    pub in_place: u64,
    /// Blocks a little larger than the one before of the same stack: each holds what the last one held, and something more.
    pub creeping: u64,
    /// Bytes of those before.
    pub crept_bytes: u64,
    /// How often the blocks of one stack begin again with a smaller one: that many texts are made, or more.
    pub begun_again: u64,
    /// Released in bulk.
    pub in_bulk: u64,
    /// Never released.
    pub kept: u64,
    /// When those were acquired, by part of the run.
    pub kept_by_part: [u64; PARTS],
    /// Longest that a process lived which did not release some, units.
    pub keeper_life: u64,
    /// Released by another thread than the one that acquired them.
    pub by_others: u64,
    /// Longest lifetime of a released block, units.
    pub longest_life: u64,
    /// Most blocks, and most bytes, live at one instant.
    pub most_live: u64,
    /// The same in bytes.
    pub most_live_bytes: u64,
    /// Blocks of lots of a thousand and more that went until nearly none was left.
    pub drained: u64,
    /// Bytes by which the heap would stay smaller at its largest if these blocks were not there.
    pub heap_alone: u64,
    /// Faults of their memory that were paid in functions that only fill memory.
    pub filled_faults: u64,
    /// Frames of the program that call these functions, with the faults of each.
    pub filled_at: FxHashMap<FrameId, u64>,
    /// The same of functions that only copy memory.
    pub copied_faults: u64,
    /// All faults whose place is known.
    pub placed_faults: u64,
}

impl Pattern {
    /// The size that at most this share of instances exceeds, from 0 to 1.
    pub fn quantile(&self, share: f64) -> u64 {
        let mut sizes: Vec<(u64, u64)> = self.finals.iter().map(|(size, number)| (*size, *number)).collect();
        sizes.sort_unstable();
        let all: u64 = sizes.iter().map(|(_, number)| number).sum();
        let rank = (all as f64 * share).ceil() as u64;
        let mut below = 0;
        for (size, number) in &sizes {
            below += number;
            if below >= rank {
                return *size;
            }
        }
        sizes.last().map_or(0, |(size, _)| *size)
    }

    /// Instances larger than `bytes`, and their bytes.
    pub fn larger(&self, bytes: u64) -> (u64, u64) {
        let larger = self.finals.iter().filter(|(size, _)| **size > bytes);
        // Sizes of a damaged file may be beyond all sums.
        larger.fold((0, 0), |(number, sum): (u64, u64), (size, of)| {
            (number + of, size.saturating_mul(*of).saturating_add(sum))
        })
    }

    /// Instances that end with this size.
    fn end(&mut self, size: u64, number: u64) {
        self.instances += number;
        let full = self.finals.len() >= MOST_SIZES && !self.finals.contains_key(&size);
        let size = if full { size.checked_next_power_of_two().unwrap_or(u64::MAX) } else { size };
        *self.finals.entry(size).or_default() += number;
    }
}

/// What a call site is, as far as its pattern depends on that.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched {
    /// Whether its type grows by making a larger block, moving what there is, and releasing the old one.
    pub grows: bool,
    /// Whether its blocks may hold text that is copied to append to it.
    pub may_creep: bool,
}

/// The sites of an image's nodes, each looked up once.
struct Sites<'a> {
    image: &'a Image,
    of_stack: &'a OfStacks,
    known: Vec<Numbers>,
}

/// The numbers of the site and of the line that a node belongs to.
type Numbers = (u32, u32);

/// These of each node of [`Recording::stacks`]; [`NO_SITE`] where it belongs to none.
pub struct OfStacks(Vec<Numbers>);

impl OfStacks {
    /// `sites` and `lines` have the nodes of each.
    pub fn new<'n>(
        recording: &Recording,
        sites: impl Iterator<Item = &'n [StackId]>,
        lines: impl Iterator<Item = &'n [StackId]>,
    ) -> OfStacks {
        let mut all = vec![(NO_SITE, NO_SITE); recording.stacks.len()];
        let mut put = |nodes: &[StackId], put: fn(&mut Numbers, u32), number: u32| {
            nodes.iter().for_each(|node| all.get_mut(node.index()).into_iter().for_each(|of| put(of, number)));
        };
        sites.zip(0..).for_each(|(nodes, number)| put(nodes, |of, number| of.0 = number, number));
        lines.zip(0..).for_each(|(nodes, number)| put(nodes, |of, number| of.1 = number, number));
        OfStacks(all)
    }

    fn of(&self, stack: StackId) -> Numbers {
        self.0.get(stack.index()).copied().unwrap_or((NO_SITE, NO_SITE))
    }
}

/// Of nodes with this id and higher ones, sites are looked up each time: in a damaged file, ids may be beyond all nodes.
const MOST_NODES: usize = 1 << 24;
/// It was not looked up yet.
const NOT_KNOWN: u32 = u32::MAX - 1;

impl Sites<'_> {
    #[inline]
    fn of(&mut self, node: Option<NodeId>) -> Numbers {
        match self.known.get(NodeId::index_of(node)) {
            Some(&numbers) if numbers.0 != NOT_KNOWN => numbers,
            _ => self.find(node),
        }
    }

    #[cold]
    fn find(&mut self, node: Option<NodeId>) -> Numbers {
        let site = self.of_stack.of(self.image.node(node));
        let index = NodeId::index_of(node);
        if index < MOST_NODES {
            if self.known.len() <= index {
                self.known.resize((index + 1).next_power_of_two(), (NOT_KNOWN, NO_SITE));
            }
            self.known[index] = site;
        }
        site
    }
}

/// Functions that only fill memory, wherever they are called from.
fn fills(function: &str) -> bool {
    ["memset", "__memset", "bzero", "std::fill", "std::__fill", "std::uninitialized_fill", "std::__uninitialized_"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// Functions that only copy memory.
fn copies(function: &str) -> bool {
    ["memcpy", "__memcpy", "memmove", "__memmove", "mempcpy", "__mempcpy"]
        .iter()
        .any(|start| function.starts_with(start))
}

/// What is watched.
pub struct Watch<'a> {
    pub of_stack: &'a OfStacks,
    pub sites: &'a [Watched],
    /// How many.
    pub lines: usize,
    /// Calls that take longer do more than their own work, units.
    pub longest: u64,
}

/// The patterns of some sites; for some lines, how long threads were between one call below it and the next, with none
/// elsewhere, units; and statements about what cannot be read.
pub fn patterns(
    recording: &Recording,
    stacks: &mut Stacks,
    watch: &Watch,
    pass: &mut EventPass,
) -> (Vec<Pattern>, Vec<u64>, Vec<String>) {
    let Watch { of_stack, sites: watched, lines, longest } = *watch;
    let mut under_way = vec![0u64; lines];
    let mut all = vec![Pattern::default(); watched.len()];
    let mut damage = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        let mut sites = Sites { image, of_stack, known: Vec::new() };
        let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended);
        let mut follower = Follower::new(watched, &mut all, image.about.began..ended).with_longest(longest);
        let read = pass.read(stacks, index, &mut |events| {
            for event in events {
                let (site, line) = sites.of(event.node);
                follower.event(event, site);
                follower.line(event, line, &mut under_way);
            }
        });
        let calls = follower.finish(if image.executed_another() { Survivors::Discarded } else { Survivors::Kept });
        all.iter_mut().zip(&calls).for_each(|(pattern, calls)| pattern.calls.plus(calls));
        let site = |node: Option<NodeId>| of_stack.of(image.node(node)).0;
        damage.extend(read.err().map(|why| why.to_string()));
        let read = recording.for_each_cost(index, |cost| {
            let Some(pattern) = all.get_mut(site(cost.node) as usize) else { return };
            let (CostKind::Fault, Place::Call(place)) = (cost.kind, cost.place) else { return };
            pattern.placed_faults += cost.amount;
            let frames = &recording.frames;
            let place = image.node(Some(place));
            let node = recording.stacks.node(place);
            let innermost = frames.chain(&node).first().map(|frame| frames.text(frames.frame(*frame).function));
            pattern.copied_faults += if innermost.is_some_and(copies) { cost.amount } else { 0 };
            if innermost.is_some_and(fills) {
                pattern.filled_faults += cost.amount;
                let caller = stacks.leading(place).leading;
                stacks
                    .first(caller)
                    .into_iter()
                    .for_each(|frame| *pattern.filled_at.entry(frame).or_default() += cost.amount);
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
    }
    (all, under_way, damage)
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use memtoll_trace::event::{Block, Event};
    use memtoll_trace::ids::{Address, BlockNo, Bytes, ThreadNo, Units};
    use memtoll_trace::op::Op;

    /// Follows events of one thread; a site's number is its node.
    pub fn follow(grows: &[bool], events: &[Event]) -> Vec<Pattern> {
        follow_to_its_end(grows, events, Survivors::Kept)
    }

    fn follow_to_its_end(grows: &[bool], events: &[Event], survivors: Survivors) -> Vec<Pattern> {
        let watched: Vec<Watched> = grows.iter().map(|grows| Watched { grows: *grows, may_creep: true }).collect();
        let mut patterns = vec![Pattern::default(); watched.len()];
        let mut follower = Follower::new(&watched, &mut patterns, 0..800);
        events.iter().for_each(|event| follower.event(event, NodeId::or_zero(event.node)));
        follower.finish(survivors);
        patterns
    }

    pub fn event(op: Op, time: u64, node: u32, number: u64, size: u64) -> Event {
        let block = Block::Number(BlockNo(number));
        let (node, thread) = (NodeId::new(node), ThreadNo::FIRST);
        Event {
            time: Units(time),
            duration: Units(1),
            size: Bytes(size),
            address: Address(16 * number),
            block,
            node,
            thread,
            detail: 0,
            op,
        }
    }

    #[test]
    fn a_vector_that_grows_is_one_instance() {
        let mut events = Vec::new();
        let mut time = 0;
        let mut next = 0;
        for _ in 0..3 {
            for (step, size) in [8, 16, 32, 64].into_iter().enumerate() {
                time += 1;
                events.push(event(Op::MALLOC, time, 0, next, size));
                if step > 0 {
                    events.push(event(Op::FREE, time, 9, next - 1, 0));
                }
                next += 1;
            }
        }
        let of = &follow(&[true], &events)[0];
        assert_eq!((of.blocks, of.instances, of.steps, of.kept), (12, 3, 9, 3));
        assert_eq!((of.copied_bytes, of.quantile(0.5), of.most_live), (3 * 56, 64, 4));
        // The same blocks of something that does not grow.
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.instances, of.steps, of.copied_bytes), (12, 0, 0));
    }

    #[test]
    fn a_reallocation_is_a_step_and_copies_only_if_it_moves() {
        let half = Op::REALLOC.release_half();
        let stays = Event { address: Address::NULL, ..event(Op::REALLOC, 4, 0, 1, 32) };
        let events = [
            event(Op::MALLOC, 1, 0, 0, 8),
            event(half, 2, 0, 0, 0),
            stays,
            event(half, 5, 0, 1, 0),
            event(Op::REALLOC, 6, 0, 2, 64),
            event(Op::FREE, 7, 9, 2, 0),
        ];
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.instances, of.steps, of.in_place, of.copied_bytes), (1, 2, 1, 32));
        assert_eq!(of.quantile(1.0), 64);
    }

    #[test]
    fn text_that_is_copied_to_append_to_it_creeps() {
        let sizes = |sizes: &[u64]| {
            let each = sizes.iter().zip(0u64..);
            let events: Vec<Event> = each.map(|(size, n)| event(Op::MALLOC, n, 0, n, *size)).collect();
            let of = &follow(&[false], &events)[0];
            (of.creeping, of.crept_bytes, of.begun_again)
        };
        assert_eq!(sizes(&[100, 105, 110, 50, 55]), (3, 255, 1));
        assert_eq!(sizes(&[100, 100, 100]), (0, 0, 0), "of one size");
        assert_eq!(sizes(&[1000, 2000, 4000]), (0, 0, 0), "by doubling");
    }

    #[test]
    fn many_releases_in_a_row_are_a_bulk() {
        let acquire = |number: u64| event(Op::MALLOC, number, 0, number, 24);
        let release = |number: u64| event(Op::FREE, 200 + number, 9, number, 0);
        let all: Vec<Event> = (0..100).map(acquire).chain((0..100).map(release)).collect();
        assert_eq!(follow(&[false], &all)[0].in_bulk, 100);
        let pairs: Vec<Event> = (0..100).flat_map(|n| [acquire(n), release(n)]).collect();
        assert_eq!(follow(&[false], &pairs)[0].in_bulk, 0);
    }

    #[test]
    fn lots_that_go_as_a_whole_are_counted() {
        let lot = |first: u64| {
            let acquire = move |n: u64| event(Op::MALLOC, first + n, 0, first + n, 24);
            let release = move |n: u64| event(Op::FREE, first + 2000 + n, 9, first + n, 0);
            (0..2000).map(acquire).chain((0..2000).map(release))
        };
        let three: Vec<Event> = [0, 10_000, 20_000].into_iter().flat_map(lot).collect();
        assert_eq!(follow(&[false], &three)[0].drained, 6000);
        let pairs: Vec<Event> =
            (0..6000).flat_map(|n| [event(Op::MALLOC, n, 0, n, 24), event(Op::FREE, n, 9, n, 0)]).collect();
        assert_eq!(follow(&[false], &pairs)[0].drained, 0);
    }

    #[test]
    fn the_heap_is_played_through_without_each_site() {
        // Site 1's blocks come when site 0's are gone: without site 0, the heap is as large.
        let mut events: Vec<Event> = (0..10).map(|n| event(Op::MALLOC, n, 0, n, 1000)).collect();
        events.extend((0..10).map(|n| event(Op::FREE, 10 + n, 9, n, 0)));
        events.extend((10..20).map(|n| event(Op::MALLOC, 10 + n, 1, n, 1000)));
        let of = follow(&[false, false], &events);
        assert_eq!((of[0].heap_alone, of[1].heap_alone), (0, 0), "what one leaves, the other takes");
        let of = follow(&[false, false], &events[..15]);
        assert_eq!(of[0].heap_alone, 10 * heap_bytes(1000));
    }

    #[test]
    fn kept_blocks_tell_when_they_came() {
        let events: Vec<Event> = (0..8).map(|n| event(Op::MALLOC, n * 100, 0, n, 8)).collect();
        let of = &follow(&[false], &events)[0];
        assert_eq!((of.kept, of.kept_by_part, of.keeper_life), (8, [1; PARTS], 800));
        let of = &follow_to_its_end(&[false], &events, Survivors::Discarded)[0];
        assert_eq!((of.kept, of.kept_by_part, of.in_bulk), (0, [0; PARTS], 8), "exec discards them");
    }
}
