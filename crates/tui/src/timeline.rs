//! The time line: live bytes over time, in the band above all views, and the selection of a span in it.

use crate::colors::{BAR, CURSOR, SOFT};
use crate::draw::Pane;
use crate::fitted_text::time;
use crate::state::State;
use crate::views::{Known, Shown};
use memtoll_query::{Activity, Span};
use memtoll_text::format;

/// Lines of the curve.
const CURVE: usize = 2;
/// Columns of a time at its end.
const TIME: usize = 9;
/// Lines of the band: the curve, and one that says what it shows.
pub const LINES: usize = CURVE + 1;

/// A span that is being selected, in columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Picking {
    /// Where the cursor is.
    pub at: usize,
    /// Where the span begins, once it is chosen.
    pub anchor: Option<usize>,
}

#[derive(Default)]
pub struct Band {
    /// Columns when it was last drawn.
    pub columns: usize,
}

impl Band {
    /// The time of the columns from one to another, both included.
    pub fn span(&self, state: &State, ended_ns: u64, one: usize, other: usize) -> Span {
        let (from, to) = (one.min(other), one.max(other) + 1);
        let (start, end) = range(state, ended_ns);
        let at = |column: usize| start + (end - start) * column as f64 / self.columns.max(1) as f64;
        let is_last = to >= self.columns && state.zoom.and_then(|zoom| zoom.to_ns).is_none();
        let first = at(from) as u64;
        Span { from_ns: first, to_ns: (!is_last).then(|| (at(to) as u64).max(first + 1)) }
    }

    pub fn draw(&mut self, shown: &Shown, picking: Option<Picking>, mut pane: Pane) {
        self.columns = pane.width();
        let ended = shown.ended_ns();
        let (start, end) = range(shown.state, ended);
        let question = shown.state.band();
        let mut most = String::new();
        match shown.known(&question) {
            Known::Activity(activity) => most = curve(activity, (start, end), &mut pane),
            Known::Nothing(why) => pane.put(0, 0, pane.width(), &why, SOFT),
            _ => pane.put(0, 0, pane.width(), "adding up …", SOFT),
        }
        let column = |ns: f64| ((ns - start) / (end - start).max(1.0) * self.columns as f64).clamp(0.0, 1e6);
        if let Some(span) = shown.state.span {
            let from = column(span.from_ns as f64) as usize;
            let to = column(span.to_ns.unwrap_or(ended) as f64).ceil() as usize;
            (0..CURVE).for_each(|y| pane.restyle(from, y, to.saturating_sub(from).max(1), CURSOR));
        }
        let said = match picking {
            None => selected(shown.state.span, ended),
            Some(Picking { at, anchor }) => {
                let first = anchor.unwrap_or(at);
                (0..CURVE).for_each(|y| pane.restyle(at.min(first), y, at.abs_diff(first) + 1, CURSOR));
                let span = self.span(shown.state, ended, first, at);
                let what = if anchor.is_some() { "Enter: select" } else { "← →, Space: begin here" };
                format!("{}  {what}", selected(Some(span), ended))
            }
        };
        let times = [start, end].map(time);
        pane.put(0, CURVE, self.columns, &times[0], SOFT);
        pane.put_right(self.columns.saturating_sub(TIME), CURVE, TIME, &times[1], SOFT);
        let text = if most.is_empty() { said } else { format!("{most} · {said}") };
        let room = self.columns.saturating_sub(2 * TIME);
        let text = crate::fitted_text::fit(&text, room);
        pane.put(TIME + (room - crate::fitted_text::width(&text)) / 2, CURVE, room, &text, SOFT);
    }
}

/// What the band shows, ns.
fn range(state: &State, ended: u64) -> (f64, f64) {
    let zoom = state.zoom.unwrap_or(Span { from_ns: 0, to_ns: None });
    let to = zoom.to_ns.unwrap_or(ended).min(ended).max(zoom.from_ns + 1);
    (zoom.from_ns as f64, to as f64)
}

/// `selected 1.20 s to 1.40 s (200 ms)`.
fn selected(span: Option<Span>, ended: u64) -> String {
    let Some(span) = span else { return "whole run".to_owned() };
    let seconds = |ns: u64| time(ns as f64);
    let to = span.to_ns.unwrap_or(ended);
    format!("selected {} to {} ({})", seconds(span.from_ns), seconds(to), seconds(to.saturating_sub(span.from_ns)))
}

/// Draws the highest number of live bytes in each column; gives the highest of all in words.
fn curve(activity: &Activity, (start, end): (f64, f64), pane: &mut Pane) -> String {
    const HEIGHTS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let columns = pane.width();
    let Some(live) = &activity.live_bytes else { return "live bytes not known".to_owned() };
    let interval = |ns: f64| (ns - activity.start_ns as f64) / activity.interval_ns.max(1e-9);
    let highest = |column: usize| {
        let at = |column: usize| start + (end - start) * column as f64 / columns as f64;
        let first = (interval(at(column)).max(0.0) as usize).min(live.len().saturating_sub(1));
        let last = (interval(at(column + 1)).ceil().max(0.0) as usize).clamp(first + 1, live.len().max(first + 1));
        live.get(first..last.min(live.len())).and_then(|part| part.iter().max()).copied().unwrap_or(0)
    };
    let values: Vec<u64> = (0..columns).map(highest).collect();
    let most = values.iter().copied().max().unwrap_or(0);
    for (x, value) in values.iter().enumerate() {
        let eighths = (*value as f64 / most.max(1) as f64 * (CURVE * 8) as f64).ceil() as usize;
        for y in 0..CURVE {
            let below = (CURVE - 1 - y) * 8;
            pane.put(x, y, 1, HEIGHTS[eighths.saturating_sub(below).min(8)], BAR);
        }
    }
    format!("up to {} live", format::bytes(most))
}
