//! The types and units of columns, and how each column is described.

use memtoll_text::format;
use memtoll_trace::ids::{ImageNo, ThreadNo};
use parquet::data_type::ByteArray;
use std::borrow::Cow;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Signed, 64 bits.
    Integer,
    /// 64 bits.
    Float,
    /// UTF-8.
    Text,
    /// True or false.
    Truth,
    /// Microseconds since 1970, UTC.
    Instant,
    /// A list of integers.
    Integers,
}

impl Kind {
    /// What SQL calls it.
    pub fn sql(self) -> &'static str {
        match self {
            Kind::Integer => "BIGINT",
            Kind::Float => "DOUBLE",
            Kind::Text => "VARCHAR",
            Kind::Truth => "BOOLEAN",
            Kind::Instant => "TIMESTAMP",
            Kind::Integers => "BIGINT[]",
        }
    }
}

/// The unit of a column's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// A name, a number that stands for something, a text.
    None,
    /// A number of things.
    Count,
    /// Bytes.
    Bytes,
    /// Nanoseconds. Points in time count from the beginning of the recording.
    Nanoseconds,
}

impl Unit {
    /// What the documentation calls it.
    pub fn name(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Count => "count",
            Unit::Bytes => "bytes",
            Unit::Nanoseconds => "ns",
        }
    }
}

impl From<format::Unit> for Unit {
    fn from(unit: format::Unit) -> Unit {
        match unit {
            format::Unit::Share => Unit::None,
            format::Unit::Count => Unit::Count,
            format::Unit::Bytes => Unit::Bytes,
            format::Unit::Time => Unit::Nanoseconds,
        }
    }
}

/// How the values of a column are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Each value once, as long as there are few.
    Dictionary,
    /// As the difference to the value before: ids and times.
    Differences,
    /// Each value once, as there are few in all rows, and it is known which one a row has.
    Few,
}

/// What is known of a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name.
    pub name: Cow<'static, str>,
    /// What its values are.
    pub kind: Kind,
    /// Their unit.
    pub unit: Unit,
    /// Whether some may be null: not known, or there is none.
    pub is_optional: bool,
    /// How they are packed.
    pub packing: Packing,
    /// A sentence for a reader who is new to it.
    pub help: Cow<'static, str>,
}

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Not known, or there is none.
    Null,
    /// Of [`Kind::Integer`] and [`Kind::Instant`].
    Integer(i64),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Text`].
    Text(ByteArray),
    /// Of [`Kind::Truth`].
    Truth(bool),
}

macro_rules! values {
    ($($from:ty => $value:expr;)*) => {
        $(impl From<$from> for Value {
            fn from(value: $from) -> Value {
                let convert: fn($from) -> Value = $value;
                convert(value)
            }
        })*
    };
}

values! {
    i64 => Value::Integer;
    u32 => |value| Value::Integer(value.into());
    ImageNo => |image| image.get().into();
    ThreadNo => |thread| thread.get().into();
    // Only a damaged recording has such large ones.
    u64 => |value| i64::try_from(value).map_or(Value::Null, Value::Integer);
    f64 => Value::Float;
    bool => Value::Truth;
    String => |value| Value::Text(value.into_bytes().into());
    ByteArray => Value::Text;
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(value.into())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}
