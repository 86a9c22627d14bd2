//! Threads over time: what took most of each interval, and the sums of the selection.

use super::thread_sums::ThreadSums;
use super::{Shown, say};
use crate::colors::{BOLD, CURSOR, Kind, SOFT};
use crate::draw::Pane;
use crate::fitted_text::fit;
use crate::keys::Action;
use crate::scrolled_rows::Cursor;
use memtoll_analysis::lanes;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::thread_filter::thread_name;
use memtoll_model::Recording;
use memtoll_query::Shown as Found;
use memtoll_query::lanes::Lane;
use memtoll_text::{format, visible};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use rustc_hash::FxHashMap;

/// Columns of a thread's name.
const NAME: usize = 22;

#[derive(Default)]
pub struct ThreadsView {
    cursor: Cursor,
}

impl ThreadsView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let Some((answer, _)) = shown.answer(&shown.state.lanes(), &mut pane) else { return };
        let Some((priced, _)) = shown.answer(&shown.state.costs_of_threads(), &mut pane) else { return };
        let (Found::Lanes(found), Found::Table(costs)) = (&answer.shown, &priced.shown) else { return };
        let whole = |metric| priced.totals.as_ref()?.figures.estimate(metric);
        let recording = answer.basis.recording;
        let all = found.lanes.iter().zip(&found.found.lanes);
        let named = all.map(|(lane, of)| (name(recording, lane, of), lane, of));
        let lanes: Vec<(String, &Lane, &lanes::Lane)> = named.filter(|(name, ..)| shows(shown, name)).collect();
        if lanes.is_empty() {
            return say(&mut pane, "No thread ran here, or none has what you search.");
        }
        let of = |kind: Kind, name: &str| [Span::styled(kind.fill(), kind.style()), Span::raw(format!(" {name}  "))];
        let known = lanes.iter().any(|(_, lane, _)| lane.waiting.is_some());
        let mut legend = vec![Span::styled(format!("{:NAME$}", "threads"), BOLD)];
        legend.extend(of(Kind::Program, "program"));
        legend.extend(of(Kind::Allocator, "in calls"));
        if lanes.iter().any(|(_, lane, _)| lane.faulting.is_some()) {
            legend.extend(of(Kind::Faults, "faulting"));
        }
        if known {
            legend.extend(of(Kind::Waiting, "waiting"));
            legend.extend(of(Kind::Off, "off CPU"));
        }
        pane.put_line(0, 0, &Line::from(legend));
        let sums_at = pane.height().saturating_sub(ThreadSums::LINES).max(2);
        let height = sums_at - 1;
        let top = self.cursor.window(lanes.len(), height);
        let columns = pane.width().saturating_sub(NAME);
        for (y, (name, lane, _)) in lanes.iter().enumerate().skip(top).take(height) {
            let line = 1 + y - top;
            pane.put(0, line, NAME - 1, &fit(name, NAME - 1), if known { Style::new() } else { SOFT });
            for x in 0..columns {
                if let Some(kind) = most(lane, x, columns) {
                    pane.put(NAME + x, line, 1, kind.fill(), kind.style());
                }
            }
            if y == self.cursor.at {
                pane.restyle(0, line, NAME - 1, CURSOR);
            }
        }
        let allocator: FxHashMap<_, _> = costs
            .sites
            .iter()
            .filter_map(|row| {
                Some(((row.row.of?.image, row.row.of?.thread?), row.figures.estimate(Metric::Allocator)?))
            })
            .collect();
        let of = |(_, lane, shares): &(String, &Lane, &lanes::Lane)| {
            let allocator = allocator.get(&(shares.image, shares.thread)).copied().unwrap_or_default();
            ThreadSums::of(lane, (shares, found.interval_ns), allocator, &whole)
        };
        let sums: Vec<ThreadSums> = lanes.iter().map(of).collect();
        let all = ThreadSums::of_all(&sums, &whole);
        let found = if shown.state.search.is_empty() { "" } else { " found" };
        let threads = format!("{}{found}", format::counted(lanes.len() as u64, "thread"));
        let chosen = &lanes[self.cursor.at];
        let rows = [(chosen.0.as_str(), sums[self.cursor.at]), (threads.as_str(), all)];
        ThreadSums::draw(&rows, NAME - 2, &mut pane.part(sums_at, ThreadSums::LINES));
    }

    /// Moves the cursor.
    pub fn act(&mut self, action: Action) -> bool {
        self.cursor.act(action)
    }
}

fn shows(shown: &Shown, name: &str) -> bool {
    shown.state.search.is_empty() || shown.finds(name)
}

/// Its number and name; a process's first thread is called as its program.
fn name(recording: &Recording, lane: &Lane, of: &lanes::Lane) -> String {
    let image = &recording.images[of.image];
    let name = image.thread(of.thread).and_then(|thread| thread_name(image, thread));
    visible(&format!("{} {}", lane.tid, name.unwrap_or("")))
}

/// What took most of a column; nothing where the thread did not live.
fn most(lane: &Lane, column: usize, columns: usize) -> Option<Kind> {
    let intervals = lane.alive.len();
    let first = (column * intervals / columns).min(intervals.saturating_sub(1));
    let last = ((column + 1) * intervals / columns).clamp(first + 1, intervals.max(first + 1));
    let sum = |values: &[f64]| values.get(first..last.min(values.len())).map_or(0.0, |part| part.iter().sum());
    let alive: f64 = sum(&lane.alive);
    let some = |values: &Option<Vec<f64>>| values.as_deref().map_or(0.0, sum);
    let (allocator, faulting) = (sum(&lane.allocator), some(&lane.faulting));
    let (waiting, off) = (some(&lane.waiting), some(&lane.off_processor));
    let all = [
        (Kind::Program, alive - allocator - faulting - waiting - off),
        (Kind::Allocator, allocator),
        (Kind::Faults, faulting),
        (Kind::Waiting, waiting),
        (Kind::Off, off),
    ];
    let largest = all.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (alive > 0.0).then_some(largest.0)
}
