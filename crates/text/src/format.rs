//! Quantities as people read them. Every number that memtoll shows comes from here: one formatter for each kind.
//!
//! A number has three digits at the most and a unit in which it is less than 1,000, but counts have all their digits. What
//! is not known exactly has no more digits than are known. Nothing is `-0`, no bound is `< 0`, and what is not a number is
//! `not known`.

mod date;
mod estimate;
#[cfg(test)]
mod properties;
mod unit;

use crate::amounts::Bytes;
use crate::wrap;

pub use date::date;
pub use estimate::{change, estimate, known, ranged};
pub use unit::Unit;

/// What stands where a figure is not known.
pub const UNKNOWN: &str = "not known";

/// `29461` as `29,461`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 block`, `2,003 blocks`, `0 processes`.
pub fn counted(value: u64, thing: &str) -> String {
    let ending = plural(value, "", if thing.ends_with('s') { "es" } else { "s" });
    format!("{} {thing}{ending}", count(value))
}

/// The words that go with a number of things: `the other lives`, `the others live`.
pub fn plural<'t>(value: u64, one: &'t str, several: &'t str) -> &'t str {
    if value == 1 { one } else { several }
}

/// The verb of a number of things: `1 block is`, `2 blocks are`.
pub fn are(value: u64) -> &'static str {
    plural(value, "is", "are")
}

/// How often: `once`, `twice`, `29,461 times`.
pub fn often(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => counted(times, "time"),
    }
}

/// How many for each of something: `29.7` as `30`, but `2.3` as it is and `0.04` too.
pub fn rate(value: f64) -> String {
    Unit::Count.show(value)
}

/// Bytes with a binary unit: `1536` as `1.5 KiB`.
pub fn bytes(value: impl Into<Bytes>) -> String {
    Unit::Bytes.show(value.into().0 as f64)
}

/// A size as options take it: `2147483648` as `2G`, `4711` as it is.
pub fn size(bytes: u64) -> String {
    let units = ["T", "G", "M", "K"].into_iter().zip([40, 30, 20, 10]);
    let unit = units.into_iter().find(|(_, power)| bytes > 0 && bytes.trailing_zeros() >= *power);
    unit.map_or(bytes.to_string(), |(unit, power)| format!("{}{unit}", bytes >> power))
}

/// Seconds with a fitting unit: `0.0012` as `1.2 ms`, `7500` as `2.1 h`.
pub fn seconds(value: f64) -> String {
    Unit::Time.show(value * 1e9)
}

/// A share of a whole in percent; blank if there is no whole.
pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => Unit::Share.show(part as f64 / whole as f64),
    }
}

/// How many times `a` is `b`: `6.3 times`; `None` if they are equal for practical purposes (within 10 %).
pub fn times(a: f64, b: f64) -> Option<String> {
    let ratio = a / b;
    (ratio.is_finite() && !(0.9..1.1).contains(&ratio))
        .then(|| format!("{} times", unit::grouped(ratio, usize::from(ratio < 9.95))))
}

/// `head` and `text`, wrapped at `width` columns, if there is such a width; further lines begin below the text.
pub fn wrapped(head: &str, text: &str, width: Option<usize>) -> String {
    /// Columns of a line at least, however narrow the terminal is.
    const LEAST: usize = 30;
    let indent = wrap::width(head);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(LEAST));
    let lines = wrap::lines(text, room);
    head.to_owned() + &lines.join(&format!("\n{:indent$}", "")) + "\n"
}

/// A row of bars, one for each of `width` equal parts of `values`, showing their highest.
pub fn sparkline(values: &[u64], width: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let width = width.min(values.len());
    (0..width)
        .map(|column| {
            let part = &values[column * values.len() / width..((column + 1) * values.len() / width).max(1)];
            let value = part.iter().copied().max().unwrap_or(0);
            BARS[(value as u128 * 8).div_ceil(highest as u128) as usize]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!([0, 100, 29461].map(count), ["0", "100", "29,461"]);
        assert_eq!([0, 1, 2003].map(|n| counted(n, "block")), ["0 blocks", "1 block", "2,003 blocks"]);
        assert_eq!([1, 2].map(|n| counted(n, "process")), ["1 process", "2 processes"]);
        assert_eq!([0, 1, 2, 3].map(often), ["0 times", "once", "twice", "3 times"]);
        assert_eq!([0.0, 1200.0, -1200.0].map(|value| Unit::Count.signed(value)), ["0", "+1,200", "-1,200"]);
        assert_eq!([0, 1023, 1536, 102_390, 200 << 20].map(bytes), ["0 B", "1,023 B", "1.5 KiB", "100 KiB", "200 MiB"]);
        assert_eq!([0, 4711, 65536, 1536 << 20, 2 << 30].map(size), ["0", "4711", "64K", "1536M", "2G"]);
        assert_eq!([1073741824.0, 0.0, -100.0].map(|value| Unit::Bytes.signed(value)), ["+1.0 GiB", "0 B", "-100 B"]);
        assert_eq!([0.0, 0.0012, 1.5, 4500.0, 7500.0].map(seconds), ["0 s", "1.2 ms", "1.50 s", "4,500 s", "2.1 h"]);
        assert_eq!([0.25e9, -1.7e5].map(|value| Unit::Time.signed(value)), ["+250 ms", "-170 µs"]);
        // `--from 1s` is a little less in the clock's units.
        assert_eq!([0.999_999_9, 0.999_4, 0.000_999_9].map(seconds), ["1.00 s", "999 ms", "1.0 ms"]);
        assert_eq!([percent(1, 3), percent(1, 3000), percent(0, 3), percent(3, 0)], ["33.3 %", "< 0.1 %", "0.0 %", ""]);
        assert_eq!([29.7, 2.3, 0.04, 3.0].map(rate), ["30", "2.3", "0.04", "3"]);
        assert_eq!(times(6.34, 1.0).as_deref(), Some("6.3 times"));
        assert_eq!(times(12.34, 1.0).as_deref(), Some("12 times"));
        assert_eq!(times(1.05, 1.0), None);
        assert_eq!(times(1.0, 0.0), None);
    }

    #[test]
    fn bars_show_the_highest_of_their_part() {
        assert_eq!(sparkline(&[0, 1, 8], 3), " ▁█");
        assert_eq!(sparkline(&[1, 8, 2, 2], 2), "█▂");
        assert_eq!(sparkline(&[], 5), "");
    }

    #[test]
    fn long_lines_go_on_below_their_text() {
        let text = "of blocks and mappings, of which many were touched";
        assert_eq!(wrapped("7  ", text, Some(34)), "7  of blocks and mappings, of\n   which many were touched\n");
        assert_eq!(wrapped("7  ", text, None), format!("7  {text}\n"));
    }
}
