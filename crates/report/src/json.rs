//! Answers as JSON, for scripts. `docs/json.md` describes it; names are stable within a schema version.

mod indented;

use indented::OuterLevels;
use memtoll_analysis::sites::GroupBy;
use memtoll_query::export::Export;
use memtoll_query::{Answer, Impossible, View};
use serde::Serialize;
use serde_json::Serializer;
use std::io::Write;

/// An answer as it is.
pub struct Json;

impl Export for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn help(&self) -> &'static str {
        "All that the report knows, for scripts (docs/json.md)"
    }

    fn view(&self, asked: View) -> Result<View, &'static str> {
        Ok(match asked {
            View::Totals => View::Table { group: GroupBy::Site, limit: None },
            asked => asked,
        })
    }

    fn has_details(&self) -> bool {
        true
    }

    fn refusal(&self, why: &Impossible) -> Option<String> {
        why.json().ok()
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        answer.serialize(&mut Serializer::with_formatter(&mut *out, OuterLevels::default()))?;
        out.write_all(b"\n")
    }
}
