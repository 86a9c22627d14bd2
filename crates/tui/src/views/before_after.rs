//! Two numbers of a row, and their difference.

use super::lines::NUMBER;
use crate::colors::BOLD;
use crate::draw::Pane;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_text::format;
use ratatui::style::Style;

/// Columns of a number with the space before it, of a difference with its error, and of all of them.
const COLUMN: usize = NUMBER + 1;
const CHANGE: usize = NUMBER + 6;
pub const NUMBERS: usize = 2 * COLUMN + CHANGE + 2;

#[derive(Clone, Copy, Default, Debug)]
pub struct BeforeAfter {
    pub before: Estimate,
    pub after: Estimate,
    pub change: Estimate,
}

impl BeforeAfter {
    pub fn of(before: Estimate, after: Estimate) -> BeforeAfter {
        BeforeAfter { before, after, change: after.minus(before) }
    }

    pub fn plus(self, other: BeforeAfter) -> BeforeAfter {
        BeforeAfter::of(self.before.plus(other.before), self.after.plus(other.after))
    }

    pub fn is_nothing(&self) -> bool {
        let nothing = Estimate::default();
        self.before == nothing && self.after == nothing && self.change == nothing
    }

    pub fn put(&self, pane: &mut Pane, y: usize, metric: Metric, style: Style) {
        // Of two recordings, a side is known as well as the difference, or better.
        let error = |side: Estimate| if side.is_exact() { self.change.margin() } else { 0.0 };
        let shown = |side: Estimate| match side == Estimate::default() {
            true => "0".to_owned(),
            false => metric.show(side.give_or_take(error(side))),
        };
        let unit = metric.about().unit;
        let change = match self.change {
            change if change == Estimate::default() => "0".to_owned(),
            change if change.margin() == 0.0 => unit.signed(change.value),
            change => format::change(unit, change.value, change.margin()),
        };
        put(pane, y, [&shown(self.before), &shown(self.after), &change], style);
    }
}

fn put(pane: &mut Pane, y: usize, texts: [&str; 3], style: Style) {
    for (at, text) in texts.iter().enumerate() {
        let width = if at == 2 { CHANGE } else { COLUMN };
        pane.put_right(at * COLUMN, y, width, text, style);
    }
}

/// The first line: what the numbers are, and what rows are.
pub fn headings(pane: &mut Pane, [before, after]: [&str; 2], rows: &str) {
    put(pane, 0, [before, after, "change"], BOLD);
    pane.put(NUMBERS, 0, pane.width(), rows, BOLD);
}
