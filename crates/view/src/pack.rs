//! What the front end reads: a JSON object and columns of numbers in one piece.
//!
//! ```text
//! u32  length of the object, bytes
//! ...  the object; its "columns" lists name, type and length of each column
//! ...  the columns, one behind the other
//! ```
//!
//! All numbers are little-endian. A column has the smallest type that holds its numbers exactly. `viewer/src/model/pack.ts`
//! reads it. Which packs there are, and what is in them, [`crate::packs`] declares.

use crate::packs::{Columns, Declared};
use serde_json::{Map, Value, json};

/// A pack that is being filled.
#[derive(Clone, Default)]
pub struct Pack {
    name: &'static str,
    head: Map<String, Value>,
    columns: Vec<Value>,
    data: Vec<u8>,
    /// What was written, to be held against the declaration.
    written: Vec<String>,
}

impl Pack {
    /// A pack with this object.
    pub(crate) fn new<D: Declared>(head: &D) -> Pack {
        let head = match serde_json::to_value(head) {
            Ok(Value::Object(head)) => head,
            _ => Map::new(),
        };
        Pack { name: D::NAME, head, ..Pack::default() }
    }

    /// What it is called where it is declared.
    #[cfg(test)]
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// All columns with their numbers.
    #[cfg(test)]
    pub(crate) fn numbers(&self) -> Vec<(String, Vec<f64>)> {
        let mut data = &self.data[..];
        let column = |column: &Value| {
            let (name, length) = (column[0].as_str().unwrap(), column[2].as_u64().unwrap() as usize);
            let numbers = (0..length).map(|_| match column[1].as_str().unwrap() {
                "u8" => f64::from(u8::from_le_bytes(*data.split_off(..1).unwrap().as_array().unwrap())),
                "u16" => f64::from(u16::from_le_bytes(*data.split_off(..2).unwrap().as_array().unwrap())),
                "u32" => f64::from(u32::from_le_bytes(*data.split_off(..4).unwrap().as_array().unwrap())),
                _ => f64::from_le_bytes(*data.split_off(..8).unwrap().as_array().unwrap()),
            });
            (name.to_owned(), numbers.collect())
        };
        self.columns.iter().map(column).collect()
    }

    /// Changes everything in the object.
    pub(crate) fn change(&mut self, change: impl Fn(&mut Value)) {
        self.head.values_mut().for_each(change);
    }

    /// Adds columns, whose names begin with `prefix`.
    pub(crate) fn columns(&mut self, prefix: &str, columns: &impl Columns) {
        for (name, values) in columns.each() {
            let name = format!("{prefix}.{name}");
            self.written.push(name.clone());
            self.column(&name, values);
        }
    }

    /// Adds a column of a family: of columns that are as many as metrics, or as generations.
    pub(crate) fn member(&mut self, family: &str, name: &str, values: &[f64]) {
        if !self.written.iter().any(|known| known.strip_suffix(".*") == Some(family)) {
            self.written.push(format!("{family}.*"));
        }
        self.column(&format!("{family}.{name}"), values);
    }

    /// Adds a column. Numbers beyond 2^53 lose their last digits.
    fn column(&mut self, name: &str, values: &[f64]) {
        let whole = values.iter().all(|value| value.fract() == 0.0 && *value >= 0.0);
        let most = values.iter().copied().fold(0.0, f64::max);
        let kind = match () {
            () if whole && most <= f64::from(u8::MAX) => "u8",
            () if whole && most <= f64::from(u16::MAX) => "u16",
            () if whole && most <= f64::from(u32::MAX) => "u32",
            () => "f64",
        };
        for &value in values {
            match kind {
                "u8" => self.data.push(value as u8),
                "u16" => self.data.extend_from_slice(&(value as u16).to_le_bytes()),
                "u32" => self.data.extend_from_slice(&(value as u32).to_le_bytes()),
                _ => self.data.extend_from_slice(&value.to_le_bytes()),
            }
        }
        self.columns.push(json!([name, kind, values.len()]));
    }

    /// The whole. It has what its declaration says, which is looked at where tests run.
    pub fn bytes(mut self) -> Vec<u8> {
        debug_assert_eq!(crate::packs::disagreement(self.name, &self.written), None);
        self.head.insert("columns".to_owned(), Value::Array(self.columns));
        let head = Value::Object(self.head).to_string();
        let mut bytes = Vec::with_capacity(4 + head.len() + self.data.len());
        bytes.extend_from_slice(&(head.len() as u32).to_le_bytes());
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(&self.data);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_the_smallest_type_that_is_exact() {
        let mut pack = Pack::default();
        pack.head.insert("name".to_owned(), json!("<x>"));
        pack.column("small", &[0.0, 255.0]);
        pack.column("middle", &[256.0]);
        pack.column("signed", &[-1.0]);
        pack.column("empty", &[]);
        let bytes = pack.bytes();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let head: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        assert_eq!(head["name"], "<x>");
        assert_eq!(
            head["columns"],
            json!([["small", "u8", 2], ["middle", "u16", 1], ["signed", "f64", 1], ["empty", "u8", 0]])
        );
        assert_eq!(bytes.len(), 4 + length + 2 + 2 + 8);
        assert_eq!(bytes[4 + length..][..4], [0, 255, 0, 1]);
    }
}
