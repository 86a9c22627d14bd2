//! Memory that the program has freed, and that stays in its resident set.

use crate::page_balance::{Balance, Waste};
use crate::tariff::Tariff;

/// A part of the resident set that is worth a change, and bytes.
const MUCH: f64 = 0.2;
const LEAST: u64 = 4 << 20;
/// What has been free for less, ns, may be what the program frees before it ends.
const LASTING: f64 = 1e9;

/// Whether a change of this is worth a word, at the end of a process.
pub fn stays_resident(pages: &Balance, waste: &Waste, tariff: &Tariff) -> bool {
    let is_much = waste.likely() >= LEAST && waste.likely() as f64 >= MUCH * pages.resident as f64;
    is_much && (!waste.kind.is_freed() || tariff.ns(pages.free_for as f64) >= LASTING)
}
