//! Looks at the memory of a process that waits for them: before its end, and before it gives much memory back.

use super::{SHORT_NAP, Worker};
use crate::chunk_cursor::Cursor;
use crate::lost_blocks::{self, Found, Memory};
use crate::wire::look;
use crate::{page_look, proc_files};
use memtoll_trace::ids::Units;
use memtoll_trace::meta::NotSearched;
use memtoll_trace::snapshot::{Cause, Snapshot};
use std::io;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

/// Time at most for draining what a process wrote before it waits at its end: more than the largest backlog takes (`backlog.rs`).
const LONGEST_DRAIN: Duration = Duration::from_secs(5);

/// A search in a copy of the memory.
pub(super) struct LaterSearch {
    /// When it was copied, ticks.
    pub time: u64,
    memory: Memory,
}

impl Worker {
    /// The process is about to end, and waits until its memory has been looked at.
    pub(super) fn look_if_wanted(&mut self) {
        if !self.arena.awaits_look_at_end() {
            return;
        }
        let wanted = self.arena.header().look_wanted.load(Relaxed);
        let pages = if wanted & look::PAGES != 0 { self.look_at_pages() } else { None };
        if wanted & look::LOST_BLOCKS != 0 {
            self.search_lost_blocks(pages.as_ref());
        }
        if let Some(snapshot) = pages {
            self.parent_sink.sink().looked_at_pages(snapshot);
        }
        self.arena.end_look_at_end();
    }

    fn pages(&self) -> io::Result<Snapshot> {
        let clock = &self.run.around.clock;
        page_look::take(self.pid, &self.arena, Cause::End, Units(clock.units(clock.now())))
    }

    fn look_at_pages(&self) -> Option<Snapshot> {
        let pages = self.pages().map_err(|error| self.run.looks.is_refused(self.image, &error)).ok();
        pages.filter(|_| self.arena.awaits_look_at_end())
    }

    /// Searches for blocks that nothing points to, at once or later.
    fn search_lost_blocks(&mut self, pages: Option<&Snapshot>) {
        self.later_search = None;
        self.later_search = self.put_off(pages);
        if self.later_search.is_none() {
            let found = self.search_at_once(pages);
            self.parent_sink.sink().is_searched(found);
        }
    }

    /// Copies the memory of a process without other threads, if that is sooner done than what waits to be packed: packing an event takes
    /// longer than copying its bytes. The process need not wait then.
    fn put_off(&self, pages: Option<&Snapshot>) -> Option<LaterSearch> {
        let most = self.cursors.iter().map(Cursor::copied_bytes).sum();
        if most == 0 {
            return None;
        }
        let time = self.arena.time(self.run.around.clock.now());
        let memory = self.memory(pages).ok().filter(|memory| memory.other_threads.is_empty())?;
        let memory = memory.copy(most, &self.run.backlog)?;
        self.still_waits().then_some(LaterSearch { time, memory })
    }

    fn search_at_once(&mut self, pages: Option<&Snapshot>) -> Result<Found, NotSearched> {
        let found = self.search_once(pages)?;
        // Threads that run change what is being read.
        let again = found.other_threads > 0 && !found.blocks.is_empty();
        let found = if again { self.search_once(None)?.and_also_in(&found) } else { found };
        // The process may have ended, or lost its patience.
        if self.still_waits() { Ok(found) } else { Err(NotSearched::Ended) }
    }

    fn search_once(&mut self, pages: Option<&Snapshot>) -> Result<Found, NotSearched> {
        if !self.drain_until(self.run.around.clock.now()) {
            return Err(NotSearched::Ended);
        }
        self.search(|| self.memory(pages))
    }

    /// Searches the memory of a process for its live blocks, if it has any.
    fn search(&self, memory: impl FnOnce() -> Result<Memory, NotSearched>) -> Result<Found, NotSearched> {
        let process = self.parent_sink.sink().process_to_search(&self.arena)?;
        process.map_or_else(|| Ok(Found::default()), |process| lost_blocks::search(process, &memory()?))
    }

    fn memory(&self, pages: Option<&Snapshot>) -> Result<Memory, NotSearched> {
        let own;
        let pages = match pages {
            Some(pages) => pages,
            None => {
                own = self.pages().map_err(|error| NotSearched::Unreadable(error.to_string()))?;
                &own
            }
        };
        Memory::of(self.pid, &self.arena, pages)
    }

    fn still_waits(&self) -> bool {
        self.arena.awaits_look_at_end() && proc_files::exists(self.pid)
    }

    /// All calls from before the memory was copied are packed: what is live now was live then.
    pub(super) fn search_later(&mut self) {
        if let Some(LaterSearch { memory, .. }) = self.later_search.take() {
            let found = self.search(|| Ok(memory));
            self.parent_sink.sink().is_searched(found);
        }
    }

    /// Takes the events written until `time`, in ticks, for at most `LONGEST_DRAIN`. False: some are left.
    fn drain_until(&mut self, time: u64) -> bool {
        let end = Instant::now() + LONGEST_DRAIN;
        while Instant::now() < end {
            self.show_life();
            let has_all = self.feed.as_mut().is_none_or(|feed| feed.fetch() > time);
            self.drain_settled();
            if has_all && self.heads.iter().flatten().all(|key| *key > time) {
                return true;
            }
            std::thread::sleep(SHORT_NAP);
        }
        false
    }

    /// A thread is about to give memory back, of which the process perhaps never had more, and waits.
    pub(super) fn look_before_giving_back(&self) {
        if self.arena.is_look_asked() && self.arena.begin_look() {
            self.run.looks.look_at_peak(self.image, || self.arena.end_look());
        }
    }

    /// Writes page snapshots of other threads at once, so that they survive the end of memtoll.
    pub(super) fn write_seen_pages(&self) {
        for snapshot in self.signals.pages.take() {
            self.parent_sink.sink().saw_pages(snapshot);
        }
    }
}
