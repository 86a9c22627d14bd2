//! One table as a Parquet file. Rows are written in groups, so memory is bounded.

use super::buffer::{Buffer, LEVEL};
use super::column::Column;
use super::kinds::{About, Kind, Packing};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Values of a group of rows at the least: they are in memory at once. Each column has those of a group in one page.
const GROUP: usize = 1 << 21;
/// Rows whose values are taken column by column.
const BATCH: usize = 1 << 10;

/// A table that is being written.
pub struct TableFile<R> {
    columns: Vec<Column<R>>,
    buffers: Vec<Buffer>,
    /// Rows that are in no buffer yet.
    next: Vec<R>,
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
        let buffers = columns.iter().map(Column::buffer).collect();
        Ok(TableFile { columns, buffers, next: Vec::with_capacity(BATCH), rows: 0, writer })
    }

    /// Writes a row.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn push(&mut self, row: R) -> std::io::Result<()> {
        self.next.push(row);
        if self.next.len() < BATCH {
            return Ok(());
        }
        self.fill()?;
        let values: usize = self.buffers.iter().map(Buffer::len).sum();
        if values >= GROUP { self.write_group() } else { Ok(()) }
    }

    fn fill(&mut self) -> std::io::Result<()> {
        for (column, buffer) in self.columns.iter().zip(&mut self.buffers) {
            column
                .fill(&self.next, buffer)
                .map_err(|why| std::io::Error::other(format!("{}: {why}", column.about.name)))?;
        }
        self.rows += self.next.len();
        self.next.clear();
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.fill()?;
        if self.rows > 0 {
            self.write_group()?;
        }
        self.writer.close().map_err(io_error)?;
        Ok(())
    }

    fn write_group(&mut self) -> std::io::Result<()> {
        let columns = self.writer.schema_descr().columns().to_vec();
        let mut group = self.writer.next_row_group().map_err(io_error)?;
        for (buffer, column) in self.buffers.iter_mut().zip(&columns) {
            buffer.write(&mut group, column).map_err(io_error)?;
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
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
        .set_created_by(made_by)
        // Statistics of pages would be those of groups.
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_row_count_limit(GROUP)
        .set_data_page_size_limit(GROUP * 16)
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
