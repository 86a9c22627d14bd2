//! Numbers as people read them.

/// Bytes with a binary unit: `1.5 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(scaled < 100.0 && unit > 0);
    format!("{scaled:.digits$} {}", UNITS[unit])
}

/// Nanoseconds with a fitting unit: `1.7 µs`.
pub(crate) fn time(ns: f64) -> String {
    let (scaled, unit) = match ns.abs() {
        v if v >= 1e9 => (ns / 1e9, "s"),
        v if v >= 1e6 => (ns / 1e6, "ms"),
        v if v >= 1e3 => (ns / 1e3, "µs"),
        _ => (ns, "ns"),
    };
    let digits = usize::from(scaled.abs() < 100.0 && unit != "ns");
    format!("{scaled:.digits$} {unit}")
}

/// Nanoseconds as milliseconds without a unit: `12.5`. Noise below zero is nothing.
pub(crate) fn milliseconds(ns: f64) -> String {
    fixed(ns / 1e6)
}

/// Nanoseconds as microseconds without a unit.
pub(crate) fn microseconds(ns: f64) -> String {
    fixed(ns / 1e3)
}

/// Nanoseconds without a unit: `1720`.
pub(crate) fn nanoseconds(ns: f64) -> String {
    format!("{:.0}", ns.max(0.0))
}

fn fixed(value: f64) -> String {
    let value = value.max(0.0);
    let digits = usize::from(value < 1000.0);
    format!("{value:.digits$}")
}

/// How many times `a` is `b`: `6.3 times`; `None` if they are equal for practical purposes (within 10 %).
pub(crate) fn times(a: f64, b: f64) -> Option<String> {
    let ratio = a / b;
    if !ratio.is_finite() || (0.9..1.1).contains(&ratio) {
        return None;
    }
    let digits = if ratio < 10.0 { 1 } else { 0 };
    Some(format!("{ratio:.digits$} times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(size(100), "100 B");
        assert_eq!(size(300 << 20), "300 MiB");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(time(12.4), "12 ns");
        assert_eq!(time(1720.0), "1.7 µs");
        assert_eq!(time(431_000.0), "431 µs");
        assert_eq!(milliseconds(-1e5), "0.0");
        assert_eq!(milliseconds(1.234e9), "1234");
        assert_eq!(microseconds(1720.0), "1.7");
        assert_eq!(times(6.34, 1.0).as_deref(), Some("6.3 times"));
        assert_eq!(times(12.34, 1.0).as_deref(), Some("12 times"));
        assert_eq!(times(1.05, 1.0), None);
        assert_eq!(times(1.0, 0.0), None);
    }
}
