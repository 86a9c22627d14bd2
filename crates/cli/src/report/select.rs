//! Which part of a recording the options of `memtoll report` ask for.

use super::Arguments;
use memtoll_analysis::aggregate::{Charge, Selection, Split};
use memtoll_analysis::sites::GroupBy;
use memtoll_model::Recording;
use memtoll_trace::meta::MarkKind;

/// Seconds from `1.25s`, `300ms`, `15us`, or a plain number of seconds.
pub fn parse_time(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0), ("", 1.0)];
    let value = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    value.ok_or_else(|| format!("expected a time such as 1.25s, 300ms or 15us, found \"{text}\""))
}

impl Arguments {
    /// What the options select.
    pub(super) fn selection(&self, recording: &Recording) -> Result<Selection, String> {
        let clock = &recording.about.clock;
        let mut selection = Selection::default();
        if let Some(from) = self.from {
            selection.from = clock.units(from);
        }
        if let Some(to) = self.to.or(self.at) {
            selection.to = clock.units(to);
        }
        if let Some([from, to]) = self.between_marks.as_deref() {
            (selection.from, selection.to) = between(recording, from, to)?;
        }
        if selection.from > selection.to {
            return Err("the time span ends before it begins: expected --from to be earlier than --to".to_owned());
        }
        selection.instant = self.at.is_some();
        selection.min_size = self.min_size.unwrap_or(0);
        selection.max_size = self.max_size.unwrap_or(u64::MAX);
        if selection.min_size > selection.max_size {
            return Err("no block has such a size: expected --min-size to be at most --max-size".to_owned());
        }
        if self.paid {
            selection.charge = Charge::Payment;
        }
        selection.split = self.group.map_or(Split::None, |group| GroupBy::from(group).split());
        Ok(selection)
    }
}

/// The time between two marks, units. A region's begin and end have the same name.
fn between(recording: &Recording, from: &str, to: &str) -> Result<(u64, u64), String> {
    let all = || recording.images.iter().flat_map(|image| &image.marks);
    let start = all().filter(|mark| mark.name == from && mark.kind != MarkKind::End).map(|mark| mark.time).min();
    let known = || {
        let mut names: Vec<&str> = all().map(|mark| mark.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            "it has none; set them with memtoll.h".to_owned()
        } else {
            format!("it has: {}", names.join(", "))
        }
    };
    let start = start.ok_or_else(|| format!("the recording has no mark \"{from}\"; {}", known()))?;
    let later = all().filter(|mark| mark.name == to && mark.kind != MarkKind::Begin && mark.time >= start);
    let end = later.map(|mark| mark.time).min();
    let end = end.ok_or_else(|| format!("the recording has no mark \"{to}\" after \"{from}\"; {}", known()))?;
    Ok((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1.25s"), Ok(1.25));
        assert_eq!(parse_time("300ms"), Ok(0.3));
        assert_eq!(parse_time("2"), Ok(2.0));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
    }
}
