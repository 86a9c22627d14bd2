//! The cells of tables, the same in text and Markdown.

use super::fate;
use memtoll_analysis::diff::{CONFIDENCE, Change, Quantity, Samples, Values};
use memtoll_query::comparison::{Comparison, Total};
use memtoll_text::format;
use memtoll_text::format::Unit;

/// Numbers of a unit as text.
pub(super) trait InWords: Copy {
    /// The difference, with its sign and, where it is known and not nothing, its margin; empty if there is none.
    fn difference(self, samples: &Samples) -> String;
}

impl InWords for Unit {
    fn difference(self, samples: &Samples) -> String {
        let value = samples.difference();
        let margin = samples.margin(CONFIDENCE).unwrap_or(0.0).round();
        if value.round() == 0.0 && margin == 0.0 {
            return String::new();
        }
        if margin == 0.0 { self.signed(value) } else { format::change(self, value, margin) }
    }
}

/// What a row is.
pub(super) enum What {
    /// A call site that changed: what became of it, if it is not on both sides, and its name.
    Change(&'static str, String),
    /// What is left, or the whole.
    Rest(String),
}

/// Before, after, difference, that in percent, and what it is.
pub(super) fn of_total(total: &Total) -> [String; 5] {
    let text = |side| total.mean(side).map_or_else(|| "unknown".to_owned(), |mean| mean.known(total.unit));
    let (change, percent) = match total.both() {
        Some(samples) if samples.difference() != 0.0 || samples.margin(CONFIDENCE) > Some(0.0) => {
            let percent = percent(&samples);
            (total.unit.difference(&samples), percent)
        }
        _ => (String::new(), String::new()),
    };
    [text(0), text(1), change, percent, total.name.to_owned()]
}

/// The difference as a share of what was before, with the digits that are known; empty if it may be none.
fn percent(samples: &Samples) -> String {
    let [before, _] = samples.means();
    let (value, margin) = (samples.difference(), samples.margin(CONFIDENCE).unwrap_or(0.0));
    if before <= 0.0 || value.abs() <= margin {
        return String::new();
    }
    if margin == 0.0 {
        return Unit::Share.signed(value / before);
    }
    let [low, size, high] = [-margin, 0.0, margin].map(|more| (value.abs() + more) / before);
    format!("{}{}", if value < 0.0 { '-' } else { '+' }, format::known(Unit::Share, size, low, high))
}

/// The headings of the rows' columns.
pub(super) fn headings(of: &Comparison) -> Vec<&'static str> {
    of.quantities().map(|quantity| of.titles().in_rows(quantity.metric())).collect()
}

/// The rows, and what is left: all of them add up to the last one.
pub(super) fn rows(of: &Comparison, limit: usize) -> Vec<(Vec<String>, What)> {
    let cells = |values: &Values| {
        let cell = |quantity: Quantity| quantity.metric().about().unit.difference(values.of(quantity));
        of.quantities().map(cell).collect::<Vec<_>>()
    };
    let (shown, hidden) = of.changes.split_at(limit.min(of.changes.len()));
    let of_change = |(change, name): (&Change, String)| (cells(&change.values), What::Change(fate(change), name));
    let mut rows: Vec<_> = shown.iter().zip(of.names(shown)).map(of_change).collect();
    let quiet = format::counted(of.within_noise.len() as u64, of.thing());
    let quiet = match of.noise.has_intervals() {
        true => format!("unexplained: {quiet}, each with a change within noise or too small to matter"),
        false => format!("unexplained: {quiet}, each with a change too small to tell from noise"),
    };
    let elsewhere = match of.is_filtered {
        true => "left out by --filter, --drop or --focus",
        false => "unexplained: processes reach their peaks at different times",
    };
    let more = format!("{} more that changed; --limit shows more of them", hidden.len());
    let rest = [
        (of.together(hidden), more.as_str()),
        (of.together(&of.within_noise), quiet.as_str()),
        (of.elsewhere.clone(), elsewhere),
        (of.whole.clone(), "total"),
    ];
    for (values, what) in rest {
        let cells = cells(&values);
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push((cells, What::Rest(what.to_owned())));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_changes_have_the_digits_that_are_known() {
        let of = |after: f64, margin| {
            percent(&Samples { before: vec![40.6e6], after: vec![after], single_margins: [margin, 0.0] })
        };
        assert_eq!(of(19.2e6, 0.0), "-52.7 %");
        assert_eq!(of(19.2e6, 14e6), "-50 %");
        assert_eq!(of(60e6, 2e6), "+48 %");
        assert_eq!(of(30e6, 12e6), "", "it may be no change");
    }
}
