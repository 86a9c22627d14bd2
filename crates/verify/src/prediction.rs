//! What a finding promises to save, from a JSON file (docs/verify.md).

use crate::Error;
use crate::interval::Interval;
use crate::metric::Metric;
use memtoll_text::Quantity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// A saving as a range, in the metric's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// At least.
    pub low: f64,
    /// Most likely.
    pub likely: f64,
    /// At most; infinite where there is no known upper bound (in JSON null).
    #[serde(deserialize_with = "or_infinite")]
    pub high: f64,
}

fn or_infinite<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Option::<f64>::deserialize(from).map(|high| high.unwrap_or(f64::INFINITY))
}

/// What one figure is promised to save.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Which.
    pub metric: Metric,
    /// By how much.
    pub saves: Range,
}

/// Whether a promise came true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What was saved lies in the range.
    Inside,
    /// It does not, and neither does any part of its interval.
    Outside,
    /// The interval is partly inside.
    CannotSay,
    /// What was saved cannot be measured here.
    NotMeasured,
}

/// A build with other code has a page more or less, whatever the change. A miss by this share of the run is none.
const NOTHING: f64 = 0.001;

impl Prediction {
    /// Compares it with what was saved of what was there before.
    pub fn judge(&self, saved: Option<&Interval>, before: Option<&Interval>) -> Verdict {
        let Some(saved) = saved else { return Verdict::NotMeasured };
        let nothing = before.map_or(0.0, |before| before.median * NOTHING);
        let (low, high) = (self.saves.low - nothing, self.saves.high + nothing);
        match () {
            () if (low..=high).contains(&saved.median) => Verdict::Inside,
            () if saved.high < low || saved.low > high => Verdict::Outside,
            () => Verdict::CannotSay,
        }
    }
}

#[derive(Deserialize)]
struct Advice {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    id: String,
    #[serde(default)]
    saves: BTreeMap<String, Range>,
}

/// The predictions of the finding with this id, from a JSON file with `findings`.
pub fn of(file: &Path, finding: &str) -> Result<Vec<Prediction>, Error> {
    let name = file.display().to_string();
    match std::fs::read_to_string(file) {
        Ok(text) => in_text(&text, &name, finding),
        Err(error) => Err(Error::Prediction { file: name, what: error.to_string() }),
    }
}

/// The same from its text; `file` names it in errors.
pub fn in_text(text: &str, file: &str, finding: &str) -> Result<Vec<Prediction>, Error> {
    let wrong = |what: String| Error::Prediction { file: file.to_owned(), what };
    let advice: Advice = serde_json::from_str(text)
        .map_err(|error| wrong(format!("expected JSON with \"findings\" (docs/verify.md), found: {error}")))?;
    let Some(found) = advice.findings.iter().find(|one| one.id == finding) else {
        let known: Vec<&str> = advice.findings.iter().map(|one| one.id.as_str()).collect();
        let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has: {}", known.join(", ")) };
        return Err(wrong(format!("there is no finding \"{finding}\"; {known}")));
    };
    let promised = |metric: Metric| {
        let saves = *found.saves.get(metric.key()).filter(|_| metric.is_predicted())?;
        // Of a figure that is 0, the finding says nothing.
        (saves != Range { low: 0.0, likely: 0.0, high: 0.0 }).then_some(Prediction { metric, saves })
    };
    Ok(Metric::ALL.into_iter().filter_map(promised).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_upper_end_is_only_too_little() {
        let range: Range = serde_json::from_str(r#"{"low": 10, "likely": 20, "high": null}"#).unwrap();
        let prediction = Prediction { metric: Metric::Cpu, saves: range };
        let judge = |low, median, high| prediction.judge(Some(&Interval { median, low, high }), None);
        assert_eq!(judge(900.0, 1000.0, 1100.0), Verdict::Inside);
        assert_eq!(judge(1.0, 2.0, 3.0), Verdict::Outside);
        assert!(serde_json::to_string(&range).unwrap().contains("\"high\":null"));
    }

    #[test]
    fn findings_are_found_by_their_ids() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = r#"{"findings": [{"id": "growth-1", "rule": "growth", "saves": {
            "cpu_ns": {"low": 10, "likely": 20, "high": 30}, "resident_peak_bytes": {"low": -5, "likely": 0, "high": 5},
            "faults": {"low": 0, "likely": 0, "high": 0}, "allocations": {"low": 7, "likely": 7, "high": 7}}}]}"#;
        std::fs::write(&file, text).unwrap();
        let found = of(file.path(), "growth-1").unwrap();
        assert_eq!(found.iter().map(|one| one.metric).collect::<Vec<_>>(), [Metric::Cpu, Metric::ResidentPeak]);
        assert!(of(file.path(), "arena-1").unwrap_err().to_string().ends_with("it has: growth-1"));
        std::fs::write(&file, "{}").unwrap();
        assert!(of(file.path(), "growth-1").unwrap_err().to_string().contains("expected JSON with"));
    }

    #[test]
    fn what_is_saved_is_inside_outside_or_not_known() {
        let prediction = Prediction { metric: Metric::Cpu, saves: Range { low: 10.0, likely: 20.0, high: 30.0 } };
        let before = Interval { median: 1000.0, low: 990.0, high: 1010.0 };
        let judge = |low, median, high| prediction.judge(Some(&Interval { median, low, high }), Some(&before));
        assert_eq!(judge(15.0, 29.0, 40.0), Verdict::Inside);
        assert_eq!(judge(32.0, 35.0, 40.0), Verdict::Outside);
        assert_eq!(judge(25.0, 35.0, 40.0), Verdict::CannotSay);
        assert_eq!(prediction.judge(None, Some(&before)), Verdict::NotMeasured);
        // Within a thousandth of the run.
        assert_eq!(judge(9.0, 9.0, 9.0), Verdict::Inside);
        assert_eq!(judge(8.9, 8.9, 8.9), Verdict::Outside);
    }
}
