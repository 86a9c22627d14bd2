//! Memory that a program has only reserved: of its own mappings, what it has never touched, gave back, or cannot access.

use crate::sums::Sums;
use memtoll_model::{Image, Recording};
use memtoll_trace::meta::Usage;
use memtoll_trace::summary::PeakWithMappings;

/// What a process had only reserved at its peak with mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    pub bytes: u64,
    /// By how much that may be too much, because the kernel did not show all page faults. What is then missing is in use.
    pub error: u64,
}

/// Of the one process that counts, in the span that was added up. `None`: there are several.
pub fn of_sums(recording: &Recording, sums: &Sums) -> Option<Reserved> {
    let peak = sums.peak_with_mappings()?;
    let (index, _) = sums.counted().next()?;
    Some(at(recording, index, &peak))
}

/// Of a process image, at this peak.
pub fn at(recording: &Recording, index: usize, peak: &PeakWithMappings) -> Reserved {
    let image = &recording.images[index];
    let shows_faults = recording.end.as_ref().is_some_and(|end| end.kernel.faults);
    // Without page faults, all counts as touched that can be.
    let pages = if shows_faults { unseen_faults(image) } else { 0 };
    let error = pages.saturating_mul(recording.about.machine.page.into());
    Reserved { bytes: peak.reserved_bytes, error: error.min(peak.reserved_bytes) }
}

/// Faults that may have been of own mappings, and that no event tells of: those inside system calls where the kernel hides
/// them, and what samples cannot tell.
fn unseen_faults(image: &Image) -> u64 {
    /// Standard errors of what was sampled.
    const SURE: f64 = 2.0;
    let Some(end) = &image.end else { return 0 };
    let counted = |usage: Usage| usage.minor_faults.saturating_add(usage.major_faults);
    let known = end.kernel.faults_seen + end.kernel.filled_faults + end.recorder.filled_faults;
    // What an image before this one in its process had is counted, too.
    let unseen = end.kernel.usage.filter(|_| !image.shares_process).map_or(0, counted).saturating_sub(known);
    unseen.saturating_add((SURE * end.kernel.faults_error) as u64)
}
