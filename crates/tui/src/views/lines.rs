//! Call sites with what they cost, or what they are grouped by.

use super::{Shown, say};
use crate::colors::{BAR, BOLD, CURSOR, FOUND, SOFT};
use crate::draw::Pane;
use crate::fitted_text::{fit_name, width};
use crate::keys::Action;
use crate::scrolled_rows::Cursor;
use crate::state::GROUPS;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::{Metric, Place};
use memtoll_analysis::names;
use memtoll_analysis::stacks::Texts;
use memtoll_query::rows::Row;
use memtoll_query::{Answer, Figures, Shown as Found};
use memtoll_text::format;
use memtoll_text::format::Unit;
use memtoll_text::visible;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns of a number, of its share, and of its bar.
pub const NUMBER: usize = 11;
pub const SHARE: usize = 8;
const BAR_COLUMNS: usize = 8;
/// Columns that names have at least before there are further metrics.
const NAME: usize = 60;

#[derive(Default)]
pub struct LinesView {
    cursor: Cursor,
    /// The function of the row at the cursor.
    function: Option<String>,
}

impl LinesView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        self.function = None;
        let Some((answer, _)) = shown.answer(&shown.state.lines(), &mut pane) else { return };
        let Found::Table(table) = &answer.shown else { return };
        let searches = !shown.state.search.is_empty();
        let rows: Vec<&Row> =
            table.sites.iter().filter(|row| !searches || shown.finds(&name(row, answer, shown))).collect();
        let columns = pane.width();
        heading(shown, answer, &mut pane, searches, rows.len());
        let top = self.cursor.window(rows.len(), pane.height().saturating_sub(2));
        if rows.is_empty() {
            let why =
                if searches { "No row has what you search. Esc ends the search." } else { "Nothing happened here." };
            return say(&mut pane.part(1, 2), why);
        }
        self.function = rows.get(self.cursor.at).filter(|row| row.row.frame.is_some()).map(|row| row.function.clone());
        let height = pane.height().saturating_sub(2);
        for (y, row) in rows.iter().enumerate().skip(top).take(height) {
            let line = line(row, (answer, shown), columns, &further(shown, columns));
            pane.put_line(0, 1 + y - top, &line);
            if y == self.cursor.at {
                pane.restyle(0, 1 + y - top, columns, CURSOR);
            }
        }
        let rest = table.left_out.as_ref().map(|rest| {
            let value = value(&rest.figures, shown.state.metric);
            format!("{value} in {}", format::counted(rest.number as u64, "further row"))
        });
        let last = pane.height().saturating_sub(1);
        let whole = rows.get(self.cursor.at).map_or(String::new(), |row| name(row, answer, shown));
        pane.put(0, last, columns, &rest.unwrap_or_else(|| fit_name(&whole, columns)), SOFT);
    }

    /// The function of the row at the cursor.
    pub fn function(&self) -> Option<&str> {
        self.function.as_deref()
    }

    /// Moves the cursor.
    pub fn act(&mut self, action: Action) -> bool {
        self.cursor.act(action)
    }
}

fn heading(shown: &Shown, answer: &Answer, pane: &mut Pane, searches: bool, rows: usize) {
    pane.put_right(0, 0, NUMBER, answer.titles().in_rows(shown.state.metric), BOLD);
    let (_, group) = GROUPS[shown.state.group];
    let found = if searches { format!(" ({rows} found)") } else { String::new() };
    let columns = pane.width();
    let further = further(shown, columns);
    let shares = shares_of(answer, shown.state.metric);
    pane.put(NUMBER + SHARE + BAR_COLUMNS + 2, 0, columns, &format!("{group}{found}{shares}"), BOLD);
    for (index, other) in further.iter().enumerate() {
        let x = columns - (further.len() - index) * (NUMBER + 1);
        pane.put_right(x, 0, NUMBER + 1, answer.titles().in_rows(*other), BOLD);
    }
}

/// Further metrics for which there is room.
fn further(shown: &Shown, columns: usize) -> Vec<Metric> {
    let room = columns.saturating_sub(NUMBER + SHARE + BAR_COLUMNS + 2 + NAME) / (NUMBER + 1);
    Metric::shown_in(Place::Terminal).filter(|metric| *metric != shown.state.metric).take(room).collect()
}

/// A number; a dash if it is not known.
pub fn value(figures: &Figures, metric: Metric) -> String {
    match figures.estimate(metric) {
        None => "–".to_owned(),
        Some(nothing) if nothing == Estimate::default() => "0".to_owned(),
        Some(estimate) => metric.show(estimate),
    }
}

/// The share of a number in the total, from 0 to 1, where shares have a meaning.
pub fn share(figures: &Figures, total: &Figures, metric: Metric) -> Option<f64> {
    let (part, whole) = (figures.of(metric)?, total.of(metric)?);
    (metric.adds_up() && whole > 0).then(|| part as f64 / whole as f64)
}

/// What shares are of, behind a heading: `, shares of 31.0 ms`; empty where there are none.
pub fn shares_of(answer: &Answer, metric: Metric) -> String {
    let totals = answer.totals.as_ref().filter(|totals| share(&totals.figures, &totals.figures, metric).is_some());
    totals.map_or(String::new(), |totals| format!(", shares of {}", value(&totals.figures, metric)))
}

/// A row as a line: the number, its share, a bar, the name, and `further` numbers.
pub fn line(row: &Row, (answer, shown): (&Answer, &Shown), columns: usize, further: &[Metric]) -> Line<'static> {
    let metric = shown.state.metric;
    let share = answer.totals.as_ref().and_then(|totals| share(&row.figures, &totals.figures, metric));
    let bar = (share.unwrap_or(0.0).clamp(0.0, 1.0) * BAR_COLUMNS as f64).round() as usize;
    let room = columns.saturating_sub(NUMBER + SHARE + BAR_COLUMNS + 2 + further.len() * (NUMBER + 1));
    let full = name(row, answer, shown);
    let name = fit_name(&full, room);
    let style = if shown.finds(&full) { FOUND } else { Style::new() };
    let padding = " ".repeat(room - width(&name));
    let percent = share.map_or(String::new(), |share| Unit::Share.show(share));
    let mut spans = vec![
        Span::raw(format!("{:>NUMBER$}", value(&row.figures, metric))),
        Span::raw(format!("{percent:>SHARE$} ")),
        Span::styled(format!("{:BAR_COLUMNS$} ", "█".repeat(bar)), BAR),
        Span::styled(name, style),
    ];
    let others = further.iter().map(|other| format!(" {:>NUMBER$}", value(&row.figures, *other)));
    spans.push(Span::raw(padding + &others.collect::<String>()));
    spans.into()
}

/// `grow (buffer.cpp:120) std::vector<int>`.
pub fn name(row: &Row, answer: &Answer, shown: &Shown) -> String {
    let frames = &answer.basis.recording.frames;
    let function = match (row.row.frame, GROUPS[shown.state.group].1) {
        (Some(frame), "functions") => answer.alike().name(Texts::of(frames, frame).function),
        (Some(frame), _) => names::function_and_place_among(frames, frame, answer.alike()),
        (None, _) => row.function.clone(),
    };
    let kind = row.r#type.as_deref().map(|kind| format!("  {}", names::short_kind(kind))).unwrap_or_default();
    visible(&(function + &kind))
}
