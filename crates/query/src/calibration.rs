//! What the program takes without the recorder.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::calibration::{CONFIDENCE, Figure, Runs, plain, recorded};
use memtoll_model::Recording;
use memtoll_text::Quantity;
use memtoll_text::format;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The runs without the recorder, and those with it.
#[derive(Serialize)]
pub struct Calibration {
    pub started: String,
    pub confidence: f64,
    pub sample_ns: u64,
    pub sees_kernel: bool,
    pub refused: Option<String>,
    pub plain: Value,
    pub recorded: Value,
}

/// For JSON; figures that are not known are left out.
pub(crate) fn calibration(recording: &Recording) -> Option<Calibration> {
    let calibration = recording.calibration.as_ref()?;
    let figures = |runs: Runs| {
        let known =
            Figure::ALL.into_iter().filter_map(|figure| Some((figure.key().to_owned(), json!(runs.of(figure)?))));
        Value::Object(known.collect::<Map<String, Value>>())
    };
    Some(Calibration {
        started: format::date(calibration.started),
        confidence: CONFIDENCE,
        sample_ns: calibration.period,
        sees_kernel: calibration.sees_kernel,
        refused: calibration.refused.clone(),
        plain: figures(plain(calibration)),
        recorded: figures(recorded(calibration)),
    })
}
