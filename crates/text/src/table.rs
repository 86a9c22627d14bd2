//! A table with aligned columns, numbers on the left and what they are about on the right.
//!
//! Without a terminal, each row is a line, however long. On a terminal, nothing is wider than the screen and no name is
//! cut: names go on in further lines, below [`Table::NARROW`] columns in lines of their own, and columns of numbers that
//! have no room are left out and named.

use crate::wrap::{self, shorten, width};
use anstyle::Style;

const FAINT: Style = Style::new().dimmed();

/// What the last column holds.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Functions and places: never cut.
    Names,
    /// Command lines and the like: shortened to what has room.
    Texts,
}

/// Columns without borders.
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    last: Last,
    /// The column of numbers that is never left out.
    kept: Option<String>,
}

impl Table {
    /// Columns of a screen from which on names stand beside the numbers, even if they take several lines there.
    const NARROW: usize = 120;
    /// Characters between two columns.
    const GAP: usize = 2;
    /// Blanks before a name in a line of its own.
    const INDENT: usize = 4;
    /// Columns that names have at least beside numbers.
    const LEAST: usize = 40;

    /// A table without rows, whose last column holds names.
    pub fn new(columns: &[&str]) -> Self {
        Table {
            header: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
            last: Last::Names,
            kept: None,
        }
    }

    /// The same with a last column of texts that may be shortened.
    pub fn of_texts(columns: &[&str]) -> Self {
        Table { last: Last::Texts, ..Table::new(columns) }
    }

    /// Never leaves the column of this name out.
    pub fn keep(mut self, column: &str) -> Self {
        self.kept = Some(column.to_owned());
        self
    }

    /// Adds a row: a cell for each column.
    pub fn add(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The text, with the header set off and without blanks at the ends of lines. A column in which no row has anything is
    /// left out. `screen`: columns of the terminal, if there is one.
    pub fn render(self, screen: Option<usize>) -> String {
        let last = self.header.len().saturating_sub(1);
        let has_some = |column: &usize| self.rows.iter().any(|row| row.get(*column).is_some_and(|c| !c.is_empty()));
        let mut numbers: Vec<usize> = (0..last).filter(has_some).collect();
        let lines = || std::iter::once(&self.header).chain(&self.rows);
        let cell = |line: &'_ [String], column: usize| line.get(column).map_or(0, |cell| width(cell));
        let widths: Vec<usize> =
            (0..=last).map(|column| lines().map(|line| cell(line, column)).max().unwrap_or(0)).collect();
        let taken = |numbers: &[usize]| numbers.iter().map(|column| widths[*column] + Table::GAP).sum::<usize>();

        let beside = screen.map_or(usize::MAX, |screen| screen.saturating_sub(taken(&numbers)));
        let in_lines_of_their_own = match screen {
            Some(screen) if screen < Table::NARROW || beside < Table::LEAST => beside < widths[last],
            _ => false,
        };
        let mut left_out = Vec::new();
        if let Some(screen) = screen.filter(|_| in_lines_of_their_own) {
            let is_kept = |column: &usize| self.kept.as_ref() == self.header.get(*column);
            while taken(&numbers) > screen + Table::GAP
                && let Some(at) = numbers.iter().rposition(|column| !is_kept(column))
            {
                left_out.insert(0, self.header[numbers.remove(at)].as_str());
            }
        }
        let room = match screen {
            Some(screen) if in_lines_of_their_own => screen.saturating_sub(Table::INDENT),
            _ => beside,
        };

        let bold = Style::new().bold();
        let mut text = String::new();
        for (index, line) in lines().enumerate() {
            let mut start = String::new();
            for &column in &numbers {
                let text = line.get(column).map_or("", String::as_str);
                let blanks = widths[column].saturating_sub(width(text));
                start += &format!("{:blanks$}{text}{:gap$}", "", "", gap = Table::GAP);
            }
            let name = line.get(last).map_or("", String::as_str);
            let name = match self.last {
                Last::Names => wrap::lines(name, room),
                Last::Texts => vec![shorten(name, room)],
            };
            if index == 0 {
                let name = if in_lines_of_their_own { String::new() } else { name.join(" ") };
                text += &format!("{bold}{}{bold:#}\n", (start + &name).trim_end());
                continue;
            }
            let indent = if in_lines_of_their_own { Table::INDENT } else { taken(&numbers) };
            let mut name = name.into_iter();
            if in_lines_of_their_own {
                text += start.trim_end();
            } else {
                text += (start + &name.next().unwrap_or_default()).trim_end();
            }
            text.push('\n');
            for line in name {
                text += format!("{:indent$}{line}", "").trim_end();
                text.push('\n');
            }
        }
        if !left_out.is_empty() {
            let what = format!("no room for: {} (a wider terminal or a pipe shows all columns)", left_out.join(", "));
            for line in wrap::lines(&what, screen.unwrap_or(usize::MAX)) {
                text += &format!("{FAINT}{line}{FAINT:#}\n");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    const LONG: &str = "a_function_with_a_long_name (somewhere.cpp:12)";

    fn table(screen: Option<usize>) -> String {
        let mut table = Table::new(&["number", "empty", "share", "where"]);
        for (number, share, place) in [("7", "70.0 %", LONG), ("1,003", "", "b")] {
            table.add([number, "", share, place].map(str::to_owned));
        }
        plain(&table.render(screen))
    }

    #[test]
    fn numbers_are_to_the_right_and_empty_columns_are_left_out() {
        let expected = format!("number   share  where\n     7  70.0 %  {LONG}\n 1,003          b\n");
        for screen in [None, Some(62), Some(200)] {
            assert_eq!(table(screen), expected, "{screen:?}: all names have room");
        }
    }

    #[test]
    fn on_a_narrow_screen_names_have_lines_of_their_own() {
        assert_eq!(table(Some(61)), format!("number   share\n     7  70.0 %\n    {LONG}\n 1,003\n    b\n"));
    }

    #[test]
    fn on_a_wide_screen_names_go_on_below_themselves() {
        let name = "Part::".repeat(20) + "Last (file.cpp:1)";
        let mut table = Table::new(&["number", "where"]);
        table.add(["7".to_owned(), name.clone()]);
        let text = plain(&table.render(Some(120)));
        assert_eq!(
            text,
            format!("number  where\n     7  {}\n        Part::Part::Last (file.cpp:1)\n", "Part::".repeat(18))
        );
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_the_screen_and_no_name_is_cut(
            rows in proptest::collection::vec(("[0-9,]{0,12}", "[0-9.% ]{0,8}", "[a-zA-Z:<>, _()]{1,300}"), 1..6),
            columns in 1usize..12,
            screen in 60usize..220,
        ) {
            let names: Vec<String> = (0..columns).map(|n| format!("column {n}")).chain(["where".to_owned()]).collect();
            let mut table = Table::new(&names.iter().map(String::as_str).collect::<Vec<_>>()).keep("column 3");
            for (number, share, name) in &rows {
                let mut cells = vec![number.clone(); columns];
                cells[0] = share.clone();
                table.add(cells.into_iter().chain([name.clone()]));
            }
            let text = plain(&table.render(Some(screen)));
            for line in text.lines() {
                prop_assert!(width(line) <= screen, "{} columns: {line}\n{text}", width(line));
            }
            let dense = |text: &str| text.replace([' ', '\n'], "");
            for (_, _, name) in &rows {
                prop_assert!(dense(&text).contains(&dense(name)), "{name} is cut:\n{text}");
            }
        }
    }
}
