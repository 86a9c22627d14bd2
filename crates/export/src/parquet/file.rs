//! One table as a Parquet file. Rows are written in groups, so memory is bounded.

use super::column::{About, Column, Kind, Packing, Value};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Rows of a group. They are in memory at once, some 100 bytes each.
const GROUP: usize = 1 << 17;

/// A table that is being written.
pub struct TableFile<R> {
    columns: Vec<Column<R>>,
    buffers: Vec<Buffer>,
    rows: usize,
    writer: SerializedFileWriter<File>,
}

impl<R> TableFile<R> {
    /// Makes the file.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or is there already.
    pub fn create(path: &Path, columns: Vec<Column<R>>) -> std::io::Result<TableFile<R>> {
        let abouts = || columns.iter().map(|column| &column.about);
        let schema = schema(abouts()).map_err(std::io::Error::other)?;
        let properties = Arc::new(properties(abouts()).map_err(std::io::Error::other)?);
        let file = File::options().write(true).create_new(true).open(path)?;
        let writer = SerializedFileWriter::new(file, schema, properties).map_err(io_error)?;
        let buffers = abouts().map(Buffer::new).collect();
        Ok(TableFile { columns, buffers, rows: 0, writer })
    }

    /// Writes a row.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn push(&mut self, row: &R) -> std::io::Result<()> {
        for (column, buffer) in self.columns.iter().zip(&mut self.buffers) {
            buffer
                .push(column.of(row))
                .map_err(|why| std::io::Error::other(format!("{}: {why}", column.about.name)))?;
        }
        self.rows += 1;
        if self.rows == GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self) -> std::io::Result<()> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map_err(io_error)?;
        Ok(())
    }

    fn write_group(&mut self) -> std::io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for buffer in &mut self.buffers {
            let Some(mut column) = group.next_column().map_err(io_error)? else { break };
            buffer.write(&mut column).map_err(io_error)?;
            column.close().map_err(io_error)?;
        }
        group.close().map_err(io_error)?;
        self.rows = 0;
        Ok(())
    }
}

/// The error of the disk, where it is one.
fn io_error(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<std::io::Error>() {
            Ok(error) => *error,
            Err(error) => std::io::Error::other(error),
        },
        error => std::io::Error::other(error),
    }
}

fn schema<'a>(columns: impl Iterator<Item = &'a About>) -> Result<TypePtr> {
    let fields = columns.map(|about| field(about).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    Type::group_type_builder("memtoll").with_fields(fields).build().map(Arc::new)
}

fn field(about: &About) -> Result<Type> {
    let (physical, logical) = match about.kind {
        Kind::Integer => (Physical::INT64, None),
        Kind::Float => (Physical::DOUBLE, None),
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Truth => (Physical::BOOLEAN, None),
        Kind::Instant => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        Kind::Integers => return list(&about.name),
    };
    let repetition = if about.is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let field = Type::primitive_type_builder(&about.name, physical);
    field.with_repetition(repetition).with_logical_type(logical).build()
}

/// A list, in the three levels that the format asks for.
fn list(name: &str) -> Result<Type> {
    let element = Type::primitive_type_builder("element", Physical::INT64).with_repetition(Repetition::REQUIRED);
    let repeated = Type::group_type_builder("list")
        .with_repetition(Repetition::REPEATED)
        .with_fields(vec![Arc::new(element.build()?)])
        .build()?;
    Type::group_type_builder(name)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(Some(LogicalType::List))
        .with_fields(vec![Arc::new(repeated)])
        .build()
}

fn properties<'a>(columns: impl Iterator<Item = &'a About>) -> Result<WriterProperties> {
    let made_by = format!("memtoll {}", env!("CARGO_PKG_VERSION"));
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(made_by)
        .set_key_value_metadata(Some(vec![KeyValue::new(
            "memtoll.schema_version".to_owned(),
            super::SCHEMA_VERSION.to_string(),
        )]));
    for about in columns {
        let path = match about.kind {
            Kind::Integers => ColumnPath::new(vec![about.name.to_string(), "list".into(), "element".into()]),
            _ => ColumnPath::from(about.name.as_ref()),
        };
        if matches!(about.kind, Kind::Integer | Kind::Instant | Kind::Integers) {
            // Also what follows where there are too many values for a dictionary.
            properties = properties.set_column_encoding(path.clone(), Encoding::DELTA_BINARY_PACKED);
        }
        if about.packing == Packing::Differences {
            properties = properties.set_column_dictionary_enabled(path, false);
        }
    }
    Ok(properties.build())
}

/// The values of a group of rows.
struct Buffer {
    values: Values,
    /// For each value or null, whether it is there; nothing where all are.
    present: Option<Vec<i16>>,
    /// Of lists: whether a value goes on with the list of the one before.
    goes_on: Vec<i16>,
}

enum Values {
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Text(Vec<ByteArray>),
    Truth(Vec<bool>),
    Integers(Vec<i64>),
}

impl Buffer {
    fn new(about: &About) -> Buffer {
        let values = match about.kind {
            Kind::Integer | Kind::Instant => Values::Integer(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Text => Values::Text(Vec::new()),
            Kind::Truth => Values::Truth(Vec::new()),
            Kind::Integers => Values::Integers(Vec::new()),
        };
        let has_levels = about.is_optional || about.kind == Kind::Integers;
        Buffer { values, present: has_levels.then(Vec::new), goes_on: Vec::new() }
    }

    fn push(&mut self, value: Value) -> std::result::Result<(), &'static str> {
        let level = i16::from(value != Value::Null);
        match (&mut self.values, value) {
            (Values::Integers(all), Value::Integers(list)) => {
                let present = self.present.get_or_insert_default();
                present.extend(if list.is_empty() { vec![0] } else { vec![1; list.len()] });
                self.goes_on.extend((0..list.len().max(1)).map(|at| i16::from(at > 0)));
                all.extend(list);
                return Ok(());
            }
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

    /// Writes all values, and forgets them.
    fn write(&mut self, column: &mut SerializedColumnWriter) -> Result<()> {
        let present = self.present.as_deref();
        match &mut self.values {
            Values::Integer(all) => column.typed::<Int64Type>().write_batch(all, present, None),
            Values::Float(all) => column.typed::<DoubleType>().write_batch(all, present, None),
            Values::Text(all) => column.typed::<ByteArrayType>().write_batch(all, present, None),
            Values::Truth(all) => column.typed::<BoolType>().write_batch(all, present, None),
            Values::Integers(all) => column.typed::<Int64Type>().write_batch(all, present, Some(&self.goes_on)),
        }?;
        match &mut self.values {
            Values::Integer(all) | Values::Integers(all) => all.clear(),
            Values::Float(all) => all.clear(),
            Values::Text(all) => all.clear(),
            Values::Truth(all) => all.clear(),
        }
        self.goes_on.clear();
        if let Some(present) = &mut self.present {
            present.clear();
        }
        Ok(())
    }
}
