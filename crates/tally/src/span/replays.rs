//! Chapters whose events must be read: a span begins or ends in them, or they have too many parts. Consecutive ones are one run, which is
//! added up once.

use super::sums::minus;
use super::{Adding, Chapters, Live, Peak, Row, Shares, live_of, push_until, share};
use crate::{Aggregator, Select};
use memtoll_trace::chapter::Chapter;
use memtoll_trace::ids::NodeId;
use memtoll_trace::unreadable::Unreadable;

/// Chapters whose events are replayed.
pub(super) struct Run {
    replay: Aggregator,
    /// What was live by site when it began.
    before: Vec<Live>,
    /// Whether the span had begun before.
    goes_on: bool,
    /// The chapters so far, and the number of the next one.
    chapters: usize,
    next: usize,
    /// Whether the span ends in its last chapter.
    is_last: bool,
}

impl<C: Chapters> Adding<'_, C> {
    /// A chapter before the span, which begins at `first`.
    pub(super) fn pass_events(&mut self, number: usize, first: u64) -> Result<(), Unreadable> {
        self.run = Some(self.replayed(number, Some(first))?);
        Ok(())
    }

    /// There are no more such chapters, or others come next.
    pub(super) fn end_passed(&mut self) {
        let Some(mut run) = self.run.take() else { return };
        run.replay.settle();
        for (node, extra, metrics) in run.replay.sites(|_| false) {
            let site = self.sums.site(node, extra);
            self.sums.live[site] = live_of(&metrics);
        }
    }

    /// A chapter of the span. `goes_on`: the span does not end in it.
    pub(super) fn part(
        &mut self,
        number: usize,
        first: u64,
        goes_on: bool,
        chapter: &Chapter,
    ) -> Result<(), Unreadable> {
        let window = self.peak.is_some().then_some(first);
        let run = self.replayed(number, window)?;
        self.run = Some(Run { is_last: !goes_on, ..run });
        if goes_on {
            chapter.curve.extend(&mut self.sums.curve);
        }
        Ok(())
    }

    /// There are no more such chapters, or others come next.
    pub(super) fn end_run(&mut self) {
        let Some(Run { mut replay, before, goes_on, chapters, is_last, .. }) = self.run.take() else { return };
        replay.settle();
        let (bytes, time) = (replay.tally.peak_bytes(), replay.peak_time());
        let with_mappings = replay.tally.peak_with_mappings();
        let sites: Vec<Row> = replay.sites(|_| false).collect();
        if self.peak.as_ref().is_none_or(|peak| bytes > peak.bytes) {
            let shares = Shares::Known(self.sums.by_site(sites.iter().copied().map(share)));
            match &mut self.peak {
                None => self.peak = Some(Peak { bytes, time, shares, with_mappings }),
                Some(peak) => peak.look(bytes, time, shares, with_mappings),
            }
        } else if let Some(peak) = &mut self.peak {
            peak.look(bytes, time, Shares::Begin, with_mappings);
        }
        if is_last {
            self.sums.curve = replay.curve();
        }
        let mut changes = Vec::with_capacity(sites.len());
        for (node, extra, mut metrics) in sites {
            let now = live_of(&metrics);
            if goes_on {
                // What was live when the run began is no news.
                metrics.live_before = 0;
            }
            let site = self.sums.site(node, extra);
            let was = before.get(site).copied().unwrap_or_default();
            self.sums.live[site] = now;
            (metrics.live_bytes, metrics.live_blocks) = Live::default();
            (metrics.peak_bytes, metrics.peak_blocks) = Live::default();
            self.sums.add_numbers(site, metrics.numbers());
            changes.push((site as u32, minus(now, was)));
        }
        // Each chapter has its place.
        self.sums.changes.extend((1..chapters).map(|_| Vec::new()));
        self.sums.changes.push(changes);
    }

    /// The run with one more chapter, which is a new run if its other chapters do not end there.
    fn replayed(&mut self, number: usize, window: Option<u64>) -> Result<Run, Unreadable> {
        let Some(mut run) = self.run.take().filter(|run| run.next == number) else {
            let (before, live) = (self.sums.live.clone(), self.sums.live());
            let replay = self.replay(number, live, window)?;
            return Ok(Run {
                replay,
                before,
                goes_on: window.is_some(),
                chapters: 1,
                next: number + 1,
                is_last: false,
            });
        };
        run.replay.go_on(&self.chapters.beginning(number)?);
        push_until(self.chapters, number, self.asked.get().to.0, &mut run.replay)?;
        (run.chapters, run.next) = (run.chapters + 1, number + 1);
        Ok(run)
    }

    /// A chapter's events, added up.
    pub(super) fn replay(
        &self,
        number: usize,
        live: Vec<(Option<NodeId>, u64, Live)>,
        window: Option<u64>,
    ) -> Result<Aggregator, Unreadable> {
        let mut replay = Aggregator::of_part(match window {
            Some(_) => self.asked.since_the_start(),
            None => self.asked.clone(),
        });
        replay.resume(&self.chapters.beginning(number)?, live.into_iter(), self.sums.curve.clone(), window);
        push_until(self.chapters, number, self.asked.get().to.0, &mut replay)?;
        Ok(replay)
    }
}
