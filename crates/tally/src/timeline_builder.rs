//! Sorts what happens into cells of time, event by event: while a program is recorded, and when events are read.
//!
//! ```text
//! time   | cell | cell | present cell      |
//! live                   lowest .. highest    changes of live bytes
//! rows                   one for each thread  calls that lie in the present cell as a whole
//! parts    1      1                           calls that cross a border of cells, cut there
//! ```

use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::op::{Effect, Op};
use memtoll_trace::timeline::{LiveCell, ThreadCell, Timeline};

/// Which cells there are.
#[derive(Clone, Copy, Debug)]
pub enum Cells {
    /// The most cells in which live bytes change, and the most of threads: they become wider where there are more.
    UpTo(usize, usize),
    /// Those that hold a time between these, both included, as wide as they are; there may be others. Units.
    Between(u64, u64),
}

/// Width of the first cells of a recording, log2 of units.
const NARROWEST_LOG2: u32 = 6;
/// A cell in which live bytes have not changed yet.
const fn unchanged(cell: u64) -> LiveCell {
    LiveCell { cell, lowest: u64::MAX, highest: 0, last: 0 }
}

/// Adds up what happens in each cell of time.
pub struct TimelineBuilder {
    cells: Cells,
    timeline: Timeline,
    /// First and last time of the present cell, units; the first one is behind the last one if there is none.
    begin: u64,
    last: u64,
    /// The first time that is not in it.
    next: u64,
    /// Live bytes have not changed in it as long as the lowest number is above the highest one.
    live: LiveCell,
    last_live: u64,
    rows: Vec<ThreadCell>,
    /// By thread: 1 + the index of its row, where the row is this thread's and the row is there.
    row_of: Vec<u32>,
    /// The thread of the last event in the cell.
    thread: Option<ThreadNo>,
    row: usize,
}

impl TimelineBuilder {
    /// For an image of which no event was seen, with cells that become as wide as they must.
    pub fn new(cells: Cells) -> Self {
        TimelineBuilder::of_width(NARROWEST_LOG2, 0, cells)
    }

    /// With cells of a width, of which the binary logarithm is given, from an instant on; `live`: bytes at that instant.
    pub fn of_width(width_log2: u32, live: u64, cells: Cells) -> Self {
        TimelineBuilder {
            cells,
            timeline: Timeline { width_log2, live_before: live, ..Timeline::default() },
            begin: 1,
            last: 0,
            next: 0,
            live: unchanged(0),
            last_live: live,
            rows: Vec::new(),
            row_of: Vec::new(),
            thread: None,
            row: 0,
        }
    }

    /// Adds an event, and the live bytes after it. Times do not decrease.
    #[inline(always)]
    pub fn push(&mut self, event: &Event, effect: Effect, live: u64) {
        if event.time >= Units(self.next) {
            self.advance(event.time.0);
        }
        if live != self.last_live {
            self.changes(live);
        }
        if effect == Effect::Other
            || event.op.is_release_half() && (effect != Effect::Acquire || event.op == Op::BEFORE)
        {
            return;
        }
        if self.thread != Some(event.thread) {
            self.switch(event.thread);
        }
        let Some(row) = self.rows.get_mut(self.row) else { return };
        if effect == Effect::Acquire
            && let Block::Number(_) = event.block
        {
            row.allocations += 1;
            row.bytes = row.bytes.wrapping_add(event.size.0);
        }
        if event.duration == Units::ZERO {
            return;
        }
        let begin = if effect == Effect::Release { event.time } else { event.time.saturating_sub(event.duration) };
        // The call's last unit of time.
        let last = begin.saturating_add(event.duration - Units(1));
        // The event itself is in the cell: what begins with it does not begin before.
        if (effect == Effect::Release || begin >= Units(self.begin)) && last <= Units(self.last) {
            row.calls += 1;
            row.time += event.duration.0;
        } else {
            self.cut(event.thread, begin.0, last.0);
        }
    }

    #[inline(always)]
    fn changes(&mut self, live: u64) {
        self.last_live = live;
        self.live.lowest = self.live.lowest.min(live);
        self.live.highest = self.live.highest.max(live);
    }

    /// The thread of the next event is another one.
    #[cold]
    fn switch(&mut self, thread: ThreadNo) {
        let index = thread.index();
        if index >= self.row_of.len() {
            self.row_of.resize(index + 1, 0);
        }
        let known = (self.row_of[index] as usize).wrapping_sub(1);
        self.row = match self.rows.get(known) {
            Some(row) if row.thread == thread => known,
            _ => {
                let cell = self.begin >> self.timeline.width_log2;
                self.rows.push(ThreadCell::new(cell, thread));
                self.row_of[index] = self.rows.len() as u32;
                self.rows.len() - 1
            }
        };
        self.thread = Some(thread);
    }

    /// A call that does not lie in the present cell as a whole.
    #[cold]
    fn cut(&mut self, thread: ThreadNo, begin: u64, last: u64) {
        let (mut from, mut to) = (begin, last);
        match self.cells {
            Cells::UpTo(_, threads) => {
                while ((last - begin) >> self.timeline.width_log2) as usize > threads / 4 {
                    self.widen();
                }
            }
            Cells::Between(first, last) => (from, to) = (from.max(first), to.min(last)),
        }
        let log2 = self.timeline.width_log2;
        // There is none if the call is not between these times.
        for cell in (from >> log2..=to >> log2).take_while(|_| from <= to) {
            let first = cell << log2;
            let (part, end) = (from.max(first), to.min(first | self.mask()));
            let calls = u64::from(part == begin);
            self.timeline.threads.push(ThreadCell { calls, time: end - part + 1, ..ThreadCell::new(cell, thread) });
        }
        self.limit();
    }

    fn mask(&self) -> u64 {
        (1 << self.timeline.width_log2) - 1
    }

    /// The present cell is over.
    fn close(&mut self) {
        if self.live.lowest <= self.live.highest {
            self.timeline.live.push(LiveCell { last: self.last_live, ..self.live });
            self.live = unchanged(self.live.cell);
        }
        let is_used = |row: &ThreadCell| row.calls > 0 || row.allocations > 0;
        self.timeline.threads.extend(self.rows.drain(..).filter(is_used));
        self.thread = None;
    }

    #[cold]
    fn advance(&mut self, time: u64) {
        // The rows of the present cell count, too.
        self.close();
        self.limit();
        self.go_to(time);
    }

    /// The cell of `time` becomes the present one. What was closed of it goes on.
    fn go_to(&mut self, time: u64) {
        self.close();
        let cell = time >> self.timeline.width_log2;
        self.begin = cell << self.timeline.width_log2;
        self.last = self.begin | self.mask();
        self.next = self.last.saturating_add(1);
        self.live = self.timeline.live.pop_if(|closed| closed.cell == cell).unwrap_or(unchanged(cell));
    }

    /// Where there are too many cells, they become wider, and with them the present one.
    fn limit(&mut self) {
        let Cells::UpTo(live, threads) = self.cells else { return };
        while self.timeline.live.len() > live || self.timeline.threads.len() > threads {
            // Perhaps parts of calls only have to be put together.
            ThreadCell::settle(&mut self.timeline.threads);
            let of_threads = &self.timeline.threads;
            let is_one = of_threads.first().map(|cell| cell.cell) == of_threads.last().map(|cell| cell.cell);
            if self.timeline.live.len() <= live && (of_threads.len() <= threads / 2 || is_one) {
                return;
            }
            self.widen();
        }
    }

    fn widen(&mut self) {
        let present = self.begin;
        self.close();
        self.timeline.widen(self.timeline.width_log2 + 1);
        self.go_to(present);
    }

    /// What happened since the last time that this was asked. The next cells are a little narrower, in case less happens at
    /// a time.
    pub fn take(&mut self) -> Timeline {
        self.close();
        ThreadCell::settle(&mut self.timeline.threads);
        let width_log2 = match self.cells {
            Cells::UpTo(..) => self.timeline.width_log2.saturating_sub(1).max(NARROWEST_LOG2),
            Cells::Between(..) => self.timeline.width_log2,
        };
        let next = Timeline { width_log2, live_before: self.last_live, ..Timeline::default() };
        (self.begin, self.last, self.next) = (1, 0, 0);
        std::mem::replace(&mut self.timeline, next)
    }
}
