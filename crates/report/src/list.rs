//! What there is to choose from in a recording: marks, threads, processes, loaded files.

use crate::json::SCHEMA_VERSION;
use crate::processes::exit_text;
use crate::table::Table;
use crate::{format, names};
use memtoll_analysis::runners::{Runners, thread_name};
use memtoll_model::{Image, Recording};
use memtoll_trace::meta::{Exit, MarkKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// Marks and regions of memtoll.h.
    Marks,
    /// Threads.
    Threads,
    /// Process images.
    Processes,
    /// Loaded files.
    Modules,
}

#[derive(Serialize)]
struct Mark<'a> {
    name: &'a str,
    /// "mark" or "region"
    kind: &'static str,
    /// How often it was set or begun.
    times: u64,
    first_ns: u64,
    last_ns: u64,
}

#[derive(Serialize)]
struct Thread<'a> {
    pid: u32,
    tid: u32,
    name: Option<&'a str>,
    began_ns: u64,
    ended_ns: Option<u64>,
    cpu_ns: Option<u64>,
    /// What its process runs.
    program: &'a str,
}

#[derive(Serialize)]
struct Process<'a> {
    pid: u32,
    parent: u32,
    began_ns: u64,
    ended_ns: Option<u64>,
    threads: u64,
    exit: Option<Exit>,
    command: &'a [String],
}

#[derive(Serialize)]
struct Module<'a> {
    path: &'a str,
    build_id: Option<&'a str>,
    /// Process images that loaded it.
    processes: u64,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Items<'a> {
    Marks { marks: Vec<Mark<'a>> },
    Threads { threads: Vec<Thread<'a>> },
    Processes { processes: Vec<Process<'a>> },
    Modules { modules: Vec<Module<'a>> },
}

#[derive(Serialize)]
struct JsonList<'a> {
    schema_version: u32,
    #[serde(flatten)]
    items: Items<'a>,
}

/// A list as a table. `screen`: columns of the terminal, if there is one.
pub fn render(recording: &Recording, runners: &Runners, list: List, screen: Option<usize>) -> String {
    let time = |ns: u64| format::seconds(ns as f64 / 1e9);
    let known = |ns: Option<u64>| ns.map_or(String::new(), time);
    let table = match items(recording, runners, list) {
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
        Items::Threads { threads } => {
            let mut table = Table::of_texts(&["thread", "began", "ended", "processor", "process", "name"]);
            for thread in threads {
                let (began, ended) = (time(thread.began_ns), known(thread.ended_ns));
                let process = format!("{} {}", thread.program, thread.pid);
                let name = thread.name.unwrap_or("").to_owned();
                table.add([thread.tid.to_string(), began, ended, known(thread.cpu_ns), process, name]);
            }
            table
        }
        Items::Processes { processes } => {
            let mut table = Table::of_texts(&["process", "parent", "began", "ended", "threads", "exit", "command"]);
            for process in processes {
                table.add([
                    process.pid.to_string(),
                    process.parent.to_string(),
                    time(process.began_ns),
                    known(process.ended_ns),
                    format::count(process.threads),
                    exit_text(process.exit),
                    process.command.join(" "),
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

/// A list as JSON.
pub fn json(recording: &Recording, runners: &Runners, list: List) -> serde_json::Result<String> {
    let items = items(recording, runners, list);
    Ok(serde_json::to_string_pretty(&JsonList { schema_version: SCHEMA_VERSION, items })? + "\n")
}

fn items<'a>(recording: &'a Recording, runners: &Runners, list: List) -> Items<'a> {
    let ns = |units: u64| (recording.about.clock.seconds(units) * 1e9) as u64;
    let counted: Vec<(usize, &Image)> =
        recording.images.iter().enumerate().filter(|(index, _)| runners.of(*index).is_some()).collect();
    let admits = |image: usize, thread: u32| runners.of(image).is_some_and(|threads| threads.admit(thread));
    match list {
        List::Marks => {
            let mut marks: BTreeMap<(&str, &str), Mark> = BTreeMap::new();
            let all = counted.iter().flat_map(|(index, image)| image.marks.iter().map(move |mark| (*index, mark)));
            for (_, mark) in all.filter(|(image, mark)| admits(*image, mark.thread)) {
                let kind = if mark.kind == MarkKind::Instant { "mark" } else { "region" };
                let time = ns(mark.time);
                let known = marks.entry((&mark.name, kind)).or_insert(Mark {
                    name: &mark.name,
                    kind,
                    times: 0,
                    first_ns: time,
                    last_ns: time,
                });
                known.times += u64::from(mark.kind != MarkKind::End);
                known.first_ns = known.first_ns.min(time);
                known.last_ns = known.last_ns.max(time);
            }
            let mut marks: Vec<Mark> = marks.into_values().collect();
            marks.sort_by_key(|mark| mark.first_ns);
            Items::Marks { marks }
        }
        List::Threads => Items::Threads {
            threads: counted
                .iter()
                .flat_map(|(index, image)| image.threads.iter().map(move |thread| (*index, *image, thread)))
                .filter(|(index, _, thread)| admits(*index, thread.number))
                .map(|(_, image, thread)| Thread {
                    pid: image.about.pid,
                    tid: thread.tid,
                    name: thread_name(image, thread),
                    began_ns: ns(thread.began),
                    ended_ns: thread.ended.map(ns),
                    cpu_ns: thread.usage.map(|usage| usage.user_ns.saturating_add(usage.system_ns)),
                    program: names::program(image),
                })
                .collect(),
        },
        List::Processes => Items::Processes {
            processes: counted
                .iter()
                .map(|(_, image)| Process {
                    pid: image.about.pid,
                    parent: image.about.parent,
                    began_ns: ns(image.about.began),
                    ended_ns: image.end.as_ref().map(|end| ns(end.ended)),
                    threads: image.threads.len() as u64,
                    exit: image.end.as_ref().map(|end| end.exit),
                    command: &image.about.command,
                })
                .collect(),
        },
        List::Modules => {
            let mut modules: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            let text = |id: u32| recording.frames.text(id);
            for (path, build_id) in counted.iter().flat_map(|(_, image)| image.files()) {
                *modules.entry((text(*path), text(*build_id))).or_default() += 1;
            }
            let module = |((path, build_id), processes): ((&'a str, &'a str), u64)| Module {
                path,
                build_id: Some(build_id).filter(|id| !id.is_empty()),
                processes,
            };
            Items::Modules { modules: modules.into_iter().map(module).collect() }
        }
    }
}
