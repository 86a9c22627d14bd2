//! Lines whose live bytes grow steadily, told apart from start-up, caches that level off and bursts.
//!
//! The time is cut into windows, and of each the least that a line had live is taken: what grows for good grows there, too. That
//! these minima rise from each window to the next by chance has the probability 1/k! for k windows. A line must go on growing in the last
//! windows: a cache that fills up does not. The rate is the median of the slopes between all pairs of windows (Theil and Sen), its
//! interval that of Sen 1968 with Kendall's variance, at 95 %.

mod lines;

use crate::stacks::Stacks;
use crate::tariff::Tariff;
pub use lines::Lines;
use lines::{Line, Older};
use memtoll_model::{Chapters, FrameId, Recording};
use memtoll_trace::ids::Units;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashSet;

/// Windows, of which the first is start-up: of the time from a line's first block on.
const WINDOWS: usize = 13;
/// Pieces of the whole time, from which these windows are put together.
const PIECES: usize = 8 * WINDOWS;
/// A line whose first block is later than in this part of the time has just begun.
const LATEST: f64 = 0.5;
/// Behind the last window, this part of the time belongs to the end, when programs free what they have.
const END: f64 = 0.02;
/// Windows at the end in which a line must go on growing, at this part of its rate.
const LAST: usize = 4;
const GOES_ON: f64 = 0.4;

/// A line that grows.
#[derive(Clone, Debug)]
pub struct Growing {
    /// The process.
    pub pid: u32,
    /// The line; `None`: its blocks have no stack.
    pub frame: Option<FrameId>,
    /// The least that was live in each window, bytes. Windows are equally long.
    pub least: Vec<u64>,
    /// Bytes a second: the median slope, and its interval at 95 %.
    pub per_second: f64,
    pub interval: (f64, f64),
    /// Live blocks and bytes behind the last window.
    pub blocks: u64,
    pub bytes: u64,
    /// Those of the live blocks that are older than any block of the line was when it was freed; from chapters, at least as many are.
    pub older: u64,
    /// Blocks that were freed.
    pub freed: u64,
}

/// Live blocks of a line behind the last window.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub blocks: u64,
    /// How many of them are older than any block of the line was when it was freed, at most.
    pub older: u64,
    /// Blocks that were freed.
    pub freed: u64,
}

/// What is read.
#[derive(Clone, Copy)]
pub enum Reading<'a> {
    /// All events: everything is exact.
    Events,
    /// Only of lines that this holds for, where there are chapters. Sums of these, and the events of those that are longer than a window. Of a short chapter,
    /// the least is what was live when it began and was not released in it, and a block's lifetime ends when the chapter does: both
    /// err to the safe side.
    Chapters(&'a dyn Fn(Kept) -> bool),
}

/// Whether the least rises with each window, and still does.
fn rises(least: &[u64]) -> bool {
    let least = &least[1..];
    let rises = least.windows(2).all(|pair| pair[0] < pair[1]);
    let (first, last) = (least[0], least[least.len() - 1]);
    let rate = last.saturating_sub(first) as f64 / (least.len() - 1) as f64;
    let lately = last.saturating_sub(least[least.len() - LAST]) as f64 / (LAST - 1) as f64;
    rises && lately >= GOES_ON * rate
}

/// The lines of image number `index` between two times, before any event is read. `None`: the time is too short.
fn lines(recording: &Recording, index: usize, (from, to): (Units, Units)) -> Option<Lines<'_>> {
    let image = &recording.images[index];
    let began = from.0.max(image.about.began);
    let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended).min(to.0);
    let span = ended.saturating_sub(began) as f64 * if to == Units::MAX { 1.0 - END } else { 1.0 };
    let width = (span / PIECES as f64) as u64;
    (width > 0).then(|| Lines::new(recording, index, began, width))
}

impl Lines<'_> {
    /// Those that grow, if all events until [`Lines::ended`] were added.
    pub fn growing(self, tariff: &Tariff) -> Vec<Growing> {
        let (pid, width) = (self.image.about.pid, self.width);
        let one = |(frame, line, older): (Option<FrameId>, Line, u64)| {
            let (least, pieces) = line.windows().filter(|(least, _)| rises(least))?;
            let seconds = tariff.ns((width * pieces as u64) as f64) / 1e9;
            let (per_window, interval) = slope(&least[1..]);
            Some(Growing {
                pid,
                frame,
                least,
                per_second: per_window / seconds,
                interval: (interval.0 / seconds, interval.1 / seconds),
                blocks: line.blocks,
                bytes: line.live,
                older,
                freed: line.freed,
            })
        };
        let mut found: Vec<Growing> = self.finish().filter_map(one).collect();
        sort(&mut found);
        found
    }
}

/// Those that grow most first.
fn sort(found: &mut [Growing]) {
    found.sort_by(|a, b| b.per_second.total_cmp(&a.per_second).then(a.frame.cmp(&b.frame)));
}

/// The lines that grow between two times of the images that count, by number, those that grow most first. Chapters are of whole
/// processes.
pub fn growing(
    stacks: &mut Stacks,
    counts: impl Fn(usize) -> bool,
    span: (Units, Units),
    tariff: &Tariff,
    reading: Reading,
) -> Result<Vec<Growing>, Unreadable> {
    let recording = stacks.recording();
    let mut found = Vec::new();
    for index in (0..recording.images.len()).filter(|index| counts(*index)) {
        let chapters = match reading {
            Reading::Chapters(may) => recording.chapters(index).map(|chapters| (chapters, may)),
            Reading::Events => None,
        };
        let lines = match chapters {
            Some((chapters, may)) => {
                let mut lines = lines_that_may(stacks, index, span, may);
                if let Some(lines) = &mut lines {
                    let window = (PIECES / WINDOWS) as u64 * lines.width;
                    lines.read_chapters(stacks, &chapters, window)?;
                }
                lines
            }
            None => {
                let mut lines = lines(recording, index, span);
                if let Some(lines) = &mut lines {
                    let ended = Units(lines.ended());
                    recording.for_each_events_between(index, Units::ZERO, ended, |events| {
                        lines.add_events(stacks, events)
                    })?;
                }
                lines
            }
        };
        found.extend(lines.into_iter().flat_map(|lines| lines.growing(tariff)));
    }
    sort(&mut found);
    Ok(found)
}

/// The lines of image number `index` that something may hold for, before any event is read; `None`: there are none. Chapters rule the
/// others out, as far as they can be read.
pub fn lines_that_may<'r>(
    stacks: &mut Stacks<'r>,
    index: usize,
    span: (Units, Units),
    may: &dyn Fn(Kept) -> bool,
) -> Option<Lines<'r>> {
    let recording = stacks.recording();
    let all = || lines(recording, index, span);
    let Some(chapters) = recording.chapters(index) else { return all() };
    match kept(stacks, &chapters, all()?) {
        Ok(kept) => {
            let watched: FxHashSet<_> =
                kept.into_iter().filter(|(_, kept)| may(*kept)).map(|(frame, _)| frame).collect();
            if watched.is_empty() { None } else { all().map(|lines| lines.of(watched)) }
        }
        Err(_) => all(),
    }
}

/// What chapters say of each line. Only the events of the one in which the time ends are read.
fn kept(
    stacks: &mut Stacks,
    chapters: &Chapters,
    mut lines: Lines,
) -> Result<Vec<(Option<FrameId>, Kept)>, Unreadable> {
    lines.older = Older::Most;
    lines.read_chapters(stacks, chapters, u64::MAX)?;
    let of = |(frame, line, older): (_, Line, u64)| (frame, Kept { blocks: line.blocks, older, freed: line.freed });
    Ok(lines.finish().map(of).collect())
}

/// The median slope, and its interval.
fn slope(values: &[u64]) -> (f64, (f64, f64)) {
    const SURE: f64 = 1.96;
    let mut slopes: Vec<f64> = Vec::new();
    for (i, a) in values.iter().enumerate() {
        slopes.extend(values.iter().enumerate().skip(i + 1).map(|(j, b)| (*b as f64 - *a as f64) / (j - i) as f64));
    }
    slopes.sort_by(f64::total_cmp);
    let (n, pairs) = (values.len() as f64, slopes.len() as f64);
    let half = SURE * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt() / 2.0;
    let at = |rank: f64| slopes[(rank.max(0.0) as usize).min(slopes.len() - 1)];
    (at(pairs / 2.0), (at(pairs / 2.0 - half - 1.0), at((pairs / 2.0 + half).ceil())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_goes_on_growing_grows() {
        let grows = |least: fn(u64) -> u64| rises(&(0..WINDOWS as u64).map(least).collect::<Vec<u64>>());
        assert!(grows(|window| 1_000 * window));
        assert!(grows(|window| 500 + window));
        assert!(!grows(|_| 4_000), "a cache that is full");
        assert!(!grows(|window| 64_000 - (64_000 >> window)), "a cache that levels off");
        assert!(!grows(|window| if window % 3 == 0 { 10 } else { 5 }), "bursts");
        assert!(!grows(|window| if window == 0 { 0 } else { 9_000 }), "start-up");
    }

    #[test]
    fn the_slope_is_in_its_interval() {
        let (exact, interval) = slope(&(0..12).map(|window| 100 * window).collect::<Vec<u64>>());
        assert_eq!((exact, interval), (100.0, (100.0, 100.0)));
        let noisy: Vec<u64> = (0..12).map(|window| 1_000 * window + (window * 7_919) % 500).collect();
        let (median, (low, high)) = slope(&noisy);
        assert!(low < median && median < high && low <= 1_000.0 && 1_000.0 <= high, "{median} {low} {high}");
    }
}
