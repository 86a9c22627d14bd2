//! The values of a column, until a group of rows is written.

use super::few_values::FewValues;
use super::kinds::{About, Kind, Packing, Value};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::ColumnDescPtr;
use std::fs::File;

pub use super::few_values::LEVEL;

/// The values of a group of rows.
pub struct Buffer {
    values: Values,
    /// For each value or null, whether it is there; nothing where all are.
    present: Option<Vec<i16>>,
    /// Of lists: whether a value goes on with the list of the one before.
    goes_on: Vec<i16>,
}

enum Values {
    Few(FewValues),
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
    Truth(Vec<bool>),
    Integers(Vec<i64>),
}

impl Buffer {
    /// Of a column; `words` are the texts of one with [`Packing::Few`].
    pub fn new(about: &About, words: &[ByteArray]) -> Buffer {
        let values = match about.kind {
            Kind::Text if about.packing == Packing::Few => Values::Few(FewValues::of_words(words)),
            Kind::Integer if about.packing == Packing::Few => Values::Few(FewValues::of_integers()),
            Kind::Integer | Kind::Instant => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Truth => Values::Truth(Vec::new()),
            Kind::Integers => Values::Integers(Vec::new()),
        };
        let has_levels = about.is_optional || about.kind == Kind::Integers;
        Buffer { values, present: has_levels.then(Vec::new), goes_on: Vec::new() }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Few(few) => few.len(),
            Values::Integer(all) | Values::Integers(all) => all.len(),
            Values::Float(all) => all.len(),
            Values::Text(all) => all.len(),
            Values::Truth(all) => all.len(),
        }
    }

    /// Appends one of the words.
    #[inline]
    pub fn push_word(&mut self, number: usize) -> std::result::Result<(), &'static str> {
        match &mut self.values {
            Values::Few(few) => few.push_word(number),
            _ => Err("a value is not of the column's type"),
        }
    }

    /// Appends a list.
    pub fn push_list(&mut self, list: &[i64]) -> std::result::Result<(), &'static str> {
        let (Values::Integers(all), Some(present)) = (&mut self.values, &mut self.present) else {
            return Err("a list is not of the column's type");
        };
        let levels = list.len().max(1);
        present.resize(present.len() + levels, i16::from(!list.is_empty()));
        self.goes_on.push(0);
        self.goes_on.resize(present.len(), 1);
        all.extend_from_slice(list);
        Ok(())
    }

    // Always inlined: each column pushes values of one kind.
    #[inline(always)]
    pub fn push(&mut self, value: Value) -> std::result::Result<(), &'static str> {
        let level = i16::from(value != Value::Null);
        match (&mut self.values, value) {
            (Values::Few(few), Value::Integer(value)) => few.push_integer(value),
            (Values::Integer(all), Value::Integer(value)) => all.push(value),
            (Values::Float(all), Value::Float(value)) => all.push(value),
            (Values::Text(all), Value::Text(value)) => all.push(value),
            (Values::Truth(all), Value::Truth(value)) => all.push(value),
            (_, Value::Null) if self.present.is_some() => {}
            (_, Value::Null) => return Err("a value is missing that every row must have"),
            _ => return Err("a value is not of the column's type"),
        }
        if let Some(present) = &mut self.present {
            present.push(level);
        }
        Ok(())
    }

    /// Writes all values as the next column of a group, and forgets them.
    pub fn write(&mut self, group: &mut SerializedRowGroupWriter<File>, column: &ColumnDescPtr) -> Result<()> {
        if let Values::Few(few) = &mut self.values {
            return few.write(group, column);
        }
        let Some(mut writer) = group.next_column()? else { return Ok(()) };
        let present = self.present.as_deref();
        match &mut self.values {
            Values::Integer(all) => writer.typed::<Int64Type>().write_batch(all, present, None),
            Values::Float(all) => writer.typed::<DoubleType>().write_batch(all, present, None),
            Values::Text(all) => writer.typed::<ByteArrayType>().write_batch(all, present, None),
            Values::Truth(all) => writer.typed::<BoolType>().write_batch(all, present, None),
            Values::Integers(all) => writer.typed::<Int64Type>().write_batch(all, present, Some(&self.goes_on)),
            Values::Few(_) => Ok(0),
        }?;
        writer.close()?;
        match &mut self.values {
            Values::Integer(all) | Values::Integers(all) => all.clear(),
            Values::Float(all) => all.clear(),
            Values::Text(all) => all.clear(),
            Values::Truth(all) => all.clear(),
            Values::Few(_) => {}
        }
        self.goes_on.clear();
        if let Some(present) = &mut self.present {
            present.clear();
        }
        Ok(())
    }
}
