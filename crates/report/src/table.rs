//! A table with aligned columns.

use crate::names;
use anstyle::Style;
use comfy_table::{Cell, CellAlignment, presets};

/// Columns without borders, with numbers on the left and what they are about on the right.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Characters between two columns.
    const GAP: usize = 2;
    /// Characters that the last column has at least, however narrow the terminal is.
    const LEAST: usize = 24;

    /// A table without rows.
    pub fn new(columns: &[&str]) -> Self {
        Table { header: columns.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The text, with the header set off and without blanks at the ends of lines. A column in which no row has anything is
    /// left out. The last column is shortened to what remains of `width` characters.
    pub fn render(mut self, width: Option<usize>) -> String {
        let last = self.header.len().saturating_sub(1);
        let is_shown: Vec<bool> = (0..self.header.len())
            .map(|column| column == last || self.rows.iter().any(|row| row.get(column).is_some_and(|c| !c.is_empty())))
            .collect();
        let lines = std::iter::once(&self.header).chain(&self.rows);
        let taken = (0..last).filter(|column| is_shown[*column]).map(|column| {
            let widths = lines.clone().filter_map(|line| Some(line.get(column)?.chars().count()));
            widths.max().unwrap_or(0) + Table::GAP
        });
        let taken: usize = taken.sum();
        if let Some(width) = width {
            let room = width.saturating_sub(taken).max(Table::LEAST);
            let names = self.rows.iter_mut().filter_map(|row| row.get_mut(last));
            names.for_each(|name| *name = names::shorten(name, room));
        }
        let shown =
            |line: Vec<String>| line.into_iter().zip(&is_shown).filter(|(_, shown)| **shown).map(|(cell, _)| cell);
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(shown(self.header).map(Cell::new));
        for row in self.rows {
            table.add_row(shown(row).map(Cell::new));
        }
        let columns = table.column_count();
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, Table::GAP as u16));
            if index + 1 < columns {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let style = Style::new().bold();
        let styled = |(index, line): (usize, String)| match index {
            0 => format!("{style}{}{style:#}\n", line.trim_end()),
            _ => line.trim_end().to_owned() + "\n",
        };
        table.lines().enumerate().map(styled).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(width: Option<usize>) -> String {
        let mut table = Table::new(&["number", "empty", "share", "where"]);
        for (number, share, place) in
            [("7", "70.0 %", "a_function_with_a_long_name (somewhere.cpp:12)"), ("1,003", "", "b")]
        {
            table.add([number, "", share, place].map(str::to_owned));
        }
        table.render(width).replace("\u{1b}[1m", "").replace("\u{1b}[0m", "")
    }

    #[test]
    fn numbers_are_to_the_right_and_empty_columns_are_left_out() {
        assert_eq!(
            table(None),
            "number   share  where\n     7  70.0 %  a_function_with_a_long_name (somewhere.cpp:12)\n 1,003          b\n"
        );
    }

    #[test]
    fn names_are_shortened_to_what_the_numbers_leave() {
        let text = table(Some(50));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(text.contains("  70.0 %  a_function_with_a…omewhere.cpp:12)"), "{text}");
    }
}
