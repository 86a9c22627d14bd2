//! The largest resident set of a process, without the recorder.

use crate::sums::Sums;
use memtoll_model::Recording;
use memtoll_trace::meta::Resident;

/// How far the figure may be from that of plain runs, as a share of it: in recordings of python3 and in the C programs of
/// `tests/e2e/tests/resident.rs`, it was up to 0.9 % off.
const BEYOND: f64 = 0.02;

/// That of the process with the largest one. Not known of a part of the time.
pub fn largest(recording: &Recording, sums: &Sums) -> Option<Resident> {
    let counted = sums.counted().filter(|_| !sums.is_part());
    counted.filter_map(|(index, _)| of_image(recording, index)).max_by_key(|resident| resident.program)
}

/// That of the process that executed an image, if it was reached there. The error is that against the run without memtoll.
pub fn of_image(recording: &Recording, index: usize) -> Option<Resident> {
    let resident = recording.images.get(index)?.end.as_ref()?.kernel.resident?;
    let beyond = (resident.program as f64 * BEYOND) as u64;
    Some(Resident { error: resident.error.saturating_add(beyond), ..resident })
}
