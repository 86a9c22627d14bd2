//! What is settled for the call sites of an image over the whole recording.

use crate::sums::each_of_whole_image;
use crate::tariff::Tariff;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::Charge;

/// The shares by which each call site of image number `index` divides its prices. `None` unless allocations are charged: files have
/// sums of whole recordings only for these.
pub(crate) fn settled<'a>(
    recording: &'a Recording,
    index: usize,
    charge: Charge,
    tariff: &Tariff,
) -> Option<&'a SettledSites> {
    let settle = || {
        let mut sites = SettledSites::default();
        each_of_whole_image(recording, index, |node, site| {
            sites.insert(node, tariff.settle(site));
        });
        sites
    };
    (charge == Charge::Allocation).then(|| recording.settled(index, settle)).flatten()
}
