//! Numbers that are not known exactly.

use super::UNKNOWN;
use super::unit::{Step, Unit, grouped, is_number, is_zero, minus, with_unit};

/// A number between `low` and `high`, cut to the digits that are known: `12 ± 3 ms`, or `8 to 19 ms` where the error is not
/// the same on both sides; `under 4 ms` where zero is possible or what is shown of the lower end, and `at least 8 ms` where its
/// upper end is not known.
pub fn estimate(unit: Unit, value: f64, low: f64, high: f64) -> String {
    let (below, above) = (value - low, high - value);
    cut("at least", unit, value, low, high, |cut| match () {
        () if value >= 0.0 && (is_noise(low, high) || is_zero(&cut.number(low))) => format!("under {}", cut.up(high)),
        () if below > 1.5 * above || above > 1.5 * below => format!("{} to {}", cut.number(low), cut.number(high)),
        () => format!("{} ± {}", cut.number(value), cut.number(below.max(above))),
    })
}

/// The same for tables, without the error: `12 ms`, `< 4 ms`.
pub fn known(unit: Unit, value: f64, low: f64, high: f64) -> String {
    cut(">", unit, value, low, high, |cut| match is_noise(low, high) {
        true => format!("< {}", cut.up(high)),
        false => cut.number(value),
    })
}

/// What `text` makes of the digits that are known, with the unit; behind `at_least`, the lower end of an interval whose upper
/// end is not known.
fn cut(at_least: &str, unit: Unit, value: f64, low: f64, high: f64, text: impl FnOnce(&Cut) -> String) -> String {
    if high == f64::INFINITY && is_number(low) && is_number(value) {
        return format!("{at_least} {}", unit.show(low));
    }
    match Cut::of(unit, value, low, high) {
        Ok(cut) => with_unit(&text(&cut), cut.step),
        Err(text) => text,
    }
}

/// A number and its interval, each in three digits: `520 ms (493 ms to 541 ms)`; without an interval that has no width, and
/// `at least 71 ms, likely 120 ms` where its upper end is not known, and `likely 120 ms, perhaps much more` where nothing is
/// certain.
pub fn ranged(unit: Unit, value: f64, low: f64, high: f64) -> String {
    if high == f64::INFINITY && is_number(low) {
        let [least, likely] = [low, value].map(|end| unit.show(end));
        return match () {
            () if low <= 0.0 => format!("likely {likely}, perhaps much more"),
            () if least == likely => format!("at least {least}"),
            () => format!("at least {least}, likely {likely}"),
        };
    }
    let [low, value, high] = [low, value, high].map(|end| unit.show(end));
    if low == high { value } else { format!("{value} ({low} to {high})") }
}

/// A difference with its sign and its error, cut to the digits that are known: `-35 ± 15 ms`.
pub fn change(unit: Unit, value: f64, margin: f64) -> String {
    let Ok(cut) = Cut::of(unit, value, value - margin, value + margin) else { return unit.signed(value) };
    let number = cut.number(value);
    let sign = if value > 0.0 && !is_zero(&number) { "+" } else { "" };
    with_unit(&format!("{sign}{number} ± {}", cut.number(margin)), cut.step)
}

fn is_noise(low: f64, high: f64) -> bool {
    low <= 0.0 && high > 0.0
}

/// How many digits are known, and in which unit they are written.
struct Cut {
    step: &'static Step,
    digits: i32,
}

impl Cut {
    /// Digits behind the point at the most.
    const MOST: i32 = 3;

    /// Else the number as it is, if it has no error that can be written.
    fn of(unit: Unit, value: f64, low: f64, high: f64) -> Result<Cut, String> {
        let all = [value, low, high];
        if !all.iter().all(|number| is_number(*number)) {
            return Err(UNKNOWN.to_owned());
        }
        let margin = (value - low).max(high - value);
        let largest = all.iter().fold(0.0, |most: f64, at| most.max(at.abs()));
        let step = unit.step(largest);
        let scaled = margin / step.factor;
        if scaled < 0.5 * 10f64.powi(-Self::MOST) {
            return Err(unit.show(value));
        }
        let cut = Cut::with(unit, step, margin);
        // What is rounded up to 1,000 of a step is 1 of the next.
        let rounded = (largest / step.factor / cut.size()).ceil() * cut.size() * step.factor;
        Ok(Cut::with(unit, unit.step(rounded), margin))
    }

    fn with(unit: Unit, step: &'static Step, margin: f64) -> Cut {
        // An error has one digit, two if the first is a 1.
        let scaled = margin / step.factor;
        let first = scaled.log10().floor();
        let digits = if scaled / 10f64.powf(first) < 2.0 { 1.0 - first } else { -first };
        // There are no parts of a byte, and hardly of a thing that was counted.
        let most = if step.factor == 1.0 && unit != Unit::Time { 1 } else { Self::MOST };
        Cut { step, digits: (digits as i32).clamp(-12, most) }
    }

    fn size(&self) -> f64 {
        10f64.powi(-self.digits)
    }

    fn number(&self, value: f64) -> String {
        self.text((value / self.step.factor / self.size()).round())
    }

    /// A bound: rounded up, so that it stays true.
    fn up(&self, value: f64) -> String {
        // What is a step but for the inexactness of binary fractions is not the next one.
        self.text((value / self.step.factor / self.size() - 1e-9).ceil().max(1.0))
    }

    fn text(&self, steps: f64) -> String {
        minus(&grouped((steps * self.size()).abs(), self.digits.max(0) as usize), steps < 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_no_more_digits_than_its_error() {
        let change = |value, margin| change(Unit::Time, value, margin);
        assert_eq!(change(-34.6e6, 14.7e6), "-35 ± 15 ms");
        assert_eq!(change(191e6, 28e6), "+190 ± 30 ms");
        assert_eq!(change(2e3, 24.5e3), "0 ± 20 µs");
        assert_eq!(change(-954e3, 0.0), "-954 µs");
        assert_eq!(super::change(Unit::Count, 390.0, 0.0), "+390");
    }

    #[test]
    fn estimates_have_the_digits_that_are_known() {
        let of = |value: f64, low: f64, high: f64| {
            let of = |text: fn(Unit, f64, f64, f64) -> String| text(Unit::Time, value * 1e9, low * 1e9, high * 1e9);
            (of(estimate), of(known))
        };
        let texts = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(of(0.0123, 0.0091, 0.0155), texts("12 ± 3 ms", "12 ms"));
        assert_eq!(of(0.163, 0.151, 0.175), texts("163 ± 12 ms", "163 ms"));
        assert_eq!(of(0.834, 0.5, 0.9), texts("500 to 900 ms", "800 ms"));
        assert_eq!(of(1.5e-3, -1e-3, 4.1e-3), texts("under 5 ms", "< 5 ms"));
        // 0.05 to 2.95 ms: an error of 1.7 ms would reach below zero.
        assert_eq!(of(1.28e-3, 0.049e-3, 2.95e-3), texts("under 3.0 ms", "1.3 ms"));
        assert_eq!(of(-0.003, -0.009, 0.003), texts("-3 ± 6 ms", "< 3 ms"));
        assert_eq!(of(0.0123, 0.0123, 0.0123), texts("12.3 ms", "12.3 ms"));
        assert_eq!(of(4.2e-9, 3.1e-9, 5.3e-9), texts("4.2 ± 1.1 ns", "4.2 ns"));
        assert_eq!(of(-0.5e-3, -1.70637e-4, 5.2e-3).0, "-0 to 5 ms".replace("-0", "0"));
        assert_eq!(of(-0.002, -0.17, 1e-6), texts("-170 to 0 ms", "< 10 ms"));
        assert_eq!(of(0.2, 0.1, f64::INFINITY), texts("at least 100 ms", "> 100 ms"));
        assert_eq!(of(0.0, -1e-6, 0.99996e-6).1, "< 1.0 µs");
        assert_eq!(of(f64::NAN, 0.1, 0.2), texts("not known", "not known"));
    }

    #[test]
    fn other_units_too() {
        assert_eq!(estimate(Unit::Count, 16_384.0, 16_300.0, 16_468.0), "16,380 ± 80");
        assert_eq!(estimate(Unit::Count, 16_384.0, 16_384.0, 16_384.0), "16,384");
        assert_eq!(estimate(Unit::Bytes, 3.0 * 1048576.0, 2.0 * 1048576.0, 4.0 * 1048576.0), "3.0 ± 1.0 MiB");
        assert_eq!(estimate(Unit::Share, 0.423, 0.123, 0.723), "40 ± 30 %");
        assert_eq!(known(Unit::Share, 0.423, 0.422, 0.424), "42.30 %");
    }
}
