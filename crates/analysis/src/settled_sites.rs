//! What is settled for the call sites of an image over the whole recording.

use crate::sums::each_of_whole_image;
use crate::tariff::Tariff;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::Charge;

/// What the parts of each call site of image number `index` share. `None`: where a cost is charged to whoever paid it, parts are
/// priced alone, as files have no sums of whole recordings for that.
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
