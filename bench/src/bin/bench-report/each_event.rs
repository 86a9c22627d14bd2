//! Answers whose cost grows with the number of events or call stacks: of a compiler, which has a call stack for every third event, and
//! of a program with blocks of 100,000 sizes.

use crate::long::processor_time;
use crate::table::{Measured, Table, name, report, seconds};
use memtoll_bench::Common;
use memtoll_bench::programs::{deep_loop, heavy_cc1plus};
use memtoll_bench::run::CommandLine;
use memtoll_model::Recording;
use memtoll_query::{Query, ask};
use memtoll_report::first_screen;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Pairs of calls of the program with many sizes.
const PAIRS: &str = "5000000";
/// Seconds for the screen after a compiler's run, and for its report.
const SCREEN_GOAL: f64 = 0.2;
const REPORT_GOAL: f64 = 0.4;
/// Seconds for an event that is written into a table.
const EXPORT_GOAL: f64 = 0.4e-6;

/// Measures both.
pub fn measure(common: &Common) -> Result<(), String> {
    let Common { memtoll, folder, .. } = common;
    let compiler = recorded(common, "cc1plus", heavy_cc1plus()?)?;
    let mut table = Table::new(&title("cc1plus", &compiler)?, &["CPU time", "an event"]);
    let mut row = |name: &str, cpu: f64, file: &Path, goal: Option<f64>| -> Result<(), String> {
        let columns = [format!("{cpu:.3} s"), format!("{:.0} ns", cpu * 1e9 / events(file)?)];
        table.row(name, &columns, Measured { value: cpu, goal });
        Ok(())
    };
    row("screen after the run", first_screen(&compiler)?, &compiler, Some(SCREEN_GOAL))?;
    row(&name(&[]), report(memtoll, &compiler, &[])?.cpu, &compiler, Some(REPORT_GOAL))?;
    let tables = folder.join("cc1plus.tables");
    let words = [memtoll.as_os_str(), "export".as_ref(), compiler.as_os_str(), "--format".as_ref()];
    let words = words.into_iter().chain(["parquet", "--events", "--force", "-o"].map(AsRef::as_ref));
    let export = CommandLine::new(words.chain([tables.as_os_str()])).measure()?;
    row("export --format parquet --events", export.cpu, &compiler, Some(EXPORT_GOAL * events(&compiler)?))?;
    table.print();
    let pairs = [deep_loop(folder)?.into_os_string(), PAIRS.into(), "1".into(), "sizes".into()];
    let sizes = recorded(common, "sizes", CommandLine::new(pairs))?;
    let view = ["--group", "size"];
    let usage = report(memtoll, &sizes, &view.map(str::to_owned))?;
    let mut table = Table::new(&title("blocks of 100,000 sizes", &sizes)?, &["CPU time", "an event"]);
    let columns = [seconds(&usage), format!("{:.0} ns", usage.cpu * 1e9 / events(&sizes)?)];
    table.row(&name(&view), &columns, Measured { value: usage.cpu, goal: None });
    table.print();
    std::fs::remove_dir_all(tables).map_err(|error| error.to_string())?;
    [compiler, sizes].iter().try_for_each(std::fs::remove_file).map_err(|error| error.to_string())
}

fn recorded(common: &Common, name: &str, command: CommandLine) -> Result<PathBuf, String> {
    let file = common.folder.join(format!("{name}.memtoll"));
    let front = [common.memtoll.as_os_str(), "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref()];
    let front = front.into_iter().chain([file.as_os_str(), "--".as_ref()]).map(OsString::from);
    command.under(front).measure()?;
    Ok(file)
}

fn events(file: &Path) -> Result<f64, String> {
    let recording = Recording::open(file).map_err(|error| error.to_string())?;
    let end = recording.end.as_ref().ok_or("the recording was cut off")?;
    Ok(end.events.max(1) as f64)
}

fn title(what: &str, file: &Path) -> Result<String, String> {
    Ok(format!("{what}, {:.1} million events", events(file)? / 1e6))
}

/// What `memtoll record` does when the program has ended, seconds.
fn first_screen(file: &Path) -> Result<f64, String> {
    let before = processor_time();
    let recording = Recording::open(file).map_err(|error| error.to_string())?;
    // As there, the process ends soon and needs no memory.
    let recording = std::mem::ManuallyDrop::new(recording);
    let answer = ask(&recording, &Query { findings: true, ..Query::default() }).map_err(|why| why.to_string())?;
    let screen = first_screen::render(&answer, None);
    let value = processor_time() - before;
    if screen.is_empty() { Err("there is nothing on the screen".to_owned()) } else { Ok(value) }
}
