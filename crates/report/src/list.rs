//! What there is to choose from in a recording: marks, threads, processes, loaded files, looks at pages.

use crate::processes::exit_text;
use memtoll_query::choices::Items;
use memtoll_text::format;
use memtoll_text::table::Table;

/// A list as a table. `screen`: columns of the terminal, if there is one.
pub fn render(items: &Items, screen: Option<usize>) -> String {
    let time = |ns: u64| format::seconds(ns as f64 / 1e9);
    let known = |ns: Option<u64>| ns.map_or(String::new(), time);
    let table = match items {
        Items::Marks { marks } if marks.is_empty() => {
            return format::wrapped("", "The recording has no marks and no regions; memtoll.h sets them.", screen);
        }
        Items::Marks { marks } => {
            let mut table = Table::of_texts(&["kind", "times", "first", "last", "name"]);
            for mark in marks {
                let (first, last) = (time(mark.first_ns), time(mark.last_ns));
                table.add([mark.kind.to_owned(), format::count(mark.times), first, last, mark.name.to_owned()]);
            }
            table
        }
        Items::Looks { looks } if looks.is_empty() => {
            return format::wrapped("", "memtoll did not look at the pages of any process.", screen);
        }
        Items::Looks { looks } => {
            let mut table = Table::of_texts(&["process", "time", "resident set", "why", "--at"]);
            for look in looks {
                let why = match (&look.why.mark, look.why.passed) {
                    (Some(mark), _) => format!("mark, {} before", time(look.at_ns.saturating_sub(mark.at_ns))),
                    (None, Some(_)) => "size passed".to_owned(),
                    (None, None) => look.why.cause.to_owned(),
                };
                table.add([look.process_id.clone(), time(look.at_ns), format::bytes(look.rss), why, look.at()]);
            }
            table
        }
        Items::Threads { threads } => {
            let mut table = Table::of_texts(&["thread", "began", "ended", "CPU time", "process", "name"]);
            for thread in threads {
                let (began, ended) = (time(thread.began_ns), known(thread.ended_ns));
                let process = format!("{} {}", thread.program, thread.process_id);
                let name = thread.name.unwrap_or("").to_owned();
                table.add([thread.tid.to_string(), began, ended, known(thread.cpu_ns), process, name]);
            }
            table
        }
        Items::Processes { processes } => {
            let mut table = Table::of_texts(&["process", "parent", "began", "ended", "threads", "exit", "command"]);
            for process in processes {
                table.add([
                    process.process_id.clone(),
                    process.parent.to_string(),
                    time(process.began_ns),
                    known(process.ended_ns),
                    format::count(process.threads),
                    exit_text(process.exit),
                    process.shown_command(),
                ]);
            }
            table
        }
        Items::Modules { modules } => {
            let mut table = Table::new(&["processes", "build id", "file"]);
            for module in modules {
                let build_id = module.build_id.unwrap_or("").to_owned();
                table.add([format::count(module.processes), build_id, module.path.to_owned()]);
            }
            table
        }
    };
    table.render(screen)
}
