//! What there is to choose from in a recording: marks, threads, processes, loaded files, looks at pages.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::impossible::Impossible;
use crate::looks::{self, Look};
use crate::query::List;
use memtoll_analysis::names;
use memtoll_analysis::thread_filter::{ThreadFilter, process_id, thread_name, title};
use memtoll_model::{Image, Recording, TextId};
use memtoll_text::shell;
use memtoll_trace::meta::{Exit, MarkKind};
use serde::Serialize;
use std::collections::BTreeMap;

/// Marks, or a region, of one name.
#[derive(Serialize)]
pub struct Mark<'a> {
    pub name: &'a str,
    /// "mark" or "region"
    pub kind: &'static str,
    /// How often it was set or begun.
    pub times: u64,
    pub first_ns: u64,
    pub last_ns: u64,
}

#[derive(Serialize)]
pub struct Thread<'a> {
    pub pid: u32,
    /// What selects its process and no other.
    pub process_id: String,
    pub tid: u32,
    pub name: Option<&'a str>,
    pub began_ns: u64,
    pub ended_ns: Option<u64>,
    pub cpu_ns: Option<u64>,
    /// What its process runs.
    pub program: &'a str,
}

/// A process image.
#[derive(Serialize)]
pub struct Process<'a> {
    pub pid: u32,
    /// What selects it and no other.
    pub process_id: String,
    pub parent: u32,
    pub began_ns: u64,
    pub ended_ns: Option<u64>,
    pub threads: u64,
    pub exit: Option<Exit>,
    pub name: &'a str,
    pub executable: &'a str,
    pub command: &'a [String],
    pub title: Option<&'a str>,
}

impl Process<'_> {
    /// The command line, and the title beside it.
    pub fn shown_command(&self) -> String {
        let command = shell::line(self.command);
        self.title.map_or(command.clone(), |title| format!("{command} (title: {title})"))
    }
}

/// A loaded file.
#[derive(Serialize)]
pub struct Module<'a> {
    pub path: &'a str,
    pub build_id: Option<&'a str>,
    /// Process images that loaded it.
    pub processes: u64,
}

/// A list.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Items<'a> {
    Marks { marks: Vec<Mark<'a>> },
    Threads { threads: Vec<Thread<'a>> },
    Processes { processes: Vec<Process<'a>> },
    Modules { modules: Vec<Module<'a>> },
    Looks { looks: Vec<Look> },
}

/// What there is of it, in the processes and threads that count.
pub(crate) fn items<'a>(
    recording: &'a Recording,
    thread_filter: &ThreadFilter,
    list: List,
) -> Result<Items<'a>, Impossible> {
    let ns = |units: u64| (recording.about.clock.seconds(units) * 1e9) as u64;
    let counted: Vec<(usize, &Image)> =
        recording.images.iter().enumerate().filter(|(index, _)| thread_filter.of(*index).is_some()).collect();
    Ok(match list {
        List::Looks => Items::Looks {
            looks: looks::looks(recording, thread_filter, ns)
                .map_err(|why| Impossible::NoPages { why: why.to_string() })?,
        },
        List::Marks => {
            let mut marks: BTreeMap<(&str, &str), Mark> = BTreeMap::new();
            let all = counted.iter().flat_map(|(index, image)| image.marks.iter().map(move |mark| (*index, mark)));
            for (_, mark) in all.filter(|(image, mark)| thread_filter.admit(*image, mark.thread)) {
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
                .filter(|(index, _, thread)| thread_filter.admit(*index, thread.number))
                .map(|(index, image, thread)| Thread {
                    pid: image.about.pid,
                    process_id: process_id(recording, index),
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
                .map(|(index, image)| Process {
                    pid: image.about.pid,
                    process_id: process_id(recording, *index),
                    parent: image.about.parent,
                    began_ns: ns(image.about.began),
                    ended_ns: image.end.as_ref().map(|end| ns(end.ended)),
                    threads: image.threads.iter().filter(|thread| thread.runs()).count() as u64,
                    exit: image.end.as_ref().map(|end| end.exit),
                    name: &image.about.name,
                    executable: &image.about.executable,
                    command: &image.about.command,
                    title: title(image),
                })
                .collect(),
        },
        List::Modules => {
            let mut modules: BTreeMap<(&str, &str), u64> = BTreeMap::new();
            let text = |id: TextId| recording.frames.text(id);
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
    })
}
