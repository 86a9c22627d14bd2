//! What is settled for the call sites of an image over the whole recording.

use crate::sums::each_counted;
use crate::tariff::Tariff;
use memtoll_metrics::Settled;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::{Charge, Selection, Threads};
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::metrics::Metrics;

/// The shares by which each call site of image number `index` divides its prices.
pub(crate) fn settled<'a>(
    recording: &'a Recording,
    index: usize,
    charge: Charge,
    tariff: &Tariff,
) -> Option<&'a SettledSites> {
    let settle = |sites: &mut SettledSites| {
        let whole = Selection { charge, ..Selection::default() };
        let insert = |node: Option<NodeId>, site: &Metrics| sites.insert(node, tariff.settle(site, charge));
        each_counted(recording, index, whole, &Threads::All, insert);
    };
    recording.settled(index, charge, settle)
}

/// The same for groups of call sites, for their blocks of `sizes` and `threads`, so that the parts of a group add up to its sites. `of`
/// says which one of `count` a site is in.
pub(crate) fn settled_of_groups(
    recording: &Recording,
    index: usize,
    (sizes, threads): (Selection, &Threads),
    tariff: &Tariff,
    count: usize,
    of: impl Fn(Option<NodeId>) -> usize,
) -> Option<Vec<Settled>> {
    let sites = settled(recording, index, sizes.charge, tariff)?;
    let whole = Selection { from: Units::ZERO, to: Units::MAX, ..sizes };
    let mut groups = vec![Settled::default(); count];
    each_counted(recording, index, whole, threads, |node, counts| {
        let group = &mut groups[of(node)];
        *group = group.with(tariff.settled_part(counts, sites.get(node).unwrap_or_default()));
    });
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;
    use memtoll_trace::ids::Bytes;

    #[test]
    fn a_group_has_what_its_sites_have_of_some_sizes() {
        let recording = golden("costs");
        let tariff = Tariff::of(&recording);
        let all = Selection::default();
        let some = Selection { max_size: Bytes(4096), ..all };
        let sites = settled(&recording, 0, Charge::Allocation, &tariff).unwrap();
        let (mut together, mut sum) = (Metrics::default(), 0);
        each_counted(&recording, 0, some, &Threads::All, |node, counts| {
            together.add(counts);
            sum += tariff.price_part(counts, sites.get(node).unwrap_or_default()).allocator_ns.0;
        });
        let priced = |selection| {
            let groups = settled_of_groups(&recording, 0, (selection, &Threads::All), &tariff, 1, |_| 0).unwrap();
            tariff.price_part(&together, groups[0]).allocator_ns.0
        };
        // Each site is rounded to ns.
        assert!(priced(some).abs_diff(sum) < 20, "{} {sum}", priced(some));
        assert!(priced(all).abs_diff(sum) > 1000, "{} {sum}", priced(all));
    }
}
