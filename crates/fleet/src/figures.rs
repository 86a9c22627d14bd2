//! What a run has as a whole, and no call stack of it: columns of `runs`.

use memtoll_analysis::sums::Sums;
use memtoll_analysis::{reserved, resident};
use memtoll_check::metric::Metric;
use memtoll_model::Recording;

/// The figures, in the order of their columns.
pub const FIGURES: [Metric; 2] = [Metric::ResidentPeak, Metric::Reserved];

/// What a column holds of a run of which the figure is not known.
pub const UNKNOWN: f64 = -1.0;

/// The name of a figure's column.
pub fn column(figure: Metric) -> String {
    format!("{}_bytes", figure.key().replace('-', "_"))
}

/// What a recording says, bytes.
pub fn of(recording: &Recording, whole: &Sums) -> [f64; FIGURES.len()] {
    let resident = resident::together(recording, whole).map(|resident| resident.program);
    let reserved = reserved::of_sums(recording, whole).map(|reserved| reserved.bytes);
    [resident, reserved].map(|bytes| bytes.map_or(UNKNOWN, |bytes| bytes as f64))
}
