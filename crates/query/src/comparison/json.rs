//! The comparison for scripts. `docs/json.md` describes it.

use super::{Comparison, Total, fate};
use crate::schema_version::SCHEMA_VERSION;
use memtoll_analysis::diff::{CONFIDENCE, Change, Quantity, Samples, Values};
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Frames};
use serde::Serialize;
use std::collections::BTreeMap;

/// A number before and after. Means, where there are several recordings.
#[derive(Serialize)]
struct JsonNumber {
    before: Option<f64>,
    after: Option<f64>,
    difference: Option<f64>,
    /// In which the difference lies with the confidence that is given; null with a single recording on a side, unless it is
    /// of times.
    interval: Option<[f64; 2]>,
}

type JsonNumbers = BTreeMap<&'static str, JsonNumber>;

#[derive(Serialize)]
struct JsonFrame<'a> {
    function: &'a str,
    file: Option<&'a str>,
    line: Option<u32>,
    module: &'a str,
}

#[derive(Serialize)]
struct JsonChange<'a> {
    fate: &'static str,
    /// As the text calls it.
    name: String,
    r#type: Option<&'a str>,
    /// The frame that leads, after the change or, if it is gone, before.
    frame: Option<JsonFrame<'a>>,
    /// The same before the change, where it is on both sides.
    frame_before: Option<JsonFrame<'a>>,
    /// Function names, from the allocation outwards.
    path: Vec<&'a str>,
    #[serde(flatten)]
    numbers: JsonNumbers,
}

#[derive(Serialize)]
struct JsonRest {
    number: usize,
    #[serde(flatten)]
    numbers: JsonNumbers,
}

#[derive(Serialize)]
struct JsonDiff<'a> {
    schema_version: u32,
    before: Vec<String>,
    after: Vec<String>,
    /// Of the intervals.
    confidence: f64,
    group: &'static str,
    totals: JsonNumbers,
    changes: Vec<JsonChange<'a>>,
    /// The sum of the rows that changed too little for rows of their own.
    within_noise: JsonRest,
    /// What no row holds.
    elsewhere: JsonNumbers,
    /// `changes`, `within_noise` and `elsewhere` together.
    whole: JsonNumbers,
}

fn number(samples: &Samples) -> JsonNumber {
    let [before, after] = samples.means();
    let difference = samples.difference();
    let interval = samples.margin(CONFIDENCE).map(|margin| [difference - margin, difference + margin]);
    JsonNumber { before: Some(before), after: Some(after), difference: Some(difference), interval }
}

fn total(total: &Total) -> JsonNumber {
    match total.both() {
        Some(samples) => number(&samples),
        None => {
            let [before, after] = [0, 1].map(|side| total.mean(side).map(|mean| mean.value));
            JsonNumber { before, after, difference: None, interval: None }
        }
    }
}

fn key(quantity: Quantity) -> &'static str {
    quantity.metric().about().key
}

fn frame<'a>(frames: &'a Frames, row: &Row) -> Option<JsonFrame<'a>> {
    let Texts { function, file, line, module, .. } = Texts::of(frames, row.frame?);
    Some(JsonFrame { function, file, line, module })
}

impl Comparison<'_> {
    /// For scripts. The list has what the text has, without a limit.
    pub fn json(&self) -> serde_json::Result<String> {
        let paths =
            |side: usize| self.sides[side].iter().map(|run| run.recording.path().display().to_string()).collect();
        let changes = self.changes.iter().zip(self.names(&self.changes));
        let text = serde_json::to_string_pretty(&JsonDiff {
            schema_version: SCHEMA_VERSION,
            before: paths(0),
            after: paths(1),
            confidence: CONFIDENCE,
            group: self.thing(),
            totals: self.totals.iter().map(|one| (one.key, total(one))).collect(),
            changes: changes.map(|(change, name)| self.json_change(change, name)).collect(),
            within_noise: JsonRest {
                number: self.within_noise.len(),
                numbers: self.numbers(&self.together(&self.within_noise)),
            },
            elsewhere: self.numbers(&self.elsewhere),
            whole: self.numbers(&self.whole),
        })?;
        Ok(text + "\n")
    }

    fn numbers(&self, values: &Values) -> JsonNumbers {
        self.quantities().map(|quantity| (key(quantity), number(values.of(quantity)))).collect()
    }

    fn json_change<'b>(&'b self, change: &'b Change, name: String) -> JsonChange<'b> {
        let frames = &self.sides[change.side][change.run].recording.frames;
        let row_before = change.row_before.as_ref();
        let function = |id: &FrameId| Texts::of(frames, *id).function;
        JsonChange {
            fate: fate(change),
            name,
            r#type: change.row.type_name.as_deref(),
            frame: frame(frames, &change.row),
            frame_before: row_before.and_then(|(run, row)| frame(&self.sides[0][*run].recording.frames, row)),
            path: change.row.path.iter().map(function).collect(),
            numbers: self.numbers(&change.values),
        }
    }
}
