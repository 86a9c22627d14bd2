//! The comparison for scripts. `docs/json.md` describes it.

use super::Diff;
use crate::json::{JsonMetrics, SCHEMA_VERSION};
use memtoll_analysis::diff::Change;
use serde::Serialize;

#[derive(Serialize)]
struct JsonChange<'a> {
    path: &'a [String],
    place: Option<&'a str>,
    before: Option<JsonMetrics>,
    after: Option<JsonMetrics>,
}

#[derive(Serialize)]
struct JsonDiff<'a> {
    schema_version: u32,
    before: JsonMetrics,
    after: JsonMetrics,
    functions: Vec<JsonChange<'a>>,
    paths: Vec<JsonChange<'a>>,
}

impl Diff<'_> {
    /// For scripts. The lists have what the text has, without a limit.
    pub fn json(&self) -> serde_json::Result<String> {
        let [before, after] = [0, 1].map(|side| JsonMetrics::new(self.totals()[side], &self.tariffs[side]));
        let text = serde_json::to_string_pretty(&JsonDiff {
            schema_version: SCHEMA_VERSION,
            before,
            after,
            functions: self.json_list(&self.functions),
            paths: self.json_list(&self.paths),
        })?;
        Ok(text + "\n")
    }

    fn json_list<'b>(&self, changes: &'b [Change]) -> Vec<JsonChange<'b>> {
        let [before, after] = &self.tariffs;
        let convert = |change: &'b Change| JsonChange {
            path: &change.name,
            place: change.place.as_deref(),
            before: change.before.as_ref().map(|metrics| JsonMetrics::new(metrics, before)),
            after: change.after.as_ref().map(|metrics| JsonMetrics::new(metrics, after)),
        };
        self.moved(changes).into_iter().map(convert).collect()
    }
}
