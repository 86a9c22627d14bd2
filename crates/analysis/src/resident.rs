//! The resident set of a process, or of several together, without the recorder.

use crate::resident_curve::{Intervals, in_intervals};
use crate::sums::Sums;
use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_trace::meta::{GiveOrTake, Resident};
use rustc_hash::FxHashMap;

/// How far the figure may be from that of plain runs, as a share of it: in recordings of python3 and in the C programs of
/// `tests/e2e/tests/resident.rs`, it was up to 0.9 % off.
const BEYOND: f64 = 0.02;

/// Of all processes that count together, where it was largest at one instant. Not known of a part of the time.
pub fn together(recording: &Recording, sums: &Sums) -> Option<Resident> {
    if sums.is_part() {
        return None;
    }
    let all = recording.end.as_ref().and_then(|end| end.resident).filter(|_| sums.thread_filter.are_all());
    if let Some(all) = all {
        return Some(against_plain_runs(all));
    }
    let processes = of_processes(recording, sums.counted().map(|(index, _)| index))?;
    let largest = *processes.iter().max_by_key(|resident| resident.program)?;
    if processes.len() == 1 {
        return Some(largest);
    }
    // No look was at just these together: at least the largest one, at most all, each at its own time.
    let least = largest.program.saturating_sub(largest.error);
    let most = processes
        .iter()
        .fold(0, |sum: u64, resident| sum.saturating_add(resident.program).saturating_add(resident.error));
    let half = (most - least) / 2;
    Some(Resident { program: least + half, error: half, at_end: None, unseen: None, ..largest })
}

/// The largest resident set of a whole recording, where a curve of `count` intervals misses it because it was between two looks.
pub fn between_looks(recording: &Recording, count: usize) -> Option<Resident> {
    let all = recording.end.as_ref().and_then(|end| end.resident).map(against_plain_runs);
    let largest = all.or_else(|| match of_processes(recording, 0..recording.images.len())?.as_slice() {
        [only] => Some(*only),
        _ => None,
    })?;
    let drawn = Intervals { start: 0, width: recording.ended() / count as u64 + 1, count };
    let seen = in_intervals(recording, drawn, &ThreadFilter::default())?.into_iter().flatten().max()?;
    (largest.program.saturating_sub(largest.error) > seen).then_some(largest)
}

/// Of each process that executed one of these images, where it was largest. `None`: one of them is not known, as in a recording that was
/// cut off.
fn of_processes(recording: &Recording, images: impl Iterator<Item = usize>) -> Option<Vec<Resident>> {
    let mut processes: FxHashMap<usize, Option<Resident>> = FxHashMap::default();
    for index in images {
        let process = processes.entry(recording.images[index].process).or_default();
        *process = [*process, of_image(recording, index)].into_iter().flatten().max_by_key(|resident| resident.program);
    }
    processes.into_values().collect()
}

/// That of the process that executed an image, while it did. The error is that against the run without memtoll.
pub fn of_image(recording: &Recording, index: usize) -> Option<Resident> {
    recording.images.get(index)?.end.as_ref()?.kernel.resident.map(against_plain_runs)
}

fn against_plain_runs(resident: Resident) -> Resident {
    let beyond = |bytes: u64| (bytes as f64 * BEYOND) as u64;
    let Resident { program, error, at_end, .. } = resident;
    Resident {
        error: error.saturating_add(beyond(program)),
        at_end: at_end.map(|of| GiveOrTake { error: of.error.saturating_add(beyond(of.bytes)), ..of }),
        ..resident
    }
}
