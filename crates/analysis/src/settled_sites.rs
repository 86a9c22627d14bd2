//! What is settled for the call sites of an image over the whole recording.

use crate::sums::each_of_whole_image;
use crate::tariff::Tariff;
use memtoll_metrics::Settled;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::Charge;
use memtoll_trace::ids::NodeId;

/// The shares by which each call site of image number `index` divides its prices.
pub(crate) fn settled<'a>(
    recording: &'a Recording,
    index: usize,
    charge: Charge,
    tariff: &Tariff,
) -> Option<&'a SettledSites> {
    let settle = |sites: &mut SettledSites| {
        each_of_whole_image(recording, index, charge, |node, site| sites.insert(node, tariff.settle(site, charge)));
    };
    recording.settled(index, charge, settle)
}

/// The same for groups of call sites, so that the parts of a group add up to its sites. `of` says which one of `count` a site is in.
pub(crate) fn settled_of_groups(
    recording: &Recording,
    index: usize,
    charge: Charge,
    tariff: &Tariff,
    count: usize,
    of: impl Fn(Option<NodeId>) -> usize,
) -> Option<Vec<Settled>> {
    let sites = settled(recording, index, charge, tariff)?;
    let mut groups = vec![Settled::default(); count];
    for (node, site) in sites.iter() {
        let group = &mut groups[of(node)];
        *group = group.with(site);
    }
    Some(groups)
}
