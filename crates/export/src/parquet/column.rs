//! Columns of tables. A column is declared once: the file's schema, the tables in `docs/sql.md` and the tests come from it.

use memtoll_analysis::metric::{Metric, TABLE};
use memtoll_query::{Figures, Interval};
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
    /// Of [`Kind::Integers`].
    Integers(Vec<i64>),
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
    Vec<i64> => Value::Integers;
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

/// A column of a table with rows of this type.
pub struct Column<R> {
    /// What is known of it.
    pub about: About,
    value: Box<dyn Fn(&R) -> Value>,
}

impl<R> Column<R> {
    /// A column of which every row has a value.
    pub fn new(
        kind: Kind,
        name: impl Into<Cow<'static, str>>,
        unit: Unit,
        help: impl Into<Cow<'static, str>>,
        value: impl Fn(&R) -> Value + 'static,
    ) -> Column<R> {
        let (name, help) = (name.into(), help.into());
        let about = About { name, kind, unit, is_optional: false, packing: Packing::Dictionary, help };
        Column { about, value: Box::new(value) }
    }

    /// A text.
    pub fn text(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Text, name, Unit::None, help, value)
    }

    /// A number that stands for something.
    pub fn id(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Integer, name, Unit::None, help, value)
    }

    /// A number of things.
    pub fn count(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Integer, name, Unit::Count, help, value).optional()
    }

    /// Bytes.
    pub fn bytes(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Integer, name, Unit::Bytes, help, value).optional()
    }

    /// Nanoseconds.
    pub fn ns(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Integer, name, Unit::Nanoseconds, help, value).optional()
    }

    /// True or false.
    pub fn truth(name: &'static str, help: &'static str, value: impl Fn(&R) -> Value + 'static) -> Column<R> {
        Column::new(Kind::Truth, name, Unit::None, help, value)
    }

    /// Some rows have no value.
    pub fn optional(mut self) -> Column<R> {
        self.about.is_optional = true;
        self
    }

    /// Each value is near the one before.
    pub fn in_order(mut self) -> Column<R> {
        self.about.packing = Packing::Differences;
        self
    }

    /// The value of a row.
    pub fn of(&self, row: &R) -> Value {
        (self.value)(row)
    }
}

/// The columns of all metrics, with the names that JSON has.
pub fn metrics<R: 'static>(figures: fn(&R) -> &Figures) -> impl Iterator<Item = Column<R>> {
    TABLE.iter().map(move |about| {
        let value = move |row: &R| figures(row).of(about.metric).into();
        Column::new(Kind::Integer, about.key, about.unit.into(), about.help, value).optional()
    })
}

/// The columns of the ends of these metrics' intervals.
pub fn intervals<R: 'static>(figures: fn(&R) -> &Figures, of: &[Metric]) -> impl Iterator<Item = Column<R>> {
    of.iter().flat_map(move |&metric| {
        let about = metric.about();
        let low: fn(Interval) -> i64 = |both| both.low;
        let ends = [("low", "Lower", low), ("high", "Upper", |both| both.high)];
        ends.map(|(end, which, of)| {
            let value = move |row: &R| figures(row).interval(metric).map(of).into();
            let name = about.key;
            let help = format!("{which} end of the interval in which {name} is in 95 of 100 recordings.");
            Column::new(Kind::Integer, format!("{name}_{end}"), about.unit.into(), help, value).optional()
        })
    })
}
