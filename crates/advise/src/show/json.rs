//! For programs; docs/advice.md describes it.

use crate::finding::Advice;

/// The advice as JSON.
///
/// # Errors
/// Never in practice: all of it can be written.
pub fn json(advice: &Advice) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(advice)? + "\n")
}
