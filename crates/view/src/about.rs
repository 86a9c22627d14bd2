//! What a recording is: the header of the page, and what there is to choose from.

use crate::metrics;
use crate::pack::Pack;
use crate::packs::{About, AboutPack, ProcessOfRun, ThreadOfRun};
use crate::recordings::{PARTS, Recordings};
use crate::timeline;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::{command, process_id, program, thread_name};
use memtoll_model::{Image, Recording};
use memtoll_query::Session;
use memtoll_query::notes;
use memtoll_query::run_details::answering;
use memtoll_text::format;
use memtoll_text::shell;
use memtoll_trace::meta::{MarkKind, Thread};
use memtoll_trace::snapshot::{Cause, Snapshot};
use serde_json::Value;

/// Processes, and threads of all of them, that are listed.
const MOST: usize = 2000;

impl Recordings<'_> {
    /// What the recording is, its time line, and the table of metrics.
    pub(crate) fn about(&self) -> Pack {
        let (timeline, live) = timeline::of(self.recording());
        let mut pack = Pack::new(&AboutPack {
            about: About { damage: self.damage(), ..about(self.recording()) },
            metrics: self.metrics(),
            timeline,
            parts: PARTS,
            compares: !self.sides[0].is_empty(),
            sources: self.settings.sources,
            editor: self.settings.editor.template().to_owned(),
            live: self.settings.live,
            regions: self.has(MarkKind::Begin),
            marks: self.has(MarkKind::Instant),
        });
        pack.columns("timeline", &live);
        pack
    }

    /// The table of metrics, with what the recording knows of each.
    pub(crate) fn metrics(&self) -> Value {
        metrics::describe(&self.tariff, has_looks(self.recording()))
    }

    fn has(&self, kind: MarkKind) -> bool {
        self.recording().images.iter().any(|image| image.marks.iter().any(|mark| mark.kind == kind))
    }

    /// What cannot be read of the recording that is shown, and, with their names, of those that it is compared with.
    fn damage(&self) -> Vec<String> {
        let others =
            self.sides.iter().flatten().map(Session::recording).filter(|other| !std::ptr::eq(*other, self.recording()));
        let named =
            others.flat_map(|other| other.damage.iter().map(move |why| format!("in {}, {why}", file_name(other))));
        self.recording().damage.iter().cloned().chain(named).collect()
    }
}

/// What the file of a recording is called.
fn file_name(recording: &Recording) -> String {
    recording.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Whether the pages of a process were looked at when it ended.
fn has_looks(recording: &Recording) -> bool {
    let is_at_end = |snapshot: &Snapshot| snapshot.cause == Cause::End;
    let has_look = |image| recording.snapshots(image).is_ok_and(|all| all.iter().any(is_at_end));
    (0..recording.images.len()).any(has_look)
}

/// The recording as a whole. Neither the host's name nor the folder in which the program was started is part of it.
fn about(recording: &Recording) -> About {
    let tariff = Tariff::of(recording);
    let ns = |units: u64| tariff.ns(units as f64);
    let images = || recording.images.iter();
    let processes = recording.images.iter().enumerate();
    let threads = images()
        .flat_map(|image| image.threads.iter().filter(|thread| thread.runs()).map(move |thread| (image, thread)));
    let process = |(index, image): (usize, &Image)| ProcessOfRun {
        pid: image.about.pid,
        id: process_id(recording, index),
        process: image.process,
        parent: image.about.parent,
        program: program(image).to_owned(),
        command: command(image).to_string(),
        began_ns: ns(image.about.began),
        ended_ns: image.end.as_ref().map(|end| ns(end.ended)),
        exit: image.end.as_ref().map_or_else(String::new, |end| end.exit.to_string()),
        threads: image.threads.iter().filter(|thread| thread.runs()).count(),
    };
    let thread = |(image, thread): (&Image, &Thread)| ThreadOfRun {
        pid: image.about.pid,
        process: image.process,
        tid: thread.tid,
        name: thread_name(image, thread).map(str::to_owned),
    };
    let of = &recording.about;
    About {
        file: file_name(recording),
        command: shell::line(&of.command),
        started: format::date(of.started),
        duration_ns: recording.seconds().map(|seconds| seconds * 1e9),
        processor: of.machine.processor.clone(),
        processors: of.machine.processors,
        malloc: answering(recording),
        kept: recording.kept().words(),
        events: recording.end.as_ref().map(|end| end.events),
        processes: processes.take(MOST).map(process).collect(),
        process_count: recording.images.len(),
        threads: threads.take(MOST).map(thread).collect(),
        thread_count: images().flat_map(|image| &image.threads).filter(|thread| thread.runs()).count(),
        damage: Vec::new(),
        missing: recording.missing_in(|_| false).cloned().collect(),
        notes: notes::of_recording(recording, |_| false),
    }
}
