//! Files with code without unwind tables: callers are less sure there, and stacks may end.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::sums::Sums;
use memtoll_analysis::without_tables::{Count, without_tables};
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_trace::path::last_part;
use serde::Serialize;

/// One of them, or `(generated code)`.
#[derive(Serialize)]
pub struct WithoutTables<'r> {
    pub path: &'r str,
    pub frames: u64,
    pub stacks: u64,
    pub allocations: u64,
    pub ending_stacks: u64,
    pub ending_allocations: u64,
}

/// Those first that most allocations went through or ended in.
pub(crate) fn files<'r>(recording: &'r Recording, sums: &Sums) -> Vec<WithoutTables<'r>> {
    let of = without_tables(recording, sums).into_iter();
    of.map(|of| WithoutTables {
        path: path(recording, &of),
        frames: of.frames,
        stacks: of.passing.stacks,
        allocations: of.passing.allocations,
        ending_stacks: of.ending.stacks,
        ending_allocations: of.ending.allocations,
    })
    .collect()
}

/// Of code that lies in no file or memory that is known, an address that a corrupt stack leads to, there is none.
fn path<'r>(recording: &'r Recording, of: &memtoll_analysis::without_tables::WithoutTables) -> &'r str {
    match recording.frames.text(of.module) {
        "" => "(unknown)",
        path => path,
    }
}

/// What that means for the numbers, if there is such code.
pub(crate) fn note(recording: &Recording, sums: &Sums) -> Option<String> {
    const SHOWN: usize = 4;
    let mut files = without_tables(recording, sums);
    // Stacks of mappings alone are no allocations.
    files.retain(|file| file.passing.allocations + file.ending.allocations > 0);
    let of = |count: Count, verb: &str| {
        let share = format::percent(count.allocations, sums.total.allocations());
        let stacks = format::counted(count.stacks, "stack");
        let verb = if count.stacks == 1 { format!("{verb}s") } else { verb.to_owned() };
        (count.stacks > 0).then(|| format!("{stacks} ({share} of all allocations) {verb}"))
    };
    let one = |file: &memtoll_analysis::without_tables::WithoutTables| {
        let name = last_part(path(recording, file));
        let frames = (file.frames > 0).then(|| format!(" ({})", format::counted(file.frames, "frame")));
        let both = of(file.passing, "pass").into_iter().chain(of(file.ending, "end"));
        format!("{name}{}: {}", frames.unwrap_or_default(), both.collect::<Vec<_>>().join(", "))
    };
    let mut shown: Vec<String> = files.iter().take(SHOWN).map(one).collect();
    if let Some(more @ 1..) = files.len().checked_sub(SHOWN) {
        shown.push(format!("{} more", format::counted(more as u64, "file")));
    }
    (!files.is_empty()).then(|| {
        format!(
            "code without unwind tables, where callers are found by reading the code or with the frame pointer, which is less sure: {}",
            shown.join("; ")
        )
    })
}
