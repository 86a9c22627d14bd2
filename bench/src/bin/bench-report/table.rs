//! What was measured, beside its goals.

use comfy_table::{Cell, CellAlignment, Table as Cells, presets};
use memtoll_bench::run::{CommandLine, Usage};
use std::path::Path;

/// A number, and the most that it may be.
#[derive(Clone, Copy)]
pub struct Measured {
    pub value: f64,
    pub goal: Option<f64>,
}

/// A table of numbers, each with its goal.
pub struct Table {
    cells: Cells,
}

impl Table {
    /// `columns` stand between the name of what is measured and the goal.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let mut cells = Cells::new();
        cells.load_style(presets::NOTHING);
        cells.set_header([title].iter().chain(columns).chain(&["goal", ""]).map(Cell::new));
        cells.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
        Table { cells }
    }

    /// A row with the text of its columns. `measured` is what the goal is for.
    pub fn row(&mut self, name: &str, columns: &[String], measured: Measured) {
        let Measured { value, goal } = measured;
        let (goal, verdict) = match goal {
            Some(goal) => (goal.to_string(), if value <= goal { "met" } else { "missed" }),
            None => (String::new(), ""),
        };
        let numbers = columns.iter().cloned().chain([goal, verdict.to_owned()]);
        self.cells.add_row([name.to_owned()].into_iter().chain(numbers));
    }

    /// Prints it.
    pub fn print(self) {
        println!("{}\n", self.cells.trim_fmt());
    }
}

/// What `memtoll report FILE VIEW` takes.
pub fn report(memtoll: &Path, file: &Path, view: &[String]) -> Result<Usage, String> {
    let words = [memtoll.as_os_str(), "report".as_ref(), file.as_os_str()].into_iter().map(ToOwned::to_owned);
    CommandLine::new(words.chain(view.iter().map(Into::into))).measure()
}

/// What a view is called in a table.
pub fn name(view: &[&str]) -> String {
    if view.is_empty() { "summary".to_owned() } else { view.join(" ") }
}

pub fn seconds(usage: &Usage) -> String {
    format!("{:.3} s", usage.cpu)
}

pub fn mebibytes(usage: &Usage) -> String {
    format!("{} MiB", usage.peak_rss >> 20)
}
