//! Labels of stacks and of whole profiles.

use crate::samples::Sample;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::thread_filter::{program, thread_name};
use memtoll_query::Answer;
use memtoll_text::shell;

/// The value of a label.
pub enum Value<'a> {
    /// A name.
    Text(&'a str),
    /// The number of a process or thread.
    Number(u32),
}

/// Process, thread and type of blocks, as far as they are known.
pub fn of<'a>(stacks: &'a Stacks, sample: &Sample) -> Vec<(&'static str, Value<'a>)> {
    let mut labels = Vec::new();
    if let Some((image, number)) = sample.thread {
        let image = &stacks.recording().images[image];
        labels.push(("process", Value::Text(program(image))));
        labels.push(("pid", Value::Number(image.about.pid)));
        if let Some(thread) = number.and_then(|number| image.thread(number)) {
            labels.extend(thread_name(image, thread).map(|name| ("thread", Value::Text(name))));
            labels.push(("tid", Value::Number(thread.tid)));
        }
    }
    let kind = stacks.type_of(&sample.stack);
    labels.extend(kind.map(|kind| ("type", Value::Text(stacks.type_name(kind)))));
    labels
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
