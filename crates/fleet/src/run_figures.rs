//! What a run has as a whole, and no call stack of it: columns of `runs`.

use memtoll_analysis::figures::{Facts, Figure, TABLE};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;

const NUMBER: usize = {
    let (mut number, mut index) = (0, 0);
    while index < TABLE.len() {
        number += TABLE[index].is_kept as usize;
        index += 1;
    }
    number
};

/// The figures that stores keep, in the order of their columns.
pub const FIGURES: [Figure; NUMBER] = {
    let (mut all, mut number, mut index) = ([TABLE[0].figure; NUMBER], 0, 0);
    while index < TABLE.len() {
        if TABLE[index].is_kept {
            all[number] = TABLE[index].figure;
            number += 1;
        }
        index += 1;
    }
    all
};

/// What a column holds of a run of which the figure is not known.
pub const UNKNOWN: f64 = -1.0;

/// What a recording says, each in its unit.
pub fn of(recording: &Recording, whole: &Sums, tariff: &Tariff) -> [f64; FIGURES.len()] {
    let facts = Facts::of(recording, whole, tariff);
    FIGURES.map(|figure| figure.value(&facts).map_or(UNKNOWN, |value| value.value))
}
