//! What a number counts, and how it is written.

use super::{UNKNOWN, count};
use serde::Serialize;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things.
    Count,
    Bytes,
    /// Time, in ns.
    Time,
    /// A part of a whole: 0 to 1.
    Share,
}

impl Unit {
    /// What ends the key of a figure with this unit, in JSON and in columns. Counts need none: their names say what is counted.
    pub const fn in_keys(self) -> &'static str {
        match self {
            Unit::Time => "_ns",
            Unit::Bytes => "_bytes",
            Unit::Count | Unit::Share => "",
        }
    }
}

/// A step of a scale: what is rounded to less than `below` of it is written in it.
pub(crate) struct Step {
    /// How much of the base unit it is.
    pub factor: f64,
    pub name: &'static str,
    /// A number from which the next step is used, in this one.
    below: f64,
    /// Digits behind the point of numbers less than 100.
    places: usize,
}

const fn step(factor: f64, name: &'static str, below: f64, places: usize) -> Step {
    Step { factor, name, below, places }
}

const KIB: f64 = 1024.0;
const SECOND: f64 = 1e9;

/// What would be rounded to 1,000 of a step is written in the next.
const BYTES: [Step; 6] = [
    step(1.0, "B", KIB - 0.5, 0),
    step(KIB, "KiB", 999.5, 1),
    step(KIB * KIB, "MiB", 999.5, 1),
    step(KIB * KIB * KIB, "GiB", 999.5, 1),
    step(KIB * KIB * KIB * KIB, "TiB", 999.5, 1),
    step(KIB * KIB * KIB * KIB * KIB, "PiB", f64::INFINITY, 1),
];
const TIMES: [Step; 6] = [
    step(1.0, "ns", 999.5, 1),
    step(1e3, "µs", 999.5, 1),
    step(1e6, "ms", 999.5, 1),
    step(SECOND, "s", 5999.5, 2),
    step(3600.0 * SECOND, "h", 99.95, 1),
    step(24.0 * 3600.0 * SECOND, "days", f64::INFINITY, 1),
];
const SHARES: [Step; 1] = [step(0.01, "%", f64::INFINITY, 1)];
const COUNTS: [Step; 1] = [step(1.0, "", f64::INFINITY, 0)];

/// Whether it can be one of a machine.
pub(crate) fn is_number(value: f64) -> bool {
    value.abs() < 1e30
}

impl Unit {
    /// The step in which a number of this size is written.
    pub(crate) fn step(self, size: f64) -> &'static Step {
        let steps: &'static [Step] = match self {
            Unit::Count => &COUNTS,
            Unit::Bytes => &BYTES,
            Unit::Time => &TIMES,
            Unit::Share => &SHARES,
        };
        steps.iter().find(|step| size / step.factor < step.below).unwrap_or(&steps[steps.len() - 1])
    }

    /// A number, in three digits and a unit.
    pub fn show(self, value: f64) -> String {
        if !is_number(value) {
            return UNKNOWN.to_owned();
        }
        let size = value.abs();
        let step = self.step(size);
        let scaled = size / step.factor;
        if size == 0.0 && self == Unit::Time {
            return "0 s".to_owned();
        }
        let places = match self {
            Unit::Count | Unit::Bytes if step.factor == 1.0 => rate_places(scaled),
            Unit::Share => step.places,
            _ if scaled < 99.95 => step.places,
            _ => 0,
        };
        let number = grouped(scaled, places);
        // Too little for these digits, and not nothing.
        if size > 0.0 && is_zero(&number) {
            let least = grouped(10f64.powi(-(places as i32)), places);
            return with_unit(&if value < 0.0 { format!("> -{least}") } else { format!("< {least}") }, step);
        }
        with_unit(&minus(&number, value < 0.0), step)
    }

    /// A difference, with its sign.
    pub fn signed(self, value: f64) -> String {
        let text = self.show(value);
        if value > 0.0 && is_number(value) && !text.starts_with('<') { format!("+{text}") } else { text }
    }
}

/// Digits behind the point of a count, which may be an average.
fn rate_places(value: f64) -> usize {
    match value {
        value if value.fract() == 0.0 || value >= 9.95 => 0,
        value if value >= 0.995 => 1,
        _ => 2,
    }
}

pub(crate) fn is_zero(number: &str) -> bool {
    number.chars().all(|c| matches!(c, '0' | '.' | ','))
}

pub(crate) fn with_unit(number: &str, step: &Step) -> String {
    if step.name.is_empty() { number.to_owned() } else { format!("{number} {}", step.name) }
}

/// A sign before it, if it is not zero.
pub(crate) fn minus(number: &str, is_negative: bool) -> String {
    if is_negative && !is_zero(number) { format!("-{number}") } else { number.to_owned() }
}

/// A number that is not negative, with commas between thousands.
pub(crate) fn grouped(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), count);
    fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}"))
}
