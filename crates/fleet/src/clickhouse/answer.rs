//! What a server answers.

use crate::store::{Cell, Rows};
use serde_json::Value;

/// The rows of an answer, which another program than a ClickHouse server may have written; or what is wrong with it.
pub fn rows(answer: &str, columns: usize) -> Result<Rows, String> {
    let json: Value = serde_json::from_str(answer).map_err(|error| format!("expected JSON, found {error}"))?;
    let rows = json["data"].as_array().ok_or("expected rows, found none")?;
    let cell = |value: &Value| match value {
        Value::String(text) => Ok(Cell::Text(text.clone())),
        // Servers differ in whether they quote large whole numbers; a key is no approximate number.
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(Cell::Text(number.to_string())),
        Value::Number(number) => Ok(Cell::Number(number.as_f64().unwrap_or(0.0))),
        Value::Null => Ok(Cell::Number(0.0)),
        other => Err(format!("expected a text or a number, found {}", beginning(other))),
    };
    let row = |row: &Value| {
        let cells = row.as_array().ok_or_else(|| format!("expected a row, found {}", beginning(row)))?;
        match cells.len() == columns {
            true => cells.iter().map(cell).collect(),
            false => Err(format!("expected rows of {columns} columns, found one of {}", cells.len())),
        }
    };
    rows.iter().map(row).collect()
}

/// How a value begins, on one line.
fn beginning(value: &Value) -> String {
    value.to_string().chars().filter(|c| !c.is_control()).take(40).collect()
}
