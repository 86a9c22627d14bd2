//! A limit as a user writes it: a number (`27_018`), a size (`"12 MiB"`), a time (`"1.5 ms"`), a share (`"5 %"`), or how
//! much more than in the baseline (`"+5 %"`, `"+10"`).

use memtoll_text::format::Unit;
use toml::de::DeValue;

/// Names of units, longest first where one ends like another, and what they are worth.
type Suffixes = &'static [(&'static str, f64)];

const SIZES: Suffixes = &[
    ("KIB", 1024.0),
    ("MIB", 1048576.0),
    ("GIB", 1073741824.0),
    ("TIB", 1099511627776.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("K", 1024.0),
    ("M", 1048576.0),
    ("G", 1073741824.0),
    ("B", 1.0),
];
const TIMES: Suffixes = &[("NS", 1.0), ("US", 1e3), ("µS", 1e3), ("ΜS", 1e3), ("MS", 1e6), ("S", 1e9)];
const SHARES: Suffixes = &[("%", 0.01)];

fn suffixes(unit: Unit) -> Suffixes {
    match unit {
        Unit::Count => &[],
        Unit::Bytes => SIZES,
        Unit::Time => TIMES,
        Unit::Share => SHARES,
    }
}

/// What a user can write.
fn examples(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a number such as 27_018",
        Unit::Bytes => "a number of bytes or a size such as \"12 MiB\"",
        Unit::Time => "a time such as \"1.5 ms\" or \"2 s\"",
        Unit::Share => "a share such as \"5 %\"",
    }
}

/// Reads a value without a sign.
fn parse_value(unit: Unit, text: &str) -> Option<f64> {
    let upper = text.trim().to_uppercase();
    let number = |digits: &str| digits.trim().replace(['_', ','], "").parse::<f64>().ok();
    let with_unit = suffixes(unit).iter().find_map(|(suffix, factor)| {
        let value = number(upper.strip_suffix(suffix)?)?;
        Some(value * factor)
    });
    let plain = || number(&upper).filter(|value| unit != Unit::Time || *value == 0.0);
    with_unit.or_else(plain).filter(|value| value.is_finite() && *value >= 0.0)
}

/// What stands where no limit in this unit does: says what would be one.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
#[error("expected {}, or more than the baseline such as \"+5 %\"", examples(*.0))]
pub struct Expected(Unit);

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Limit {
    /// The most, in the metric's unit.
    AtMost(f64),
    /// At most this share more than in the baseline: 0.05 for 5 % more.
    ShareMore(f64),
    /// The largest growth over the baseline, in the metric's unit.
    More(f64),
}

impl Limit {
    /// Whether it allows nothing at all.
    pub fn is_nothing(self) -> bool {
        self == Limit::AtMost(0.0)
    }

    /// Whether it needs a baseline.
    pub fn is_relative(self) -> bool {
        !matches!(self, Limit::AtMost(_))
    }

    /// As a reader understands it.
    pub fn shown(self, unit: Unit) -> String {
        match self {
            Limit::AtMost(value) => unit.show(value),
            Limit::ShareMore(share) => format!("{} % more than the baseline", trimmed(share * 100.0)),
            Limit::More(value) => format!("{} more than the baseline", unit.show(value)),
        }
    }

    /// From a value of a budget file; else what was expected.
    pub fn parse(value: &DeValue, unit: Unit) -> Result<Limit, Expected> {
        let wrong = || Expected(unit);
        match value {
            DeValue::Integer(number) => {
                let value = i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| wrong())?;
                let is_fitting = value == 0 || value > 0 && matches!(unit, Unit::Count | Unit::Bytes);
                if is_fitting { Ok(Limit::AtMost(value as f64)) } else { Err(wrong()) }
            }
            DeValue::String(text) => match text.trim().strip_prefix('+') {
                None => parse_value(unit, text).map(Limit::AtMost).ok_or_else(wrong),
                Some(more) => match parse_value(Unit::Share, more).filter(|_| more.trim_end().ends_with('%')) {
                    Some(share) => Ok(Limit::ShareMore(share)),
                    None => parse_value(unit, more).map(Limit::More).ok_or_else(wrong),
                },
            },
            _ => Err(wrong()),
        }
    }
}

/// A number without useless digits: `5`, `2.5`.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::de::DeTable;

    fn parse(value: &str, unit: Unit) -> Result<Limit, Expected> {
        let text = format!("x = {value}");
        let table = DeTable::parse(&text).unwrap();
        let (_, value) = table.get_ref().iter().next().unwrap();
        Limit::parse(value.get_ref(), unit)
    }

    #[test]
    fn limits_have_the_units_of_their_metrics() {
        for (text, unit, expected) in [
            ("27_018", Unit::Count, Limit::AtMost(27018.0)),
            ("0", Unit::Time, Limit::AtMost(0.0)),
            ("\"12 MiB\"", Unit::Bytes, Limit::AtMost(12.0 * 1048576.0)),
            ("\"64K\"", Unit::Bytes, Limit::AtMost(65536.0)),
            ("\"1.5 ms\"", Unit::Time, Limit::AtMost(1.5e6)),
            ("\"15 µs\"", Unit::Time, Limit::AtMost(15e3)),
            ("\"5 %\"", Unit::Share, Limit::AtMost(0.05)),
            ("\"+5 %\"", Unit::Bytes, Limit::ShareMore(0.05)),
            ("\"+10\"", Unit::Count, Limit::More(10.0)),
            ("\"+1 MiB\"", Unit::Bytes, Limit::More(1048576.0)),
        ] {
            assert_eq!(parse(text, unit), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_limit_says_what_is_expected() {
        for (text, unit) in [
            ("-1", Unit::Count),
            ("5", Unit::Time), // of what?
            ("\"5\"", Unit::Time),
            ("\"lots\"", Unit::Bytes),
            ("\"12 MiB\"", Unit::Count),
            ("true", Unit::Count),
            ("\"+x\"", Unit::Count),
            ("[1]", Unit::Bytes),
        ] {
            let why = parse(text, unit).unwrap_err().to_string();
            assert!(why.contains("such as"), "{text}: {why}");
        }
    }
}
