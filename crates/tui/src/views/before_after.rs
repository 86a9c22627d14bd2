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

    /// Of two recordings, a side is known as well as the difference, or better.
    fn side(&self, side: Estimate, metric: Metric) -> String {
        let error = if side.is_exact() { self.change.margin() } else { 0.0 };
        match side == Estimate::default() {
            true => "0".to_owned(),
            false => metric.show(side.give_or_take(error)),
        }
    }

    pub fn put(&self, pane: &mut Pane, y: usize, metric: Metric, style: Style) {
        let unit = metric.about().unit;
        let change = match self.change {
            change if change == Estimate::default() => "0".to_owned(),
            change if change.margin() == 0.0 => unit.signed(change.value),
            change => format::change(unit, change.value, change.margin()),
        };
        put(pane, y, [&self.side(self.before, metric), &self.side(self.after, metric), &change], style);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_has_no_more_digits_than_the_difference() {
        let change = Estimate::exact(-33e6).give_or_take(60e6);
        let two = BeforeAfter { before: 157e6.into(), after: 124e6.into(), change };
        assert_eq!([two.before, two.after].map(|side| two.side(side, Metric::Cost)), ["160 ms", "120 ms"]);
        let new = BeforeAfter { before: Estimate::default(), after: 60e6.into(), change: 60e6.into() };
        assert_eq!([new.before, new.after].map(|side| new.side(side, Metric::Cost)), ["0", "60.0 ms"]);
    }
}
