//! The sums of sites, as they are shown.

use super::Tally;
use super::chapters::Writing;
use super::pooled::Lending;
use super::touched::Touched;
use crate::site::{Origin, Rare, Site};
use crate::site_index::SiteIndex;
use crate::{Charge, Select};
use memtoll_trace::ids::{Bytes, NodeId};
use memtoll_trace::metrics::Metrics;

/// What the sums of a site are made of, beside the site itself.
struct Rows<'a> {
    peak: u64,
    charge: Charge,
    rare: &'a [Rare],
    costs: &'a [Metrics],
    lending: &'a Lending,
    writing: Option<&'a Writing>,
}

impl Rows<'_> {
    fn of(&self, index: usize, origin: &Origin, site: &mut Site) -> Metrics {
        site.keep_peak(self.peak);
        let (rare, costs) = (counted_from_1(self.rare, origin.rare), counted_from_1(self.costs, origin.costs));
        let mut metrics = site.metrics(&rare, costs, self.charge);
        let (at_peak, now) = self.lending.of(SiteIndex::at(index), self.peak);
        metrics.peak_bytes = metrics.peak_bytes.saturating_sub(Bytes(at_peak));
        metrics.live_bytes = metrics.live_bytes.saturating_sub(Bytes(now));
        if let Some(writing) = self.writing {
            writing.add_earlier(index, &mut metrics);
        }
        metrics
    }
}

impl<S: Select> Tally<S> {
    fn rows(&mut self) -> (Rows<'_>, &[Origin], &mut [Site]) {
        self.settle();
        let rows = Rows {
            peak: self.peak,
            charge: self.selection().charge,
            rare: &self.rare,
            costs: &self.costs,
            lending: &self.lending,
            writing: self.writing.as_deref(),
        };
        (rows, &self.origins, &mut self.sites)
    }

    /// Each site's stack node, what it was split by, and its sums. `is_cut_off` says of a stack node whether its stack
    /// is not complete.
    pub fn sites(
        &mut self,
        mut is_cut_off: impl FnMut(Option<NodeId>) -> bool,
    ) -> impl ExactSizeIterator<Item = (Option<NodeId>, u64, Metrics)> {
        let (rows, origins, sites) = self.rows();
        origins.iter().zip(sites).enumerate().map(move |(index, (origin, site))| {
            let mut metrics = rows.of(index, origin, site);
            if is_cut_off(origin.node) {
                metrics.cut_off = metrics.events;
            }
            (origin.node, origin.extra, metrics)
        })
    }

    /// The sites to which something may have happened since a slice began, by their numbers, with their stack nodes and what they
    /// were split by. `live`: live bytes and blocks of each site then.
    pub(crate) fn sites_of_slice(
        &mut self,
        live: &[(Bytes, u64)],
    ) -> impl Iterator<Item = (usize, (Option<NodeId>, u64), Metrics)> {
        let touched = self.touched.as_mut().map(Touched::in_order).unwrap_or_default();
        let (rows, origins, sites) = self.rows();
        touched.into_iter().filter_map(move |index| {
            let (origin, site) = (&origins[index], &mut sites[index]);
            let rare = counted_from_1(rows.rare, origin.rare);
            // A window begins with this activity.
            let is_quiet = origin.costs == 0 && site.activity(&rare) == rare.live_before;
            let is_as_it_was = live.get(index).is_some_and(|(_, blocks)| *blocks == site.live_blocks);
            (!is_quiet || !is_as_it_was).then(|| (index, (origin.node, origin.extra), rows.of(index, origin, site)))
        })
    }
}

impl<S: Select> Tally<S> {
    /// What is live of each site now, with its stack node and what it was split by.
    pub(crate) fn live(&self) -> impl Iterator<Item = (Option<NodeId>, u64, (Bytes, u64))> {
        let sites = self.origins.iter().zip(self.sites.iter());
        sites.map(|(origin, site)| (origin.node, origin.extra, (site.live_bytes, site.live_blocks)))
    }
}

/// What stands in a place counted from 1; 0 stands for nothing.
pub(super) fn counted_from_1<T: Copy + Default>(all: &[T], place: u32) -> T {
    all.get((place as usize).wrapping_sub(1)).copied().unwrap_or_default()
}
