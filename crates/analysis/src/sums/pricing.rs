//! What the call sites of an image paid, from what was found of them.

use super::found::FoundSites;
use crate::priced::Priced;
use crate::process_ends::ended;
use crate::settled_sites::settled;
use crate::tariff::{Overdraft, Remainders, Tariff};
use crate::thread_filter::ThreadFilter;
use memtoll_metrics::Settled;
use memtoll_model::{Recording, SettledSites};
use memtoll_tally::{Charge, Selection, Split};
use memtoll_trace::ids::{Bytes, NodeId, Units};
use memtoll_trace::metrics::Metrics;
use std::ops::Range;

/// How the call sites of an image divide what is priced.
enum Division<'a> {
    /// Each is whole; of those that do not overdraw, this share is left.
    Wholes(f64),
    /// They are parts of what was settled for the whole recording, where that is known.
    Parts(Option<&'a SettledSites>),
}

/// How call sites of an image are priced.
pub(super) struct Pricing<'a> {
    sites: &'a FoundSites,
    recording: &'a Recording,
    index: usize,
    tariff: &'a Tariff,
    division: Division<'a>,
    /// Whether nothing is live any more when the selection ends.
    is_gone: bool,
    is_instant: bool,
    /// Whether what a search found can be said of them.
    is_searched: bool,
}

impl<'a> Pricing<'a> {
    /// Of `sites`, which were found of `selection` in image number `index`. Nothing is live of an image that has ended when the
    /// selection does: at `until`, units. A selection that goes on to the end of the recording counts what each process left, but
    /// not what exec discarded.
    pub fn of(
        sites: &'a FoundSites,
        (recording, index): (&'a Recording, usize),
        tariff: &'a Tariff,
        (selection, thread_filter): (&Selection, &ThreadFilter),
        until: u64,
    ) -> Pricing<'a> {
        let image = &recording.images[index];
        let are_all = !selection.is_part() && selection.charge == Charge::Allocation && !thread_filter.are_threads();
        let division = if are_all && selection.split == Split::None {
            let mut overdraft = Overdraft::default();
            sites.all(|_| false, |_, _, site| overdraft = overdraft.with(tariff.overdraft(site)));
            Division::Wholes(overdraft.left())
        } else {
            Division::Parts(settled(recording, index, selection.charge, tariff))
        };
        let ends_early = selection.instant || selection.to < Units(recording.ended());
        Pricing {
            sites,
            recording,
            index,
            tariff,
            division,
            is_gone: if ends_early { ended(recording, index) < until } else { image.executed_another() },
            is_instant: selection.instant,
            is_searched: are_all && matches!(selection.split, Split::None | Split::Process) && image.is_searched(),
        }
    }

    /// Calls `take` with each of a part: its node in the image, and what sums are split by.
    pub fn each(&self, part: Range<usize>, mut take: impl FnMut(Option<NodeId>, u64, &mut Priced)) {
        let Pricing { recording, index, tariff, .. } = *self;
        let image = &recording.images[index];
        let is_cut_off = |node| recording.stacks.is_cut_off(image.node(node));
        let hides_frees = !image.own_allocators.show_frees();
        // What rounding leaves of a site is the next part's, if that is of the same call stack.
        let (mut left, mut last) = (Remainders::default(), None);
        self.sites.each(part, is_cut_off, |node, extra, counts| {
            if last.replace(node) != Some(node) {
                left = Remainders::default();
            }
            let mut metrics = match self.settled(node, counts) {
                Some(settled) => tariff.price_next_part(counts, settled, &mut left),
                None => tariff.price_alone(counts),
            };
            if self.is_gone {
                metrics.end();
                if self.is_instant {
                    (metrics.counts.peak_bytes, metrics.counts.peak_blocks) = (Bytes::ZERO, 0);
                }
            }
            if hides_frees {
                metrics.forget_fates();
            }
            if !self.is_searched {
                metrics.forget_search();
            } else if metrics.lost_blocks | metrics.indirectly_lost_blocks | metrics.possibly_lost_blocks != 0
                && recording.is_suppressed(index, image.node(node))
            {
                metrics.suppress_lost();
            }
            take(node, extra, &mut metrics);
        });
    }

    /// What is settled for a site; `None`: nothing, as its whole is not known.
    fn settled(&self, node: Option<NodeId>, counts: &Metrics) -> Option<Settled> {
        match self.division {
            Division::Wholes(left) => Some(self.tariff.settle(counts, Charge::Allocation).with_share_beyond(left)),
            Division::Parts(settled) => settled.and_then(|settled| settled.get(node)),
        }
    }
}
