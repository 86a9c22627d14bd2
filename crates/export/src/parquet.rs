//! Tables for SQL, as Parquet files in a folder: `docs/sql.md` describes them.
//!
//! * [`column`]: what a column is; the schema, the documentation and the tests come from its declaration
//! * [`file`]: one table as a file
//! * [`source`]: what the tables are made from
//! * the others: the tables

mod buffer;
mod column;
mod document;
mod events;
mod few_values;
mod file;
mod kinds;
mod processes;
mod runs;
mod sites;
mod source;
mod stacks;
mod timeline;

use crate::Format;
use crate::atomic_file;
use column::Column;
pub use document::document;
use file::TableFile;
use memtoll_analysis::sites::GroupBy;
use memtoll_query::export::Export;
use memtoll_query::{Answer, Shown, View};
use source::Source;
use std::io::{Error, ErrorKind, Result, Write};
use std::path::Path;

/// Grows when a column disappears or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// All tables of a run, and each event if that is asked for.
pub struct Parquet {
    has_events: bool,
}

impl Parquet {
    /// Without events.
    pub const SUMS: Parquet = Parquet { has_events: false };
    /// With each event.
    pub const EVENTS: Parquet = Parquet { has_events: true };
}

impl Export for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn help(&self) -> &'static str {
        "Tables for SQL, a folder with a file each: DuckDB, ClickHouse, pandas (docs/sql.md)"
    }

    fn view(&self, _asked: View) -> std::result::Result<View, &'static str> {
        Ok(View::Table { group: GroupBy::Site, limit: None })
    }

    fn has_details(&self) -> bool {
        true
    }

    fn write(&self, _answer: &Answer, _out: &mut dyn Write) -> Result<()> {
        Err(Error::new(ErrorKind::InvalidInput, "Parquet has a file for each table: expected the name of a folder"))
    }
}

impl Format for Parquet {
    fn extension(&self) -> &'static str {
        "tables"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let details = answer.details.as_ref();
        let has_pools = details.is_some_and(|details| !details.pools.is_empty());
        let lacks = [
            (has_pools, "the program's own pools have no table: memtoll report --format json has them"),
            (
                answer.basis.view.selects(),
                "--filter, --drop and --focus apply to sites, stacks, threads, events and costs; the other tables are complete",
            ),
            (!answer.basis.selection.is_of_all_sizes(), "the table timeline has blocks of all sizes"),
        ];
        lacks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, lack)| lack.to_owned()).collect()
    }

    fn is_folder(&self) -> bool {
        true
    }

    fn with_events(&self) -> Option<&'static dyn Format> {
        Some(&Parquet::EVENTS)
    }

    fn write_to(&self, answer: &Answer, path: &Path) -> Result<()> {
        atomic_file::write_folder(path, "parquet", |folder| self.write_tables(answer, folder))
    }
}

impl Parquet {
    fn write_tables(&self, answer: &Answer, folder: &Path) -> Result<()> {
        let incomplete = || Error::other("the answer has no call sites, totals, findings or details");
        let mut source = Source::of(answer).ok_or_else(incomplete)?;
        let (Some(totals), Some(details)) = (&answer.totals, &answer.details) else { return Err(incomplete()) };
        let (Some(found), Shown::Table(sites)) = (&answer.findings, &answer.shown) else { return Err(incomplete()) };
        let id = source.run_id.clone();
        // What no total has an interval of, no row has one of.
        let wide = memtoll_query::figures::with_intervals([&totals.figures]);

        let run = runs::Run::of(&source, totals);
        write(folder, "runs", runs::columns(&id, &wide), [run])?;
        write(folder, "processes", processes::process_columns(&id, &wide), processes::processes(&source, details))?;
        write(folder, "threads", processes::thread_columns(&id), processes::threads(&source, details))?;
        write(folder, "sites", sites::site_columns(&id, &wide), sites.sites.iter().map(sites::Site::from))?;
        write(folder, "findings", sites::finding_columns(&id), sites::findings(found))?;
        write(folder, "timeline", timeline::columns(&id), timeline::rows(&source))?;
        // Events and costs first: they may have stacks that have no sums.
        let sums = stacks::Sums::of(&mut source);
        if self.has_events {
            let mut table = create(folder, "events", events::event_columns(&id))?;
            events::events(&mut source, |row| table.push(row))?;
            table.finish()?;
            let mut table = create(folder, "costs", events::cost_columns(&id))?;
            events::costs(&mut source, |row| table.push(row))?;
            table.finish()?;
        }
        write(folder, "stacks", stacks::stack_columns(&id), stacks::stacks(&mut source, &sums))?;
        write(folder, "frames", stacks::frame_columns(&id), stacks::frames(&source))
    }
}

fn create<R>(folder: &Path, name: &str, columns: Vec<Column<R>>) -> Result<TableFile<R>> {
    TableFile::create(&folder.join(format!("{name}.parquet")), columns)
}

fn write<R>(folder: &Path, name: &str, columns: Vec<Column<R>>, rows: impl IntoIterator<Item = R>) -> Result<()> {
    let mut table = create(folder, name, columns)?;
    rows.into_iter().try_for_each(|row| table.push(row))?;
    table.finish()
}
