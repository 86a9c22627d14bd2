//! What the options of `memtoll fleet` take.

use crate::selection_options::parse_time;
use memtoll_analysis::metric::Metric;
use memtoll_fleet::columns;
use memtoll_fleet::grouping::Per;
use std::time::{Duration, SystemTime};

/// A label with its value.
pub fn parse_label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as version=1.5")?;
    match name.trim().is_empty() || value.is_empty() {
        true => Err("expected NAME=VALUE, such as version=1.5".to_owned()),
        false => Ok((name.trim().to_owned(), value.to_owned())),
    }
}

/// The name of a database or a cluster.
pub fn parse_name(text: &str) -> Result<String, String> {
    match memtoll_fleet::cluster::is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits and _".to_owned()),
    }
}

/// A metric that a store has.
pub fn parse_metric(text: &str) -> Result<Metric, String> {
    columns::named(text).map_err(|error| error.to_string())
}

/// What values are divided by.
pub fn parse_per(text: &str) -> Result<Per, String> {
    match text {
        "" => Err("expected run, cpu or the name of a label".to_owned()),
        "run" => Ok(Per::Run),
        "cpu" => Ok(Per::Cpu),
        label => Ok(Per::Label(label.to_owned())),
    }
}

/// Ns since 1970, now.
pub fn now_ns() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos() as i64
}

/// The length of a window, ns.
pub fn parse_window(text: &str) -> Result<u64, String> {
    const SHORTEST: f64 = 1e-3;
    let seconds = parse_time(text)?;
    match seconds >= SHORTEST {
        true => Ok((seconds * 1e9) as u64),
        false => Err(format!("expected at least 1ms, found \"{text}\"")),
    }
}

/// A day or an age as ns since 1970.
pub fn parse_day(text: &str) -> Result<i64, String> {
    const SECOND: i64 = 1_000_000_000;
    let wrong = || "expected a day such as 2026-11-01, or an age such as 7d or 12h".to_owned();
    for (unit, seconds) in [("d", 86_400), ("h", 3_600), ("w", 7 * 86_400)] {
        if let Some(number) = text.strip_suffix(unit) {
            // Nothing began before 1970.
            let age = number.parse::<u32>().ok().and_then(|number| i64::from(number).checked_mul(seconds * SECOND));
            return age.map(|age| (now_ns() - age).max(0)).ok_or_else(wrong);
        }
    }
    let parts: Vec<i64> = text.split('-').map(|part| part.parse().unwrap_or(-1)).collect();
    let [year, month, day] = parts[..] else { return Err(wrong()) };
    if !(1970..2262).contains(&year) || !(1..=12).contains(&month) {
        return Err(wrong());
    }
    let first = days_since_1970(year, month, 1);
    let next = if month == 12 { days_since_1970(year + 1, 1, 1) } else { days_since_1970(year, month + 1, 1) };
    match (1..=next - first).contains(&day) {
        true => Ok((first + day - 1) * 86_400 * SECOND),
        false => Err(wrong()),
    }
}

/// Days from 1970 to a date of the Gregorian calendar, whose years here begin in March, so that February is last.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        const DAY: i64 = 86_400_000_000_000;
        for (text, days) in [("1970-01-01", 0), ("2000-03-01", 11_017), ("2024-02-29", 19_782), ("2026-11-23", 20_780)]
        {
            assert_eq!(parse_day(text), Ok(days * DAY), "{text}");
        }
        assert!(parse_day("7d").unwrap() < parse_day("1h").unwrap());
        for wrong in ["", "2026", "2026-13-01", "2026-02-29", "2026-x-11-01", "d", "-1d", "99999w", "yesterday"] {
            assert!(parse_day(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn windows_are_no_shorter_than_what_they_hold() {
        assert_eq!(parse_window("60s"), Ok(60_000_000_000));
        assert!(parse_window("1ns").is_err() && parse_window("0").is_err());
    }

    #[test]
    fn labels_have_names_and_values() {
        assert_eq!(parse_label("version=1.5=rc"), Ok(("version".to_owned(), "1.5=rc".to_owned())));
        assert!(parse_label("version").is_err() && parse_label("=1").is_err() && parse_label("version=").is_err());
    }
}
