//! What a recording is: the header of the page, and what there is to choose from.

use memtoll_analysis::runners::{command, program, thread_name};
use memtoll_model::Recording;
use memtoll_text::format;
use serde_json::{Value, json};

/// Processes, and threads of all of them, that are listed.
const MOST: usize = 2000;

/// The recording as a whole. Neither the host's name nor the folder in which the program was started is part of it.
pub fn about(recording: &Recording) -> Value {
    let clock = &recording.about.clock;
    let ns = |units: u64| clock.seconds(units) * 1e9;
    let processes = recording.images.iter().take(MOST).map(|image| {
        json!({
            "pid": image.about.pid,
            "program": program(image),
            "command": command(image),
            "began_ns": ns(image.about.began),
            "ended_ns": image.end.as_ref().map(|end| ns(end.ended)),
        })
    });
    let threads = recording.images.iter().flat_map(|image| image.threads.iter().map(move |thread| (image, thread)));
    let threads = threads.take(MOST).map(
        |(image, thread)| json!({ "pid": image.about.pid, "tid": thread.tid, "name": thread_name(image, thread) }),
    );
    let name = recording.path().file_name().map(|name| name.to_string_lossy().into_owned());
    json!({
        "file": name,
        "command": recording.about.command.join(" "),
        "started": format::date(recording.about.started),
        "duration_ns": ns(recording.ended()),
        "processor": recording.about.machine.processor,
        "processors": recording.about.machine.processors,
        "events": recording.end.as_ref().map(|end| end.events),
        "processes": processes.collect::<Vec<_>>(),
        "process_count": recording.images.len(),
        "threads": threads.collect::<Vec<_>>(),
        "thread_count": recording.images.iter().map(|image| image.threads.len()).sum::<usize>(),
        "notes": recording.damage.iter().chain(&recording.missing).chain(&recording.notes).collect::<Vec<_>>(),
    })
}
