//! Memory that has been freed and stays in the resident set.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors::stays_resident;
use crate::page_balance::{self, Kind};
use serde::Serialize;

/// Memory that need not be in the resident set at the end.
#[derive(Clone, Debug, Serialize)]
pub struct Resident {
    /// Which waste it is, as the JSON of `--resident` calls it.
    pub kind: &'static str,
    /// How much of the resident set a change saves at least, and at most, bytes.
    pub low: u64,
    pub high: u64,
    /// For how long half of what is free has been free, ns.
    pub free_for_ns: f64,
    /// Why it stays.
    #[serde(skip)]
    pub why: Kind,
}

pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    let Some(pages) = facts.pages else { return Vec::new() };
    let worth = pages.wastes.iter().filter(|waste| stays_resident(pages, waste, facts.tariff));
    let finding = |waste: &page_balance::Waste| {
        let line = waste.frame.and_then(|frame| facts.lines.iter().find(|line| line.row.frame == Some(frame)));
        let free_for_ns = facts.tariff.ns(pages.free_for as f64);
        let (low, high, why) = (waste.low, waste.high, waste.kind);
        let what = What::Resident(Resident { kind: why.name(), low, high, free_for_ns, why });
        let share = Share::new(waste.likely() as f64, pages.resident as f64, Whole::ResidentAtEnd);
        Finding::new(what, line.map(|line| line.row.clone()), share)
    };
    worth.map(finding).collect()
}
