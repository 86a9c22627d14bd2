//! What is known of one image: from the file's sums, from its chapters, or from events.

use crate::chapters::chapters_of;
use crate::finer_chapters::{OfImage, Sliced};
use crate::uncharged_faults::HeapAndOtherFaults;
use memtoll_model::{Image, Recording};
use memtoll_tally::span::{self, Span};
use memtoll_tally::{Aggregator, Selection, Split, Threads};
use memtoll_trace::ids::{NodeId, ThreadNo, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::packed_sites::PackedSites;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings, Summary};
use std::ops::{ControlFlow, Range};

/// What is known of an image: by the image's own node ids, and what they are split by.
pub(super) struct Found {
    pub sites: FoundSites,
    pub beside: HeapAndOtherFaults,
    pub curve: LiveCurve,
    pub peak_time: u64,
    pub peak_with_mappings: Option<PeakWithMappings>,
}

/// Sums are hundreds of bytes long: those of the file stay as they were unpacked, those of spans are made one by one.
pub(super) enum FoundSites {
    /// With the thread that did it all, if sums are split by threads.
    Stored(PackedSites, Option<ThreadNo>),
    OfSpan(Box<span::Sites>),
    AddedUp(Vec<(Option<NodeId>, u64, Metrics)>),
}

/// Sites that a processor prices at a time, at least.
const SITES_OF_PART: usize = 1 << 14;

impl FoundSites {
    pub fn len(&self) -> usize {
        match self {
            FoundSites::Stored(stored, _) => stored.len(),
            FoundSites::OfSpan(sites) => sites.len(),
            FoundSites::AddedUp(added_up) => added_up.len(),
        }
    }

    /// Puts sites of one call stack next to each other, in an order that does not depend on where they come from.
    pub fn sort(&mut self) {
        match self {
            // One for each call stack.
            FoundSites::Stored(..) => {}
            FoundSites::OfSpan(sites) => sites.sort(),
            FoundSites::AddedUp(sites) => sites.sort_by_cached_key(|(node, of, _)| (*node, *of)),
        }
    }

    /// Parts that can be priced alone, in their order: each has all neighbours of one call stack.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let are_one = |place: usize| match self {
            // They are read one after the other.
            FoundSites::Stored(..) => true,
            FoundSites::OfSpan(sites) => sites.node(place - 1) == sites.node(place),
            FoundSites::AddedUp(sites) => sites[place - 1].0 == sites[place].0,
        };
        let (mut parts, mut from) = (Vec::new(), 0);
        while from < self.len() {
            let to = (from + SITES_OF_PART..self.len()).find(|place| !are_one(*place)).unwrap_or(self.len());
            parts.push(from..to);
            from = to;
        }
        parts
    }

    /// Calls `take` with each of a part. `is_cut_off` says of a node whether its stack is not complete.
    pub fn each(
        &self,
        part: Range<usize>,
        is_cut_off: impl Fn(Option<NodeId>) -> bool,
        mut take: impl FnMut(Option<NodeId>, u64, &Metrics),
    ) {
        match self {
            FoundSites::Stored(stored, thread) => {
                let of = thread.map_or(0, |thread| u64::from(thread.get()));
                stored.iter().skip(part.start).take(part.len()).for_each(|(node, counts)| take(node, of, &counts));
            }
            FoundSites::OfSpan(sites) => sites.each(part, |node, of, counts| {
                counts.cut_off = if is_cut_off(node) { counts.events } else { 0 };
                take(node, of, counts);
            }),
            FoundSites::AddedUp(sites) => sites[part].iter().for_each(|(node, of, counts)| take(*node, *of, counts)),
        }
    }

    /// Calls `take` with each.
    pub fn all(&self, is_cut_off: impl Fn(Option<NodeId>) -> bool, take: impl FnMut(Option<NodeId>, u64, &Metrics)) {
        self.each(0..self.len(), is_cut_off, take);
    }
}

pub(super) fn found_in(
    recording: &Recording,
    sliced: Option<&Sliced>,
    index: usize,
    selection: Selection,
    threads: &Threads,
    damage: &mut Vec<String>,
) -> Found {
    let asked = Asked { recording, index, selection, threads };
    let image = &recording.images[index];
    let beside = image.end.as_ref().map(|end| HeapAndOtherFaults::of(&end.kernel)).unwrap_or_default();
    let (by_stack, only_thread) = as_of_one_thread(image, selection, threads);
    let are_stored = *threads == Threads::All && by_stack.is_stored() && asked.are_all_paid_by(only_thread);
    let stored = if are_stored { recording.summary(index) } else { Ok(None) };
    if let Ok(Some(summary)) = stored {
        let Summary { sites, curve, peak_time, peak_with_mappings } = summary;
        let peak_with_mappings = Some(peak_with_mappings);
        return Found { sites: FoundSites::Stored(sites, only_thread), beside, curve, peak_time, peak_with_mappings };
    }
    damage.extend(stored.err().map(|why| why.to_string()));
    if let Some(chapters) = chapters_of(recording, index)
        && let slices = sliced.map(|sliced| (sliced, index))
        && let part = of_chapters(image, by_stack, threads)
        && let Ok(span) = span::add_up(&OfImage::sliced(&chapters, slices), &part)
    {
        return asked.of_span(span, only_thread, beside, damage);
    }
    // A chapter that is damaged is not missed: the events say all.
    let mut aggregator = Aggregator::of(selection, threads.clone());
    let read = recording.for_each_events(index, |events| {
        for event in events {
            aggregator.push(event);
        }
        match events.last() {
            Some(event) if event.time > selection.to => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    damage.extend(read.err().map(|why| why.to_string()));
    aggregator.settle();
    let beside = asked.costs(&mut aggregator, beside, damage);
    let sites = aggregator.sites(|node| recording.stacks.is_cut_off(image.node(node)));
    let sites = FoundSites::AddedUp(sites.filter(|(.., counts)| *counts != Metrics::default()).collect());
    let (peak_time, peak_with_mappings) = (aggregator.peak_time(), aggregator.peak_with_mappings());
    Found { sites, beside, curve: aggregator.curve(), peak_time, peak_with_mappings }
}

/// A selection without a split by threads, and whose all of its events are, if it had one and the image has a single thread.
fn as_of_one_thread(image: &Image, selection: Selection, threads: &Threads) -> (Selection, Option<ThreadNo>) {
    match image.threads.as_slice() {
        [only] if selection.split == Split::Thread && threads.admit(only.number) => {
            (Selection { split: Split::None, ..selection }, Some(only.number))
        }
        _ => (selection, None),
    }
}

/// What chapters are asked for.
fn of_chapters(image: &Image, selection: Selection, threads: &Threads) -> memtoll_tally::Part {
    match image.threads.as_slice() {
        [only] if threads.admit(only.number) => memtoll_tally::Part::all(selection),
        _ => memtoll_tally::Part::of(selection, threads.clone()),
    }
}

/// What is asked of an image.
struct Asked<'a> {
    recording: &'a Recording,
    index: usize,
    selection: Selection,
    threads: &'a Threads,
}

impl Asked<'_> {
    /// Whether no other thread paid for what is charged to call sites: one that never calls the allocator has no number. Always so
    /// if it does not matter which thread paid.
    fn are_all_paid_by(&self, thread: Option<ThreadNo>) -> bool {
        let Some(thread) = thread else { return true };
        let mut are_all = true;
        let read = self.recording.for_each_cost_between(self.index, Units::ZERO, Units::MAX, |cost| {
            are_all &= cost.node.is_none() || cost.thread == Some(thread);
        });
        read.is_ok() && are_all
    }

    /// Adds the costs that count. Returns what was paid beside them: `all` of a whole process.
    fn costs(&self, to: &mut Aggregator, all: HeapAndOtherFaults, damage: &mut Vec<String>) -> HeapAndOtherFaults {
        let Asked { recording, index, selection, threads } = self;
        let mut seen = HeapAndOtherFaults::default();
        let read = recording.for_each_cost_between(*index, selection.from, selection.to, |cost| {
            if threads.admit(cost.thread) {
                seen.cost(cost, selection);
            }
            to.cost(cost);
        });
        damage.extend(read.err().map(|why| why.to_string()));
        let is_whole = **threads == Threads::All && !selection.is_part() && recording.images[*index].end.is_some();
        if is_whole { all } else { seen }
    }

    /// The sums of a span of time, with their costs. All events are `thread`'s, if there is one.
    fn of_span(
        self,
        span: Span,
        thread: Option<ThreadNo>,
        beside: HeapAndOtherFaults,
        damage: &mut Vec<String>,
    ) -> Found {
        let Asked { selection, threads, .. } = self;
        let mut costs = Aggregator::of(selection, threads.clone());
        let beside = self.costs(&mut costs, beside, damage);
        let Span { mut sites, curve, peak_time, peak_with_mappings } = span;
        thread.iter().for_each(|thread| sites.are_of(*thread));
        costs.sites(|_| false).for_each(|(node, of, costs)| sites.add(node, of, &costs));
        let peak_with_mappings =
            Some(peak_with_mappings).filter(|_| *threads == Threads::All && selection.is_of_all_sizes());
        Found { sites: FoundSites::OfSpan(Box::new(sites)), beside, curve, peak_time, peak_with_mappings }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;
    use memtoll_trace::ids::Bytes;
    use std::collections::BTreeMap;

    /// By node and thread: allocated blocks, their bytes, freed blocks, page faults.
    type Counts = BTreeMap<(Option<NodeId>, u64), (u64, Bytes, u64, u64)>;

    fn counts(recording: &Recording, index: usize, threads: &Threads) -> (bool, Counts) {
        let selection = Selection { split: Split::Thread, ..Selection::default() };
        let found = found_in(recording, None, index, selection, threads, &mut Vec::new());
        let mut counts = Counts::new();
        found.sites.all(
            |_| false,
            |node, thread, of| {
                let numbers = (of.new_blocks, of.bytes, of.frees, of.small_faults);
                if numbers != (0, Bytes::ZERO, 0, 0) {
                    assert!(counts.insert((node, thread), numbers).is_none());
                }
            },
        );
        (matches!(found.sites, FoundSites::Stored(..)), counts)
    }

    /// Sites of nodes 1 to 3, each as many times as it says, and of others once.
    fn added_up(counts: [usize; 3], others: usize) -> FoundSites {
        let site = |node: usize, of: usize| (NodeId::new(node as u32), of as u64, Metrics::default());
        let several = (1..=3).zip(counts).flat_map(|(node, count)| (0..count).map(move |of| site(node, of)));
        FoundSites::AddedUp(several.chain((4..4 + others).map(|node| site(node, 0))).collect())
    }

    #[test]
    fn each_site_is_in_one_part_with_all_of_its_call_stack() {
        const N: usize = SITES_OF_PART;
        for (counts, others, parts) in [
            ([0, 0, 0], 0, vec![]),
            ([0, 0, 0], N, vec![N]),
            ([0, 0, 0], 2 * N + 1, vec![N, N, 1]),
            ([N - 1, 7, 1], N, vec![N + 6, N, 1]),
            ([5, 2 * N, 0], 0, vec![2 * N + 5]),
        ] {
            let sites = added_up(counts, others);
            let found = sites.parts();
            assert_eq!(found.iter().map(Range::len).collect::<Vec<_>>(), parts, "{counts:?}, {others}");
            let (mut all, mut by_part) = (Vec::new(), Vec::new());
            sites.all(|_| false, |node, of, _| all.push((node, of)));
            found.into_iter().for_each(|part| sites.each(part, |_| false, |node, of, _| by_part.push((node, of))));
            assert_eq!(all, by_part);
        }
    }

    #[test]
    fn sorted_sites_of_one_call_stack_follow_each_other() {
        let mut sites = added_up([2, 2, 0], 1);
        if let FoundSites::AddedUp(all) = &mut sites {
            all.reverse();
            all.swap(1, 3);
        }
        sites.sort();
        let mut found = Vec::new();
        sites.all(|_| false, |node, of, _| found.push((node.map_or(0, NodeId::get), of)));
        assert_eq!(found, [(1, 0), (1, 1), (2, 0), (2, 1), (4, 0)]);
    }

    #[test]
    fn the_sums_of_a_single_thread_are_those_of_its_process() {
        let (mut stored, mut read) = (0, 0);
        for name in ["costs", "forks", "tiny"] {
            let recording = golden(name);
            for (index, image) in recording.images.iter().enumerate() {
                let (are_stored, of_process) = counts(&recording, index, &Threads::All);
                let [thread] = image.threads.as_slice() else {
                    assert!(!are_stored, "{name}: {index}");
                    continue;
                };
                let only = Threads::Only([thread.number].into_iter().collect());
                let (is_stored, of_thread) = counts(&recording, index, &only);
                assert!(!is_stored);
                if are_stored {
                    assert_eq!(of_process, of_thread, "{name}: {index}");
                    stored += 1;
                } else {
                    assert_ne!(of_process, of_thread, "{name}: {index}");
                    read += 1;
                }
            }
        }
        assert!(stored > 0, "stored: {stored}, read: {read}");
    }
}
