//! For programs; docs/advice.md describes it.

use crate::finding::Advice;

/// The advice as JSON.
pub fn json(advice: &Advice) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(advice)? + "\n")
}
