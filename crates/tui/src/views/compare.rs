//! What changed: each row before and after, and the difference.

use super::before_after::{BeforeAfter, NUMBERS, headings};
use super::{Known, Shown, say};
use crate::colors::{BOLD, CURSOR, FOUND, SOFT};
use crate::comparison::{Compared, Row};
use crate::draw::Pane;
use crate::fitted_text::{fit, fit_name};
use crate::keys::Action;
use crate::scrolled_rows::Cursor;
use crate::state::GROUPS;
use memtoll_analysis::diff::{CONFIDENCE, Quantity, Values};
use memtoll_analysis::estimate::Estimate;
use memtoll_query::Span;
use memtoll_text::format;
use ratatui::style::Style;

#[derive(Default)]
pub struct CompareView {
    cursor: Cursor,
}

impl CompareView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let Some(question) = shown.state.comparison(shown.has_before) else {
            return say(
                &mut pane,
                "Select a span of time (t), press b, and select another one: this shows what is different there. Or compare two \
                 recordings: memtoll tui BEFORE AFTER.",
            );
        };
        match shown.known(&question) {
            Known::Compared(compared) => self.rows(shown, compared, pane),
            Known::Nothing(why) => say(&mut pane, &why),
            _ => say(&mut pane, "adding up …"),
        }
    }

    fn rows(&mut self, shown: &Shown, compared: &Compared, mut whole: Pane) {
        let (columns, lines) = (whole.width(), whole.height());
        whole.put(0, 0, columns, &fit(&spans(shown), columns), SOFT);
        let mut pane = whole.part(1, lines.saturating_sub(1));
        let about = shown.state.metric.about();
        let Some(quantity) = compared.quantity(shown.state.metric) else {
            return say(&mut pane, &format!("Compare does not show {}. m chooses another metric.", about.title));
        };
        let of = |values: &Values| numbers(values, quantity);
        let searches = !shown.state.search.is_empty();
        let mut rows: Vec<(&Row, BeforeAfter)> = compared.rows.iter().map(|row| (row, of(&row.values))).collect();
        rows.retain(|(row, numbers)| !numbers.is_nothing() && (!searches || shown.finds(&row.name)));
        rows.sort_by(|(_, a), (_, b)| b.change.value.abs().total_cmp(&a.change.value.abs()));
        let thing = GROUPS[shown.state.compared_group()].1;
        headings(
            &mut pane,
            ["before", "after"],
            &format!("{} by {thing}", compared.titles.in_rows(shown.state.metric)),
        );
        // The last lines are what is elsewhere, and the whole.
        let height = pane.height().saturating_sub(3);
        let top = self.cursor.window(rows.len(), height);
        let put = |pane: &mut Pane, y: usize, numbers: &BeforeAfter, name: &str, styles: [Style; 2]| {
            numbers.put(pane, y, shown.state.metric, styles[0]);
            pane.put(NUMBERS, y, columns, &fit_name(name, columns.saturating_sub(NUMBERS)), styles[1]);
        };
        for (y, (row, numbers)) in rows.iter().enumerate().skip(top).take(height) {
            let line = 1 + y - top;
            let style = if shown.finds(&row.name) { FOUND } else { Style::new() };
            put(&mut pane, line, numbers, &row.name, [Style::new(), style]);
            if y == self.cursor.at {
                pane.restyle(0, line, columns, CURSOR);
            }
        }
        let last = pane.height().saturating_sub(1);
        let elsewhere = of(&compared.elsewhere);
        if !elsewhere.is_nothing() {
            put(&mut pane, last.saturating_sub(1), &elsewhere, compared.why_elsewhere, [SOFT; 2]);
        }
        let whole = match searches {
            true => format!("the whole; {} found", format::counted(rows.len() as u64, "row")),
            false => "the whole".to_owned(),
        };
        put(&mut pane, last, &of(&compared.whole), &whole, [BOLD, SOFT]);
    }

    /// Moves the cursor.
    pub fn act(&mut self, action: Action) -> bool {
        self.cursor.act(action)
    }
}

/// Which parts of the time are compared.
fn spans(shown: &Shown) -> String {
    let of = |span: Option<Span>| match span {
        None => "whole run".to_owned(),
        Some(Span { from_ns, to_ns }) => {
            let at = |ns: u64| format::seconds(ns as f64 / 1e9);
            format!("{} to {}", at(from_ns), to_ns.map_or_else(|| "the end".to_owned(), at))
        }
    };
    match shown.has_before {
        true => "before and after: whole runs".to_owned(),
        false => format!("before: {}; after: {}", of(shown.state.before), of(shown.state.span)),
    }
}

fn numbers(values: &Values, quantity: Quantity) -> BeforeAfter {
    let samples = values.of(quantity);
    let [means, margins] = [samples.means(), samples.margins(CONFIDENCE)];
    // What differs by rounding only is nothing.
    let side = |side: usize| match means[side].abs() < 0.5 {
        true => Estimate::default(),
        false => Estimate::exact(means[side]).give_or_take(margins[side]),
    };
    let change = Estimate::exact(samples.difference()).give_or_take(samples.margin(CONFIDENCE).unwrap_or(0.0));
    BeforeAfter { before: side(0), after: side(1), change }
}
