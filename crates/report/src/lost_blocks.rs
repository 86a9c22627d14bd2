//! Which of the blocks that are left at the end are lost: what the search for pointers to them says.

use memtoll_analysis::names;
use memtoll_analysis::runtime_blocks::RuntimeBlocks;
use memtoll_analysis::sums::Sums;
use memtoll_model::{Image, Recording};
use memtoll_text::amounts::Bytes;
use memtoll_text::format::{self, UNKNOWN};
use memtoll_trace::meta::{Exit, LeakSearch, NotSearched};
use std::cmp::Reverse;

/// The lines on lost blocks, below `never freed`; none for a part of a recording, or where nothing is left.
pub(crate) fn lines(recording: &Recording, sums: &Sums, runtime: &RuntimeBlocks) -> Vec<(String, String)> {
    let total = sums.total.without(&runtime.counts);
    if sums.is_part() || total.live_blocks == 0 {
        return Vec::new();
    }
    let searches = || sums.counted().map(|(index, _)| (&recording.images[index], search(&recording.images[index])));
    if sums.total.is_unsearched() {
        return searches().find_map(|(_, search)| Some(unknown(why_not(search?)?))).into_iter().collect();
    }
    let blocks = total.leaked_blocks();
    let mut what = match blocks {
        0 if total.unsearched > 0 => {
            "of it lost where memtoll searched: something points to every block there".to_owned()
        }
        0 => "of it lost: something points to every block at the end".to_owned(),
        1 => "of it lost, in 1 block: nothing points to it at the end".to_owned(),
        _ => format!("of it lost, in {} blocks: nothing points to them at the end", format::count(blocks)),
    };
    if blocks > 0 && total.indirectly_lost_blocks > 0 {
        what += " but other lost blocks";
    }
    if total.possibly_lost_blocks > 0 {
        let blocks = format::counted(total.possibly_lost_blocks, "block");
        what += &format!(
            "; {} possibly lost, in {blocks}: pointers lead only into the middle",
            format::bytes(total.possibly_lost_bytes)
        );
    }
    if total.suppressed_blocks > 0 {
        let blocks = format::counted(total.suppressed_blocks, "block");
        what += &format!("; {} more in {blocks} suppressed", format::bytes(total.suppressed_bytes));
    }
    what += &threads(searches().filter_map(|(_, search)| search));
    if total.unsearched > 0 {
        what += &not_searched(recording, sums, total.unsearched);
    }
    vec![(format::bytes(total.leaked_bytes()), what)]
}

/// The blocks of processes that were not searched, and why the one with most of them was not.
fn not_searched(recording: &Recording, sums: &Sums, blocks: u64) -> String {
    let mut skipped: Vec<(u64, &Image)> = sums
        .counted()
        .map(|(index, of)| (of.total.unsearched, &recording.images[index]))
        .filter(|(blocks, _)| *blocks > 0)
        .collect();
    skipped.sort_by_key(|(blocks, _)| Reverse(*blocks));
    let Some((_, image)) = skipped.first() else { return String::new() };
    let why = match (search(image).and_then(why_not), &image.end) {
        (Some(why), _) => format!(" ({why})"),
        (None, Some(end)) if !matches!(end.exit, Exit::Code(_)) => format!(" (it {})", end.exit.how()),
        (None, _) => String::new(),
    };
    let others = match skipped.len() - 1 {
        0 => String::new(),
        more => format!(" and {}", format::counted(more as u64, "more process")),
    };
    let blocks = format::counted(blocks, "more block");
    let process = format!("{} {}", names::program(image), image.about.pid);
    format!("; {blocks} may be lost: memtoll did not search {process}{why}{others}")
}

fn search(image: &Image) -> Option<&LeakSearch> {
    image.end.as_ref().map(|end| &end.leak_search)
}

fn why_not(search: &LeakSearch) -> Option<&NotSearched> {
    match search {
        LeakSearch::Not(why) => Some(why).filter(|why| **why != NotSearched::TurnedOff),
        LeakSearch::NoEnd | LeakSearch::Done { .. } => None,
    }
}

fn unknown(why: &NotSearched) -> (String, String) {
    (UNKNOWN.to_owned(), format!("of it lost: memtoll did not search the program's memory at its end, as {why}"))
}

/// What may be wrong where other threads had not ended.
fn threads<'s>(searches: impl Iterator<Item = &'s LeakSearch>) -> String {
    let running = searches.map(|search| match search {
        LeakSearch::Done { other_threads } => u64::from(*other_threads),
        LeakSearch::NoEnd | LeakSearch::Not(_) => 0,
    });
    match running.sum() {
        0 => String::new(),
        1 => "; of 1 thread that had not ended, memtoll did not see the registers, which may hold a few of them"
            .to_owned(),
        more => format!(
            "; of {} threads that had not ended, memtoll did not see the registers, which may hold a few of them",
            format::count(more)
        ),
    }
}

/// Bytes of lost blocks, beside a line that says how much is left; nothing if there are none.
pub(crate) fn beside(sums: &Sums, runtime: &RuntimeBlocks) -> Option<Bytes> {
    let total = sums.total.without(&runtime.counts);
    (!sums.is_part() && total.leaked_blocks() > 0).then(|| total.leaked_bytes())
}
