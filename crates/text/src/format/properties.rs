//! What holds for every text of every quantity, whatever number it is given.

use super::unit::is_number;
use super::{UNKNOWN, Unit, estimate, known};
use proptest::prelude::*;

const UNITS: [Unit; 4] = [Unit::Count, Unit::Bytes, Unit::Time, Unit::Share];

fn any_number() -> impl Strategy<Value = f64> {
    let sizes = (-3.0..3.0f64, -12..19i32).prop_map(|(number, power)| number * 10f64.powi(power));
    prop_oneof![
        8 => sizes,
        1 => any::<f64>(),
        1 => any::<u64>().prop_map(|value| value as f64),
        1 => prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(999.95), Just(1023.7), Just(f64::NAN), Just(f64::INFINITY)],
    ]
}

/// The numbers in a text, without their commas.
fn numbers(text: &str) -> Vec<String> {
    let words = text.split(' ').map(|word| word.replace(',', ""));
    words.filter(|word| word.parse::<f64>().is_ok()).collect()
}

fn factor(unit: Unit, text: &str) -> f64 {
    let word = text.rsplit(' ').next().unwrap_or_default();
    let all: &[(&str, f64)] = match unit {
        Unit::Count => return 1.0,
        Unit::Share => return 0.01,
        Unit::Bytes => &[("B", 0.0), ("KiB", 10.0), ("MiB", 20.0), ("GiB", 30.0), ("TiB", 40.0), ("PiB", 50.0)],
        Unit::Time => &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("h", 3.6e12), ("days", 8.64e13)],
    };
    let (_, factor) = all.iter().find(|(name, _)| *name == word).unwrap_or_else(|| panic!("no unit: {text}"));
    if unit == Unit::Bytes { factor.exp2() } else { *factor }
}

fn no_impossible_number(text: &str) -> Result<(), TestCaseError> {
    for number in numbers(text) {
        let value: f64 = number.parse().unwrap();
        prop_assert!(!(value == 0.0 && number.starts_with(['-', '+'])), "{text}: a zero has no sign");
    }
    for bound in ["under ", "< ", "at least -"] {
        let is_zero = |rest: &str| numbers(rest).first().is_some_and(|n| n.parse::<f64>().unwrap() == 0.0);
        prop_assert!(!text.strip_prefix(bound).is_some_and(is_zero), "{text}: nothing is less than nothing");
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_number_has_three_digits_and_a_unit_and_is_what_it_was(value in any_number(), which in 0..4usize) {
        let unit = UNITS[which];
        for text in [unit.show(value), unit.signed(value)] {
            if !is_number(value) {
                prop_assert_eq!(text, UNKNOWN);
                continue;
            }
            no_impossible_number(&text)?;
            let shown = numbers(&text);
            prop_assert_eq!(shown.len(), 1, "{}", text);
            let number: f64 = shown[0].parse().unwrap();
            if text.contains('<') || text.contains('>') {
                prop_assert!(value.abs() < 0.05 && value != 0.0, "{text} of {value}");
                continue;
            }
            // Half a step of the last digit.
            let places = shown[0].split_once('.').map_or(0, |(_, fraction)| fraction.len());
            let error = (number * factor(unit, &text) - value).abs();
            let step = 10f64.powi(-(places as i32)) * factor(unit, &text);
            prop_assert!(error <= step * 0.5001 + value.abs() * 1e-12, "{text} of {value}");
            let digits = shown[0].chars().filter(char::is_ascii_digit).count();
            let is_open = matches!(unit, Unit::Count | Unit::Share)
                || text.ends_with(" B") || text.ends_with(" PiB") || text.ends_with(" days") || text.ends_with(" s");
            prop_assert!(digits <= 3 || is_open, "{text} of {value}");
        }
    }

    #[test]
    fn estimates_hold_what_they_were(
        value in any_number(), below in any_number(), above in any_number(), which in 0..4usize
    ) {
        let unit = UNITS[which];
        let (low, high) = (value - below.abs(), value + above.abs());
        for text in [estimate(unit, value, low, high), known(unit, value, low, high)] {
            no_impossible_number(&text)?;
            let is_time = unit == Unit::Time && !text.ends_with(" s") && !text.ends_with("days");
            prop_assert!(!(is_time && text.contains(',')), "{text} of {low} to {high}: another unit");
            prop_assert!(!text.contains("± 0 ") && !text.contains("inf") && !text.contains("NaN"), "{text}");
            if let Some(bound) = text.strip_prefix("under ").or(text.strip_prefix("< "))
                && text != "< 0.1 %"
            {
                let most: f64 = numbers(bound)[0].parse().unwrap();
                prop_assert!(most * factor(unit, bound) >= high * (1.0 - 1e-6), "{text} of {low} to {high}");
            }
            if let Some((from, to)) = text.split_once(" to ") {
                let ends: Vec<f64> = [from, to].iter().map(|end| numbers(end)[0].parse().unwrap()).collect();
                prop_assert!(ends[0] <= ends[1], "{text}");
            }
        }
    }

    #[test]
    fn dates_are_dates(ns in 1..u64::MAX) {
        let date = super::date(ns);
        let parts: Vec<u64> = date.split(['-', ' ', ':']).map(|part| part.parse().unwrap()).collect();
        prop_assert!(parts.len() == 5 && (1970..2555).contains(&parts[0]), "{date}");
        prop_assert!((1..13).contains(&parts[1]) && (1..32).contains(&parts[2]) && parts[3] < 24 && parts[4] < 60, "{date}");
    }
}
