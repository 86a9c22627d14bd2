//! The tables as `docs/sql.md` describes them.

use super::column::Column;
use super::kinds::About;
use super::{events, processes, runs, sites, stacks, timeline};
use parquet::data_type::ByteArray;
use std::fmt::Write;

/// A table, and what a row of it is.
struct Table {
    name: &'static str,
    help: &'static str,
    columns: Vec<About>,
}

fn table<R>(name: &'static str, help: &'static str, columns: impl FnOnce(&ByteArray) -> Vec<Column<R>>) -> Table {
    let columns = columns(&ByteArray::from("")).into_iter().map(|column| column.about).collect();
    Table { name, help, columns }
}

fn tables() -> Vec<Table> {
    // Those of what was sampled are there only then.
    let wide = &memtoll_query::figures::with_intervals([])[..];
    vec![
        table("runs", "One row: the recording as a whole, with the report's totals.", |id| runs::columns(id, wide)),
        table("processes", "A row for each process image.", |id| processes::process_columns(id, wide)),
        table("threads", "A row for each thread: what it called and paid.", processes::thread_columns),
        table("sites", "A row for each call site, as `memtoll report --flat` shows them.", |id| {
            sites::site_columns(id, wide)
        }),
        table("stacks", "A row for each call stack and program that runs it.", stacks::stack_columns),
        table("frames", "A row for each frame of these stacks.", stacks::frame_columns),
        table(
            "timeline",
            "A row for each process image and interval, at most 2,048 intervals of the selected time. The first \
             and the last one may reach beyond a selected span, but count only what is in it. Live bytes are those of all threads and sizes. Times are \
             those of the process, divided among its intervals as time in calls, faults, work on mappings and waiting are.",
            timeline::columns,
        ),
        table("findings", "A row for each finding, most important first.", sites::finding_columns),
        table("events", "Only with `--events`: a row for each call of an allocation function.", events::event_columns),
        table(
            "costs",
            "Only with `--events`: a row for each page fault that was looked at, each work on mappings and each wait.",
            events::cost_columns,
        ),
    ]
}

/// The tables with their columns, in Markdown.
pub fn document() -> String {
    let mut text = String::new();
    for Table { name, help, columns } in tables() {
        // Writing to a string does not fail.
        let _ = write!(text, "### {name}\n\n{help}\n\n| column | type | unit | what it is |\n|---|---|---|---|\n");
        for About { name, kind, unit, is_optional, help, .. } in columns {
            let null = if is_optional { "" } else { " NOT NULL" };
            let _ = writeln!(text, "| `{name}` | {}{null} | {} | {help} |", kind.sql(), unit.name());
        }
        text.push('\n');
    }
    text
}
