//! What is settled for the call sites of an image over the whole recording.

use crate::finer_chapters::Sliced;
use crate::sums::each_counted;
use crate::tariff::{Overdraft, Tariff};
use memtoll_metrics::Settled;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::{Charge, Selection, Threads};
use memtoll_trace::ids::NodeId;

/// The shares by which each call site of image number `index` divides its prices.
pub(crate) fn settled<'a>(
    recording: &'a Recording,
    index: usize,
    charge: Charge,
    tariff: &Tariff,
) -> Option<&'a SettledSites> {
    let settle = |sites: &mut SettledSites| {
        let whole = Selection { charge, ..Selection::default() };
        let mut overdraft = Overdraft::default();
        each_counted(recording, None, index, whole, &Threads::All, |node, site| {
            overdraft = overdraft.with(tariff.overdraft(site));
            sites.insert(node, tariff.settle(site, charge));
        });
        let left = overdraft.left();
        sites.change(|settled| settled.with_share_beyond(left));
    };
    recording.settled(index, charge, settle)
}

/// The same for groups of call sites, for their blocks in `selection` and of `threads`, so that the parts of a group add up to its
/// sites. `of` says which one of `count` a site is in.
pub(crate) fn settled_of_groups(
    recording: &Recording,
    (index, sliced): (usize, Option<&Sliced>),
    (selection, threads): (Selection, &Threads),
    tariff: &Tariff,
    count: usize,
    of: impl Fn(Option<NodeId>) -> usize,
) -> Option<Vec<Settled>> {
    let sites = settled(recording, index, selection.charge, tariff)?;
    let mut groups = vec![Settled::default(); count];
    each_counted(recording, sliced, index, selection, threads, |node, counts| {
        let group = &mut groups[of(node)];
        *group = group.with(tariff.settled_part(counts, sites.get(node).unwrap_or_default()));
    });
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;
    use crate::sums::sums;
    use crate::testing::golden;
    use memtoll_tally::Split;
    use memtoll_trace::ids::Bytes;
    use memtoll_trace::ids::Units;
    use memtoll_trace::metrics::Metrics;

    #[test]
    fn a_group_has_what_its_sites_have_of_some_sizes() {
        let recording = golden("costs");
        let tariff = Tariff::of(&recording);
        let all = Selection::default();
        let some = Selection { max_size: Bytes(4096), ..all };
        let sites = settled(&recording, 0, Charge::Allocation, &tariff).unwrap();
        let (mut together, mut sum) = (Metrics::default(), 0);
        each_counted(&recording, None, 0, some, &Threads::All, |node, counts| {
            together.add(counts);
            sum += tariff.price_part(counts, sites.get(node).unwrap_or_default()).allocator_ns.0;
        });
        let priced = |selection| {
            let groups =
                settled_of_groups(&recording, (0, None), (selection, &Threads::All), &tariff, 1, |_| 0).unwrap();
            tariff.price_part(&together, groups[0]).allocator_ns.0
        };
        // Each site is rounded to ns.
        assert!(priced(some).abs_diff(sum) < 20, "{} {sum}", priced(some));
        assert!(priced(all).abs_diff(sum) > 1000, "{} {sum}", priced(all));
    }

    #[test]
    fn the_allocator_takes_the_same_charged_either_way() {
        for name in ["costs", "forks", "tiny"] {
            let recording = golden(name);
            let [asked, paid] = [Charge::Allocation, Charge::Payment]
                .map(|charge| sums(&recording, Selection { charge, ..Selection::default() }));
            let [by_asked, by_paid] = [&asked, &paid].map(|sums| sums.total.allocator_ns.0);
            // Each site is rounded to ns.
            let rounded = (asked.sites.len() + paid.sites.len()) as u64;
            assert!(by_asked.abs_diff(by_paid) <= rounded, "{name}: {by_asked} by who asked, {by_paid} by who paid");
        }
    }

    #[test]
    fn parts_by_thread_and_size_add_up_to_their_sites() {
        for name in ["costs", "forks", "tiny"] {
            let recording = golden(name);
            let end = Units(recording.ended());
            let spans = [(Units::ZERO, Units::MAX), (Units(end.0 / 3), Units(end.0 / 2))];
            for ((from, to), split) in
                spans.into_iter().flat_map(|span| [Split::Thread, Split::Size].map(|by| (span, by)))
            {
                let selection = Selection { from, to, ..Selection::default() };
                let [parts, whole] =
                    [split, Split::None].map(|split| sums(&recording, Selection { split, ..selection }).total);
                for metric in [
                    Metric::Allocator,
                    Metric::FaultTime,
                    Metric::Zeroing,
                    Metric::Mapping,
                    Metric::Waiting,
                    Metric::Touched,
                ] {
                    let [parts, whole] = [&parts, &whole].map(|priced| metric.value(priced));
                    assert_eq!(parts, whole, "{name}, {metric:?} by {split:?}, {from:?}");
                }
            }
        }
    }
}
