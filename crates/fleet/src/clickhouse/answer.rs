//! What a server answers.

use crate::store::{Cell, Rows};
use serde_json::Value;

/// What another program than a ClickHouse server may answer.
#[derive(Debug, thiserror::Error)]
pub enum Unexpected {
    #[error("expected JSON, found {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected rows, found none")]
    NoRows,
    #[error("expected a row, found {0}")]
    Row(String),
    #[error("expected rows of {expected} columns, found one of {found}")]
    Columns { expected: usize, found: usize },
    #[error("expected a text or a number, found {0}")]
    Cell(String),
}

/// The rows of an answer, which another program than a ClickHouse server may have written.
pub fn rows(answer: &str, columns: usize) -> Result<Rows, Unexpected> {
    let json: Value = serde_json::from_str(answer)?;
    let rows = json["data"].as_array().ok_or(Unexpected::NoRows)?;
    let cell = |value: &Value| match value {
        Value::String(text) => Ok(Cell::Text(text.clone())),
        // Servers differ in whether they quote large whole numbers; a key is no approximate number.
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(Cell::Text(number.to_string())),
        Value::Number(number) => Ok(Cell::Number(number.as_f64().unwrap_or(0.0))),
        Value::Null => Ok(Cell::Number(0.0)),
        other => Err(Unexpected::Cell(beginning(other))),
    };
    let row = |row: &Value| {
        let cells = row.as_array().ok_or_else(|| Unexpected::Row(beginning(row)))?;
        match cells.len() == columns {
            true => cells.iter().map(cell).collect(),
            false => Err(Unexpected::Columns { expected: columns, found: cells.len() }),
        }
    };
    rows.iter().map(row).collect()
}

/// How a value begins, on one line.
fn beginning(value: &Value) -> String {
    value.to_string().chars().filter(|c| !c.is_control()).take(40).collect()
}
