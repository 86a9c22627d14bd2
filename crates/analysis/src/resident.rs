//! The largest resident set of a process, without the recorder.

use crate::sums::Sums;
use memtoll_model::Recording;
use memtoll_trace::meta::Resident;

/// That of the process with the largest one. Not known of a part of the time.
pub fn largest(recording: &Recording, sums: &Sums) -> Option<Resident> {
    let counted = sums.counted().filter(|_| !sums.is_part());
    counted.filter_map(|(index, _)| of_image(recording, index)).max_by_key(|resident| resident.program)
}

/// That of the process that executed an image, if it was reached there.
pub fn of_image(recording: &Recording, index: usize) -> Option<Resident> {
    recording.images.get(index)?.end.as_ref()?.kernel.resident
}
