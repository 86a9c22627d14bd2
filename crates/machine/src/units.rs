//! Times in columns whose unit stands above them.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(milliseconds(-1e5), "0.0");
        assert_eq!(milliseconds(1.234e9), "1234");
        assert_eq!(microseconds(1720.0), "1.7");
    }
}
