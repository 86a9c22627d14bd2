//! Which allocator answered which calls, where there are several.

use crate::section::{Limits, title};
use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_query::run_details::{mallocs, own_allocators};
use memtoll_text::format;
use memtoll_text::table::Table;
use memtoll_trace::meta::RecordedCalls;
use memtoll_trace::path::last_part;

/// The allocators inside programs and libraries, and what is left for the one that the loader found; nothing if there is none of
/// the former, or if the report is about a part of the recording.
pub(crate) fn section(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    let mut all = own_allocators(recording);
    all.retain(|own| own.about.recorded == RecordedCalls::All && own.about.answered.calls > 0);
    if sums.is_part() || !sums.thread_filter.are_all() || all.is_empty() {
        return String::new();
    }
    all.sort_by_key(|own| std::cmp::Reverse(own.about.answered.allocations));
    let mut rows = Table::new(&["allocations", "bytes", "frees", "allocator"]);
    let mut row = |allocations, bytes, frees, name| {
        rows.add([format::count(allocations), format::bytes(bytes), format::count(frees), name]);
    };
    let total = &sums.total;
    // A reallocation gives a block and takes one. Frees of blocks from before the recording are the allocator's and in no sum:
    // then what is left for malloc is not known.
    let mut left = Some((total.allocations(), total.bytes.0, total.frees + total.reallocations));
    for own in &all {
        let answered = own.about.answered;
        let name = format!("{} in {}", own.about.name, last_part(&own.about.file));
        row(answered.allocations, answered.bytes, answered.releases, name);
        left = left.and_then(|(allocations, bytes, frees)| {
            Some((
                allocations.checked_sub(answered.allocations)?,
                bytes.checked_sub(answered.bytes)?,
                frees.checked_sub(answered.releases)?,
            ))
        });
    }
    if let Some((allocations, bytes, frees)) = left.filter(|left| left.0 + left.2 > 0) {
        row(allocations, bytes, frees, found_by_loader(recording));
    }
    title("Which allocator answered; a reallocation is an allocation and a free") + &rows.render(limits.width)
}

/// What the loader led calls to.
fn found_by_loader(recording: &Recording) -> String {
    match mallocs(recording).as_slice() {
        [one] => format!("{} in {}", one.about.name, last_part(&one.about.file)),
        _ => "malloc as the loader found it".to_owned(),
    }
}
