//! Numbers as people read them.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::{Metric, Unit};

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

/// So many of `thing`: `1 block`, `2,003 blocks`.
pub fn counted(value: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(value), if value == 1 { "" } else { "s" })
}

/// What a column is called that counts allocations and reallocations together, which `reallocations` there are.
pub fn acquisitions(reallocations: u64) -> &'static str {
    if reallocations == 0 { "allocations" } else { "(re)allocations" }
}

/// The same of one call.
pub fn acquisition(reallocations: u64) -> &'static str {
    if reallocations == 0 { "allocation" } else { "(re)allocation" }
}

/// How many for each of something: `29.7` as `30`, but `2.3` as it is.
pub fn rate(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { count(value.round() as u64) }
}

/// A difference, with its sign: `+1,200`.
pub fn signed_count(value: i64) -> String {
    format!("{}{}", sign(value), count(value.unsigned_abs()))
}

fn sign(value: i64) -> &'static str {
    match value {
        0 => "",
        v if v < 0 => "-",
        _ => "+",
    }
}

/// Bytes with a binary unit: `1536` as `1.5 KiB`.
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut scaled = value as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1000.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(scaled < 100.0);
    format!("{scaled:.digits$} {}", UNITS[unit])
}

/// A difference of bytes, with its sign.
pub fn signed_bytes(value: i64) -> String {
    format!("{}{}", sign(value), bytes(value.unsigned_abs()))
}

/// A difference of seconds, with its sign.
pub fn signed_seconds(value: f64) -> String {
    let sign = if value == 0.0 {
        ""
    } else if value < 0.0 {
        "-"
    } else {
        "+"
    };
    format!("{sign}{}", seconds(value.abs()))
}

/// Seconds with a fitting unit: `0.0012` as `1.2 ms`.
pub fn seconds(value: f64) -> String {
    let (scaled, unit) = match value {
        v if v >= 100.0 => return format!("{v:.0} s"),
        // What would be rounded to 1000 of a unit is 1 of the next.
        v if v >= 0.9995 => (v, "s"),
        v if v >= 0.9995e-3 => (v * 1e3, "ms"),
        v if v >= 0.9995e-6 => (v * 1e6, "µs"),
        v => (v * 1e9, "ns"),
    };
    let digits = if scaled >= 100.0 { 0 } else { 1 };
    let digits = if unit == "s" { 2 } else { digits };
    format!("{scaled:.digits$} {unit}")
}

/// Seconds that are not known exactly, cut to the digits that are: `12 ± 3 ms`, or `8 to 19 ms` where the error is not the
/// same on both sides; `under 4 ms` where it cannot be told from nothing.
pub fn estimate(of: Estimate) -> String {
    if of.margin() <= 0.0 {
        return seconds(of.value);
    }
    let cut = Cut::of(&of);
    let (below, above) = (of.value - of.low, of.high - of.value);
    let text = match () {
        () if of.is_noise() && of.value >= 0.0 => format!("under {}", cut.number(of.high)),
        () if below > 1.5 * above || above > 1.5 * below => {
            format!("{} to {}", cut.number(of.low), cut.number(of.high))
        }
        () => format!("{} ± {}", cut.number(of.value), cut.number(of.margin())),
    };
    format!("{text} {}", cut.unit)
}

/// The same for tables, without the error: `12 ms`, `< 4 ms`.
pub fn known(of: Estimate) -> String {
    if of.margin() <= 0.0 {
        return seconds(of.value);
    }
    let cut = Cut::of(&of);
    let (sign, value) = if of.is_noise() { ("< ", of.high) } else { ("", of.value) };
    format!("{sign}{} {}", cut.number(value), cut.unit)
}

/// How many digits of seconds are known, and in which unit they are written.
struct Cut {
    scale: f64,
    unit: &'static str,
    digits: i32,
}

impl Cut {
    fn of(estimate: &Estimate) -> Cut {
        let largest =
            [estimate.value, estimate.low, estimate.high].into_iter().fold(0.0, |most: f64, at| most.max(at.abs()));
        let (scale, unit) = match largest {
            v if v >= 1.0 => (1.0, "s"),
            v if v >= 1e-3 => (1e3, "ms"),
            v if v >= 1e-6 => (1e6, "µs"),
            _ => (1e9, "ns"),
        };
        // An error has one digit, two if the first is a 1.
        let margin = estimate.margin() * scale;
        let first = margin.log10().floor();
        let digits = if margin / 10f64.powf(first) < 2.0 { 1.0 - first } else { -first };
        Cut { scale, unit, digits: digits.clamp(-9.0, 3.0) as i32 }
    }

    fn number(&self, value: f64) -> String {
        let step = 10f64.powi(-self.digits);
        let cut = (value * self.scale / step).round() * step;
        let places = self.digits.max(0) as usize;
        // Not -0.
        format!("{:.places$}", if cut == 0.0 { 0.0 } else { cut })
    }
}

/// A value of a metric, in its unit.
pub fn value(value: u64, metric: Metric) -> String {
    match metric.about().unit {
        Unit::Count => count(value),
        Unit::Bytes => bytes(value),
        Unit::Time => seconds(value as f64 / 1e9),
    }
}

/// A share of a whole in percent; blank if there is no whole.
pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.1} %", part as f64 * 100.0 / whole as f64),
    }
}

/// The date and time of nanoseconds since 1970, in UTC: `2026-11-21 14:05`.
pub fn date(nanoseconds: u64) -> String {
    let minutes = nanoseconds / 60_000_000_000;
    let days = minutes / (24 * 60);
    // Years that begin in March have their leap day at the end; 400 of them have 146,097 days (Howard Hinnant,
    // "chrono-Compatible Low-Level Date Algorithms").
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_the_digits_that_are_known() {
        let of = |value, low, high| Estimate { value, low, high };
        let both = |of: Estimate| (estimate(of), known(of));
        let texts = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(both(of(0.0123, 0.0091, 0.0155)), texts("12 ± 3 ms", "12 ms"));
        assert_eq!(both(of(0.163, 0.151, 0.175)), texts("163 ± 12 ms", "163 ms"));
        assert_eq!(both(of(0.834, 0.5, 0.9)), texts("500 to 900 ms", "800 ms"));
        assert_eq!(both(of(1.5e-3, -1e-3, 4.1e-3)), texts("under 4 ms", "< 4 ms"));
        assert_eq!(both(of(-0.003, -0.009, 0.003)), texts("-3 ± 6 ms", "< 3 ms"));
        assert_eq!(both(Estimate::exact(0.0123)), texts("12.3 ms", "12.3 ms"));
        assert_eq!(estimate(Estimate::exact(4.2e-9).give_or_take(1.1e-9)), "4.2 ± 1.1 ns");
    }

    #[test]
    fn numbers() {
        assert_eq!(count(29461), "29,461");
        assert_eq!(count(100), "100");
        assert_eq!([0, 1, 2003].map(|n| counted(n, "block")), ["0 blocks", "1 block", "2,003 blocks"]);
        assert_eq!(signed_count(-1200), "-1,200");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(200 << 20), "200 MiB");
        assert_eq!(signed_bytes(1 << 30), "+1.0 GiB");
        assert_eq!(seconds(0.0012), "1.2 ms");
        assert_eq!(seconds(1.5), "1.50 s");
        // `--from 1s` is a little less in the clock's units.
        assert_eq!([0.999_999_9, 0.999_4, 0.000_999_9].map(seconds), ["1.00 s", "999 ms", "1.0 ms"]);
        assert_eq!(percent(1, 3), "33.3 %");
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_400 * 1_000_000_000), "2000-02-29 00:00");
        assert_eq!(date(1_795_269_900 * 1_000_000_000), "2026-11-21 14:05");
    }
}
