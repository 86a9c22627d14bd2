//! In which order a table has its rows.

use super::link::{Link, Sort, View};
use crate::question::{OTHERS, TOTAL};
use crate::table::{Kind, NAME, Table, Value};
use std::cmp::Ordering;

/// The rows of a table, and the column that they are sorted by.
pub struct Order {
    /// Their indices.
    pub rows: Vec<usize>,
    /// What they are sorted by, unless the question has an order of its own.
    pub sort: Option<Sort>,
}

/// Whether a row adds up others: it stays below them.
pub fn is_sum(row: &[Value]) -> bool {
    matches!(row.last(), Some(Value::Text(name)) if matches!(name.as_str(), TOTAL | OTHERS))
}

/// The order that a link asks for, or else that of the answer.
pub fn order(link: &Link, table: &Table) -> Order {
    let mut rows: Vec<usize> = (0..table.rows.len()).collect();
    let asked = link.sort.as_ref().and_then(|sort| {
        let column = table.columns.iter().position(|column| column.name == sort.column)?;
        Some((column, sort))
    });
    let Some((column, sort)) = asked else { return Order { rows, sort: usual(link, table) } };
    // The answer of a trend is in the order in which versions came, which names do not tell.
    let is_release = link.view == View::Trend && table.columns[column].name == NAME;
    let among = |a: &usize, b: &usize| {
        let compared = match is_release {
            true => a.cmp(b),
            false => compare(&table.rows[*a][column], &table.rows[*b][column])?,
        };
        Some(if sort.is_up { compared } else { compared.reverse() })
    };
    let is_nothing = |row: &usize| table.rows[*row][column] == Value::Nothing;
    rows.sort_by(|a, b| {
        let last = |row: &usize| (is_sum(&table.rows[*row]), is_nothing(row));
        last(a)
            .cmp(&last(b))
            .then_with(|| if is_sum(&table.rows[*a]) { a.cmp(b) } else { among(a, b).unwrap_or(a.cmp(b)) })
    });
    Order { rows, sort: Some(sort.clone()) }
}

/// The column that an answer is sorted by. A comparison is sorted by how far each change exceeds noise, and no column shows that.
fn usual(link: &Link, table: &Table) -> Option<Sort> {
    match link.view {
        View::Top | View::Runs => Some(Sort { column: table.columns.first()?.name.clone(), is_up: false }),
        View::Trend => Some(Sort { column: NAME.to_owned(), is_up: true }),
        View::Compare => None,
    }
}

/// What a click on the heading of a column asks for: the largest number or the first name, and then the other way round.
pub fn next(table: &Table, column: usize, sort: Option<&Sort>) -> Sort {
    let column = &table.columns[column];
    let is_up = match sort.filter(|sort| sort.column == column.name) {
        Some(sort) => !sort.is_up,
        None => column.kind == Kind::Text,
    };
    Sort { column: column.name.clone(), is_up }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => Some(compare_texts(a, b)),
        (a, b) => Some(number(a)?.total_cmp(&number(b)?)),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Estimate(of) => Some(of.value),
        Value::Text(_) | Value::Nothing => None,
    }
}

/// Numbers in texts count as such: 1.9 comes before 1.10.
fn compare_texts(a: &str, b: &str) -> Ordering {
    let is_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let split = |text: &str| {
        let of_digits = is_digit(text);
        text.find(|c: char| c.is_ascii_digit() != of_digits).unwrap_or(text.len())
    };
    let (mut a, mut b) = (a, b);
    while !a.is_empty() && !b.is_empty() {
        let ((one, rest), (other, others)) = (a.split_at(split(a)), b.split_at(split(b)));
        let compared = match is_digit(one) && is_digit(other) {
            true => {
                let [one, other] = [one, other].map(|digits| digits.trim_start_matches('0'));
                one.len().cmp(&other.len()).then_with(|| one.cmp(other))
            }
            false => one.cmp(other),
        };
        if compared.is_ne() {
            return compared;
        }
        (a, b) = (rest, others);
    }
    a.len().cmp(&b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_texts_count_as_such() {
        let mut versions = vec!["1.10", "1.9", "1.9.1", "v2", "1.09", "1", ""];
        versions.sort_by(|a, b| compare_texts(a, b));
        assert_eq!(versions, ["", "1", "1.9", "1.09", "1.9.1", "1.10", "v2"]);
    }
}
