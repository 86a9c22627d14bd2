//! A metric in equal intervals, divided among groups of call stacks: among functions or types.
//!
//! Amounts are those of each interval; a thread pays for a wait while it waits. Of what is live, it is what each group had when most
//! was live in the interval, so the groups add up to the highest number of live bytes, which [`crate::timeline`] has. Each process
//! counts by itself, as there.

use crate::chapters::chapters_of;
use crate::finer_chapters::{OfImage, Sliced};
use crate::metric::{Metric, Seen, Together};
use crate::parallel;
use crate::priced::Priced;
use crate::process_ends::ended;
use crate::settled_sites::settled_of_groups;
use crate::tariff::{Remainders, Tariff};
use crate::thread_filter::ThreadFilter;
use crate::timeline::cells_of;
use memtoll_model::{Chapters, Recording, StackId};
use memtoll_tally::span::{Groups, Live, Slice, group_of};
use memtoll_tally::{Charge, Part, Select, Selection, Split};
use memtoll_trace::costs::Cost;
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;

/// What an interval has of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Amount {
    /// What happens in it.
    During,
    /// What is live when most is.
    Live,
}

impl Amount {
    /// What an interval has of this metric; `None`: the metric has no values over time that add up.
    pub fn of(metric: Metric) -> Option<Amount> {
        let about = metric.about();
        match (metric, about.together) {
            (Metric::Peak | Metric::Live | Metric::LiveBlocks, _) => Some(Amount::Live),
            (_, Together::Sum) if !matches!(about.seen, Seen::Pages | Seen::Units | Seen::Search) => {
                Some(Amount::During)
            }
            _ => None,
        }
    }
}

/// The groups of a recording's call stacks. The last one is of those that do not count.
pub struct Grouped {
    of_stack: Vec<u8>,
    count: usize,
}

impl Grouped {
    /// `count` groups (at most 254); a stack is in group `of`, or does not count.
    pub fn new(recording: &Recording, count: usize, mut of: impl FnMut(StackId) -> Option<usize>) -> Grouped {
        let of_stack = recording.stacks.ids().map(|stack| of(stack).unwrap_or(count) as u8).collect();
        Grouped { of_stack, count }
    }

    fn of(&self, stack: StackId) -> usize {
        self.of_stack.get(stack.index()).map_or(self.count, |group| usize::from(*group))
    }
}

/// What is asked.
pub struct Asked<'a> {
    pub metric: Metric,
    pub amount: Amount,
    /// Its times do not matter: all intervals count.
    pub selection: Selection,
    pub thread_filter: &'a ThreadFilter,
    /// The times between intervals, in ascending order, with the begin of the first one and the end of the last one, units.
    pub cuts: &'a [u64],
    pub groups: &'a Grouped,
    /// Slices of the recording, if there are some: if it is cut at all of these times, no events are read.
    pub sliced: Option<&'a Sliced>,
}

/// The metric's values.
#[derive(Default)]
pub struct Stacked {
    /// Of each group, those in all intervals.
    pub groups: Vec<Vec<u64>>,
    /// By how much each may be off by chance, in the metric's unit squared.
    pub variances: Vec<Vec<f64>>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// Divides a metric among groups.
pub fn stacked(recording: &Recording, asked: &Asked) -> Stacked {
    let Asked { cuts, groups: Grouped { count, .. }, .. } = *asked;
    let Some(cells) = cuts.len().checked_sub(1).filter(|cells| *cells > 0) else { return Stacked::default() };
    let tariff = Tariff::of(recording);
    let (groups, variances) = (vec![vec![0; cells]; *count], vec![vec![0.0; cells]; *count]);
    let mut found = Stacked { groups, variances, damage: Vec::new() };
    let last = cuts[cells].saturating_sub(1);
    let selection = Selection { from: Units::ZERO, to: Units(last), split: Split::None, ..asked.selection };
    // All of the recording is no part of it.
    let end = if last >= recording.ended() { Units::MAX } else { selection.to };
    let span = Selection { from: Units(cuts[0]), to: end, ..selection };
    let is_plain = selection.charge == Charge::Allocation && selection.is_of_all_sizes();
    let sliced = asked.sliced.filter(|sliced| is_plain && sliced.is_cut_at(cuts, recording.ended()));
    for (index, image) in recording.images.iter().enumerate() {
        let Some(threads) = asked.thread_filter.of(index) else { continue };
        if asked.metric.about().seen == Seen::Frees && !image.own_allocators.show_frees() {
            continue;
        }
        let of = |node: Option<NodeId>| asked.groups.of(image.node(node));
        let shares = settled_of_groups(recording, (index, sliced), (span, threads), &tariff, count + 1, of);
        let mut remainders = vec![Remainders::default(); *count];
        let part = Part::of(selection, threads.clone());
        let image = OfGroups { recording, index, part, groups: Groups { count: count + 1, of }, cuts, sliced };
        let ended = ended(recording, index);
        image.each_cell(&mut found.damage, |cell, has| {
            if asked.amount == Amount::Live && cuts[cell] > ended {
                return;
            }
            for (group, values) in found.groups.iter_mut().enumerate() {
                let value = match (asked.amount, has) {
                    (Amount::During, has) => {
                        let priced = match (has, &shares) {
                            (Has::Happened(counts), Some(shares)) => {
                                tariff.price_next_part(&counts[group], shares[group], &mut remainders[group])
                            }
                            (Has::Happened(counts), None) => tariff.price_alone(&counts[group]),
                            (Has::Stayed(_), _) => Priced::default(),
                        };
                        found.variances[group][cell] += tariff.variance(asked.metric, &priced);
                        asked.metric.value(&priced)
                    }
                    (Amount::Live, has) => {
                        let (bytes, blocks) = has.at_highest(group);
                        if asked.metric == Metric::LiveBlocks { blocks } else { bytes.0 }
                    }
                };
                values[cell] = values[cell].wrapping_add(value);
            }
        });
    }
    found
}

/// What the groups of an image have in a cell.
#[derive(Clone, Copy)]
enum Has<'a> {
    /// What was live before, and nothing happens.
    Stayed(&'a [Live]),
    /// Peaks are a group's part of the highest number of live bytes.
    Happened(&'a [Metrics]),
}

impl Has<'_> {
    fn at_highest(self, group: usize) -> Live {
        match self {
            Has::Stayed(live) => live[group],
            Has::Happened(counts) => (counts[group].peak_bytes, counts[group].peak_blocks),
        }
    }
}

/// An image whose call stacks are in groups.
struct OfGroups<'a, F> {
    recording: &'a Recording,
    index: usize,
    part: Part,
    groups: Groups<F>,
    cuts: &'a [u64],
    sliced: Option<&'a Sliced>,
}

impl<F: Fn(Option<NodeId>) -> usize + Sync> OfGroups<'_, F> {
    /// Calls `take` with what the groups have in each cell, one after the other. What is missing is added to `damage`.
    fn each_cell(&self, damage: &mut Vec<String>, take: impl FnMut(usize, Has)) {
        let Self { recording, index, part, groups, cuts, .. } = self;
        let chapters = chapters_of(recording, *index);
        // If chapters are damaged, read all events.
        let from_chapters = chapters.and_then(|chapters| self.cut_chapters(&chapters).ok().flatten());
        let (live, slices) = from_chapters.unwrap_or_else(|| {
            let cut = groups.cut_events(part, cuts, |take| recording.for_each_events(*index, take));
            damage.extend(cut.as_ref().err().map(|why| why.to_string()));
            (vec![Live::default(); groups.count], cut.unwrap_or_default())
        });
        let mut costs: Costs = FxHashMap::default();
        let read = recording.for_each_cost_between(*index, Units(cuts[0]), part.to(), |cost: &Cost| {
            let Some(group) = part.charged(cost).map(|node| (groups.of)(Some(node))) else { return };
            for (cell, from, to) in cells_of(cuts, cost) {
                let counts = costs.entry(cell).or_insert_with(|| vec![Metrics::default(); groups.count]);
                cost.add_to(from, to, &mut counts[group]);
            }
        });
        damage.extend(read.err().map(|why| why.to_string()));
        in_cells(live, &slices, cuts, costs, take);
    }

    /// What is live of each group before the chapters that the intervals meet, and the slices of these; `None`: chapters do not tell.
    fn cut_chapters(&self, chapters: &Chapters) -> Result<Option<Cut>, Unreadable> {
        let (from, to) = (self.cuts[0], self.part.to().0);
        let times = chapters.times();
        let begin = times.partition_point(|(_, last)| *last < from);
        let end = begin + times[begin..].partition_point(|(first, _)| *first <= to);
        let of_image = &OfImage::plain(chapters);
        let read = |sum: &mut Vec<_>, number: usize| {
            sum.push((number, self.groups.changes(of_image, number, &self.part)?));
            Ok(())
        };
        let mut changes = parallel::fold(end, read, |sum: &mut Vec<_>, other: Vec<_>| sum.extend(other))?;
        changes.sort_unstable_by_key(|(number, _)| *number);
        let mut before = vec![vec![Live::default(); self.groups.count]];
        for (_, changes) in changes {
            let Some(changes) = changes else { return Ok(None) };
            let now = before.last().into_iter().flatten().zip(changes).map(|(live, by)| plus(*live, by)).collect();
            before.push(now);
        }
        let cut = |sum: &mut Vec<_>, at: usize| {
            let number = begin + at;
            let known = self.sliced.filter(|_| self.part.is_of_slices()).and_then(|of| of.of(self.index, number));
            sum.push((
                number,
                match known {
                    Some(slices) => self.groups.join(&slices, &self.part, &before[number]),
                    None => self.groups.cut_chapter(of_image, number, &self.part, &before[number], self.cuts)?,
                },
            ));
            Ok(())
        };
        let mut slices = parallel::fold(end - begin, cut, |sum: &mut Vec<_>, other: Vec<_>| sum.extend(other))?;
        slices.sort_unstable_by_key(|(number, _)| *number);
        Ok(Some((before.swap_remove(begin), slices.into_iter().flat_map(|(_, slices)| slices).collect())))
    }
}

fn plus((bytes, blocks): Live, (more_bytes, more_blocks): Live) -> Live {
    (bytes.wrapping_add(more_bytes), blocks.wrapping_add(more_blocks))
}

/// What is live of each group before the slices, and these.
type Cut = (Vec<Live>, Vec<Slice>);

/// What the groups paid in each cell.
type Costs = FxHashMap<usize, Vec<Metrics>>;

/// Puts slices into cells. `live` is what each group has before the first one.
fn in_cells(mut live: Vec<Live>, slices: &[Slice], cuts: &[u64], mut costs: Costs, mut take: impl FnMut(usize, Has)) {
    let begin = slices.partition_point(|slice| slice.times.0 < cuts[0]);
    slices[..begin].iter().for_each(|slice| changes(&mut live, slice));
    let mut slices = slices[begin..].iter().peekable();
    for (cell, ends) in cuts[1..].iter().enumerate() {
        let is_here = |slice: &&Slice| slice.times.0 < *ends;
        let paid = costs.remove(&cell);
        if paid.is_none() && !slices.peek().is_some_and(is_here) {
            take(cell, Has::Stayed(&live));
            continue;
        }
        let mut counts = paid.unwrap_or_else(|| vec![Metrics::default(); live.len()]);
        counts.iter_mut().zip(&live).for_each(|(counts, (_, blocks))| counts.live_before = *blocks);
        let (mut highest, mut peak) = (None, live.clone());
        while let Some(slice) = slices.next_if(is_here) {
            if highest.is_none_or(|highest| slice.highest > highest) {
                highest = Some(slice.highest);
                peak.clone_from(&live);
                let shares = slice.sites.iter().map(|(node, metrics)| (group_of(*node), metrics));
                shares.for_each(|(group, metrics)| peak[group] = (metrics.peak_bytes, metrics.peak_blocks));
            }
            slice.sites.iter().for_each(|(node, metrics)| counts[group_of(*node)].add(metrics));
            changes(&mut live, slice);
        }
        for ((counts, peak), live) in counts.iter_mut().zip(peak).zip(&live) {
            (counts.peak_bytes, counts.peak_blocks) = peak;
            (counts.live_bytes, counts.live_blocks) = *live;
        }
        take(cell, Has::Happened(&counts));
    }
}

fn changes(live: &mut [Live], slice: &Slice) {
    for (node, metrics) in &slice.sites {
        let live = &mut live[group_of(*node)];
        *live = plus(*live, (metrics.live_bytes, metrics.live_blocks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sums::{Sums, sums_of};
    use crate::testing::golden;
    use crate::timeline::{Grid, timeline};
    use memtoll_trace::costs::CostKind;
    use memtoll_trace::ids::Bytes;

    const GROUPS: usize = 3;

    fn found(recording: &Recording, metric: Metric, thread_filter: &ThreadFilter, span: (u64, u64)) -> Vec<Vec<u64>> {
        found_of(recording, metric, Selection::default(), thread_filter, span)
    }

    fn found_of(
        recording: &Recording,
        metric: Metric,
        selection: Selection,
        thread_filter: &ThreadFilter,
        span: (u64, u64),
    ) -> Vec<Vec<u64>> {
        let groups = Grouped::new(recording, GROUPS, |stack| Some(stack.index() % GROUPS));
        let cuts = Grid::of(span.0, span.1, 100).cuts();
        let amount = Amount::of(metric).unwrap();
        let asked = Asked { metric, amount, selection, thread_filter, cuts: &cuts, groups: &groups, sliced: None };
        let found = stacked(recording, &asked);
        assert_eq!(found.damage, Vec::<String>::new());
        assert!(found.groups.iter().all(|values| values.len() == cuts.len() - 1));
        found.groups
    }

    fn added(groups: &[Vec<u64>]) -> Vec<u64> {
        (0..groups[0].len()).map(|cell| groups.iter().map(|values| values[cell]).sum()).collect()
    }

    #[test]
    fn what_was_sampled_has_variances_and_what_was_counted_has_none() {
        let mut recording = golden("costs");
        let end = recording.ended();
        let groups = |stack: StackId| Some(stack.index() % GROUPS);
        let found = |recording: &Recording| {
            let groups = Grouped::new(recording, GROUPS, groups);
            let (thread_filter, cuts) = (ThreadFilter::default(), Grid::of(0, end, 100).cuts());
            let (metric, selection) = (Metric::Faults, Selection::default());
            let amount = Amount::of(metric).unwrap();
            let asked = Asked {
                metric,
                amount,
                selection,
                thread_filter: &thread_filter,
                cuts: &cuts,
                groups: &groups,
                sliced: None,
            };
            stacked(recording, &asked)
        };
        assert_eq!(found(&recording).variances.concat().iter().sum::<f64>(), 0.0);
        // As if one of 17 faults had been seen.
        recording.kernel.faults_error = (recording.kernel.faults_seen as f64 * 16.0).sqrt();
        let Stacked { groups, variances, .. } = found(&recording);
        let expected = groups.concat().iter().sum::<u64>() as f64 * 16.0;
        assert!(expected > 0.0 && (variances.concat().iter().sum::<f64>() / expected - 1.0).abs() < 1e-6);
    }

    #[test]
    fn groups_add_up_to_the_time_line() {
        let all = ThreadFilter::default();
        for name in ["tiny", "costs", "forks", "killed"] {
            let recording = golden(name);
            let end = recording.ended();
            for span in [(0, end), (end / 3, end / 2), (end / 2, end)] {
                let line = timeline(&recording, span.0, span.1, 100, &all);
                let column =
                    |of: fn(&crate::timeline::Interval) -> u64| line.intervals.iter().map(of).collect::<Vec<u64>>();
                let groups = found(&recording, Metric::Peak, &all, span);
                assert_eq!(added(&groups), column(|interval| interval.highest), "{name}, live bytes of {span:?}");
                let groups = found(&recording, Metric::Allocations, &all, span);
                assert_eq!(added(&groups), column(|interval| interval.allocations), "{name}, allocations of {span:?}");
                assert_eq!(added(&found(&recording, Metric::Bytes, &all, span)), column(|interval| interval.bytes));
            }
        }
    }

    #[test]
    fn intervals_add_up_to_the_sums_of_each_group() {
        for name in ["costs", "forks"] {
            let recording = golden(name);
            let all = Selection::default();
            let some = [
                (all, ThreadFilter::default()),
                (all, ThreadFilter::images(&recording, |image| image == 0)),
                (Selection { min_size: Bytes(64), max_size: Bytes(1024), ..all }, ThreadFilter::default()),
                (Selection { min_size: Bytes(1025), ..all }, ThreadFilter::default()),
            ];
            let end = recording.ended();
            let spans = [(0, end), (end / 3, end / 2)];
            for ((selection, filter), span) in some.iter().flat_map(|some| spans.map(|span| (some, span))) {
                let cuts = Grid::of(span.0, span.1, 100).cuts();
                let to = if span.1 == end { Units::MAX } else { Units(cuts[cuts.len() - 1] - 1) };
                let sums: Sums =
                    sums_of(&recording, Selection { from: Units(cuts[0]), to, ..*selection }, filter.clone());
                for metric in [
                    Metric::Allocations,
                    Metric::Bytes,
                    Metric::Frees,
                    Metric::Freed,
                    Metric::Temporary,
                    Metric::Faults,
                    Metric::Allocator,
                    Metric::Cost,
                    Metric::Waiting,
                ] {
                    // The older file does not say of costs which call they are inside: they can count in another interval.
                    if name == "costs" && matches!(metric, Metric::Cost | Metric::Allocator) {
                        continue;
                    }
                    let groups = found_of(&recording, metric, *selection, filter, span);
                    let mut expected = vec![0; GROUPS];
                    for site in &sums.sites {
                        expected[site.node.index() % GROUPS] += metric.value(&site.metrics());
                    }
                    let totals: Vec<u64> = groups.iter().map(|values| values.iter().sum()).collect();
                    let rounded = match metric {
                        // Each site is rounded to ns, each kind of cost by itself.
                        Metric::Allocator | Metric::Waiting => sums.sites.len() as u64 / 2 + 1,
                        Metric::Cost => (sums.sites.len() as u64 / 2 + 1) * 5,
                        _ => 0,
                    };
                    let are_equal = totals.iter().zip(&expected).all(|(total, sum)| total.abs_diff(*sum) <= rounded);
                    assert!(are_equal, "{name}, {span:?}: {metric:?} {totals:?} {expected:?}");
                }
            }
        }
    }

    /// What lasts is cut at the ends of a span as at those of intervals.
    #[test]
    fn an_interval_has_what_sums_of_its_time_have() {
        let mut crossing = 0;
        for name in ["costs", "forks"] {
            let recording = golden(name);
            let all = ThreadFilter::default();
            let cuts = Grid::of(0, recording.ended(), 100).cuts();
            let groups = Grouped::new(&recording, GROUPS, |stack| Some(stack.index() % GROUPS));
            for image in 0..recording.images.len() {
                let crosses = |cost: &Cost| cost.kind == CostKind::Mapping && cells_of(&cuts, cost).count() > 1;
                recording.for_each_cost(image, |cost| crossing += u64::from(crosses(cost))).unwrap();
            }
            for metric in [Metric::Faults, Metric::Mapping, Metric::Waiting, Metric::Reading] {
                let selection = Selection::default();
                let asked = Asked {
                    metric,
                    amount: Amount::During,
                    selection,
                    thread_filter: &all,
                    cuts: &cuts,
                    groups: &groups,
                    sliced: None,
                };
                let found = added(&stacked(&recording, &asked).groups);
                for (cell, has) in cuts.windows(2).zip(found) {
                    let selection = Selection { from: Units(cell[0]), to: Units(cell[1] - 1), ..selection };
                    let sums = sums_of(&recording, selection, all.clone());
                    let expected = metric.value(&sums.total);
                    // Each site is rounded to ns.
                    let rounded = sums.sites.len() as u64 * 5;
                    assert!(has.abs_diff(expected) <= rounded, "{name}: {metric:?} of {cell:?}: {has}, {expected}");
                }
            }
        }
        assert!(crossing > 0);
    }

    #[test]
    fn what_has_no_parts_over_time_is_not_divided() {
        let divided = |metric: Metric| Amount::of(metric).is_some();
        assert!(
            [Metric::Cost, Metric::Faults, Metric::Live, Metric::LiveBlocks, Metric::Waiting].into_iter().all(divided)
        );
        assert!(
            ![Metric::Lifetime, Metric::Largest, Metric::Resident, Metric::Pinned, Metric::Lost]
                .into_iter()
                .any(divided)
        );
    }
}
