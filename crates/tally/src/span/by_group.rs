//! Events of which only a few groups of call stacks are told apart: each group is a site, so that a slice takes little to cut,
//! however many call stacks there are.

use super::sums::{minus, plus};
use super::{Chapters, Cutter, Live, Part, Slice, Slices, SparseRows, live_of, unpack};
use memtoll_trace::chapter::{Chapter, CurvePart};
use memtoll_trace::event::Event;
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;

/// The groups of an image's call stacks.
pub struct Groups<F> {
    /// How many.
    pub count: usize,
    /// Which one a stack belongs to.
    pub of: F,
}

impl<F: Fn(Option<NodeId>) -> usize> Groups<F> {
    /// By how much a chapter changes what is live of each; `None`: only its events tell.
    pub fn changes(
        &self,
        chapters: &impl Chapters,
        number: usize,
        asked: &Part,
    ) -> Result<Option<Vec<Live>>, Unreadable> {
        let (_, rows) = unpack(chapters, asked, number)?;
        Ok(rows.map(|rows| {
            let mut changes = vec![Live::default(); self.count];
            rows.each(|node, _, metrics| {
                let live = &mut changes[(self.of)(node)];
                *live = plus(*live, live_of(metrics));
            });
            changes
        }))
    }

    /// Cuts a chapter, as far as it is asked for. `live` is what is live of each when the chapter begins.
    pub fn cut_chapter(
        &self,
        chapters: &impl Chapters,
        number: usize,
        asked: &Part,
        live: &[Live],
        cuts: &[u64],
    ) -> Result<Vec<Slice>, Unreadable> {
        let mut chapter = chapters.beginning(number)?;
        self.regroup(&mut chapter);
        let live = live.iter().enumerate().map(|(group, live)| (node_of(group), 0, *live)).collect();
        let cutter = Cutter::resume(asked, cuts, &chapter, live, None);
        self.cut(cutter, asked, |take| chapters.events(number, take))
    }

    /// What [`Groups::cut_chapter`] finds, from slices of a chapter, if they tell ([`Part::is_of_slices`]).
    pub fn join(&self, Slices { all, .. }: &Slices, asked: &Part, live: &[Live]) -> Vec<Slice> {
        let mut live = live.to_vec();
        let join = |slice: &Slice<SparseRows>| {
            let (mut sums, mut peaks) = (vec![None; self.count], live.clone());
            for row in slice.sites.of(asked) {
                let group = (self.of)(row.node);
                let (share, now) = (&mut peaks[group], &mut live[group]);
                *share = plus(*share, minus(row.at_peak, row.before));
                *now = plus(*now, row.change);
                let sum = sums[group].get_or_insert_with(Metrics::default);
                row.happened.for_each(|(place, more)| sum.add_number(place, more));
                (sum.live_bytes, sum.live_blocks) = plus(live_of(sum), row.change);
            }
            let sites = sums.into_iter().enumerate().filter_map(|(group, sum)| {
                let (peak_bytes, peak_blocks) = peaks[group];
                Some((node_of(group), Metrics { peak_bytes, peak_blocks, ..sum? }))
            });
            let Slice { times, begins, highest, highest_time, with_mappings, .. } = *slice;
            let (sites, curve) = (sites.collect(), CurvePart::default());
            Slice { times, begins, highest, highest_time, with_mappings, curve, sites }
        };
        all.iter().map(join).collect()
    }

    /// Cuts all events of an image, which `read` gives, as far as they are asked for.
    pub fn cut_events(
        &self,
        asked: &Part,
        cuts: &[u64],
        read: impl FnOnce(&mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable>,
    ) -> Result<Vec<Slice>, Unreadable> {
        self.cut(Cutter::new(asked, cuts), asked, read)
    }

    fn cut(
        &self,
        mut cutter: Cutter<Vec<(Option<NodeId>, Metrics)>>,
        asked: &Part,
        read: impl FnOnce(&mut dyn FnMut(&[Event]) -> ControlFlow<()>) -> Result<(), Unreadable>,
    ) -> Result<Vec<Slice>, Unreadable> {
        let to: Units = asked.to();
        read(&mut |events| {
            for event in events {
                if event.time > to {
                    return ControlFlow::Break(());
                }
                cutter.push(&Event { node: self.node(event.node), ..*event });
            }
            ControlFlow::Continue(())
        })?;
        Ok(cutter.finish().slices)
    }

    fn regroup(&self, Chapter { reallocating, replacements, carried, .. }: &mut Chapter) {
        let given_back = reallocating.iter_mut().filter_map(|of| of.given_back.as_mut()).map(|of| &mut of.node);
        let nodes = replacements.iter_mut().map(|of| &mut of.node).chain(carried.iter_mut().map(|of| &mut of.node));
        given_back.chain(nodes).for_each(|node| *node = self.node(*node));
    }

    fn node(&self, node: Option<NodeId>) -> Option<NodeId> {
        node_of((self.of)(node))
    }
}

/// What stands for a group where nodes do.
fn node_of(group: usize) -> Option<NodeId> {
    NodeId::new(group as u32 + 1)
}

/// The group that such a node stands for.
pub fn group_of(node: Option<NodeId>) -> usize {
    NodeId::index_of(node).saturating_sub(1)
}
