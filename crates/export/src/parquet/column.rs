//! Columns of tables. A column is declared once: the file's schema, the tables in `docs/sql.md` and the tests come from it.

use super::buffer::Buffer;
use super::kinds::{About, Kind, Packing, Unit, Value};
use memtoll_analysis::metric::{Metric, TABLE};
use memtoll_query::{Figures, Interval};
use parquet::data_type::ByteArray;
use std::borrow::Cow;

/// A column of a table with rows of this type.
pub struct Column<R> {
    /// What is known of it.
    pub about: About,
    /// Of [`Packing::Few`], the texts.
    words: Vec<ByteArray>,
    fill: Fill<R>,
}

/// Appends the values of rows.
type Fill<R> = Box<dyn Fn(&[R], &mut Buffer) -> Result<(), &'static str>>;

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
        // One call for many rows, so that no value is made only to be taken apart.
        let fill = move |rows: &[R], buffer: &mut Buffer| rows.iter().try_for_each(|row| buffer.push(value(row)));
        Column { about, words: Vec::new(), fill: Box::new(fill) }
    }

    /// Texts of a list: `number` says which one a row has.
    pub fn word(
        name: &'static str,
        help: &'static str,
        words: Vec<ByteArray>,
        number: impl Fn(&R) -> usize + 'static,
    ) -> Column<R> {
        let fill = move |rows: &[R], buffer: &mut Buffer| rows.iter().try_for_each(|row| buffer.push_word(number(row)));
        let Column { about, .. } = Column::<R>::text(name, help, |_| Value::Null);
        Column { about: About { packing: Packing::Few, ..about }, words, fill: Box::new(fill) }
    }

    /// A list of numbers that stand for something.
    pub fn list(name: &'static str, help: &'static str, list: impl Fn(&R) -> &[i64] + 'static) -> Column<R> {
        let fill = move |rows: &[R], buffer: &mut Buffer| rows.iter().try_for_each(|row| buffer.push_list(list(row)));
        let Column { about, words, .. } = Column::<R>::new(Kind::Integers, name, Unit::None, help, |_| Value::Null);
        Column { about, words, fill: Box::new(fill) }
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

    /// There are few different numbers.
    pub fn of_few(mut self) -> Column<R> {
        self.about.packing = Packing::Few;
        self
    }

    /// A buffer for its values.
    pub fn buffer(&self) -> Buffer {
        Buffer::new(&self.about, &self.words)
    }

    /// Appends the values of rows.
    pub fn fill(&self, rows: &[R], buffer: &mut Buffer) -> Result<(), &'static str> {
        (self.fill)(rows, buffer)
    }
}

/// The columns of all metrics, with the names that JSON has.
pub fn metrics<R: 'static>(figures: fn(&R) -> &Figures) -> impl Iterator<Item = Column<R>> {
    TABLE.iter().map(move |about| {
        let value = move |row: &R| figures(row).of(about.metric).into();
        // As most are 0, differences take less time than a dictionary.
        Column::new(Kind::Integer, about.key, about.unit.into(), about.help, value).optional().in_order()
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
