//! Labels of stacks and of whole profiles.

use crate::samples::Sample;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::thread_filter::{program, thread_name};
use memtoll_model::Recording;
use memtoll_query::Answer;
use memtoll_text::{format, shell};

/// The value of a label.
pub enum Value<'a> {
    /// A name.
    Text(&'a str),
    /// The number of a process or thread, or a time in ns.
    Number(u64),
}

/// Process, thread and type of blocks, as far as they are known.
pub fn of<'a>(stacks: &'a Stacks, sample: &Sample) -> Vec<(&'static str, Value<'a>)> {
    let mut labels = Vec::new();
    if let Some((image, number)) = sample.thread {
        let began = process_began(stacks.recording(), image);
        let image = &stacks.recording().images[image];
        labels.push(("process", Value::Text(program(image))));
        labels.push(("pid", Value::Number(image.about.pid.into())));
        labels.extend(began.map(|seconds| ("process_start_ns", Value::Number((seconds * 1e9).round() as u64))));
        if let Some(thread) = number.and_then(|number| image.thread(number)) {
            labels.extend(thread_name(image, thread).map(|name| ("thread", Value::Text(name))));
            labels.push(("tid", Value::Number(thread.tid.into())));
        }
    }
    let kind = stacks.type_of(&sample.stack);
    labels.extend(kind.map(|kind| ("type", Value::Text(stacks.type_name(kind)))));
    labels
}

/// When the process of an image began, in seconds of the recording, if another process had its id.
fn process_began(recording: &Recording, image: usize) -> Option<f64> {
    let image = recording.images.get(image).filter(|image| image.shares_id)?;
    Some(recording.about.clock.seconds(recording.images[image.process].about.began))
}

/// ` (from 60.5 ms)` where another process had the id of an image's process.
pub fn from_when(recording: &Recording, image: usize) -> String {
    process_began(recording, image).map_or(String::new(), |began| format!(" (from {})", format::seconds(began)))
}

/// When what is selected began, ns since 1970, and how long it took, ns.
pub fn times(answer: &Answer) -> (u64, u64) {
    let end = (answer.about.seconds.unwrap_or(0.0) * 1e9) as u64;
    let span = answer.about.span;
    let from = span.map_or(0, |span| span.from_ns);
    let to = span.and_then(|span| span.to_ns).map_or(end, |to| to.min(end));
    let started = answer.basis.recording.about.started;
    (started.saturating_add(from), to.saturating_sub(from))
}

/// What a reader of the profile wants to know: the command line, and what is missing.
pub fn comments(answer: &Answer) -> Vec<String> {
    let by = concat!("made by memtoll ", env!("CARGO_PKG_VERSION"), " from a recording of: ");
    let command = format!("{by}{}", shell::line(answer.about.command));
    std::iter::once(command).chain(answer.missing.iter().cloned()).collect()
}
