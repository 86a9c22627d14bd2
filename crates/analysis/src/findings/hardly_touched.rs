//! Memory that is asked for and hardly touched.

use super::{Facts, Finding, Share, What, Whole};
use crate::detectors;
use crate::intervals::Interval;
use crate::metric::Metric;
use crate::sites::Row;
use serde::Serialize;

const MOST: usize = 3;

/// Memory is asked for and hardly used. Bytes.
#[derive(Clone, Debug, Serialize)]
pub struct HardlyTouched {
    /// What the line had at the peak, or mapped.
    pub bytes: u64,
    /// What is known to have been touched of it.
    pub touched_bytes: u64,
    /// Where the truth of that is.
    pub touched_interval: Interval,
    /// What may have been touched beside that: in system calls whose page faults the kernel does not show, or in page faults
    /// of which the records were lost.
    pub unseen_bytes: u64,
}

pub(super) fn find(facts: &Facts) -> Vec<Finding> {
    let unseen = detectors::unseen(facts.balance, facts.tariff).filter(|_| facts.faults_are_of_own_memory());
    let Some(unseen) = unseen else { return Vec::new() };
    let touched = |row: &Row| facts.tariff.estimate(Metric::Touched, &row.metrics);
    let had = |row: &Row| row.metrics.peak_bytes.max(row.metrics.mapped_bytes);
    let untouched =
        facts.largest(had).into_iter().filter(|row| detectors::hardly_touched(&row.metrics, unseen).is_some());
    let finding = |row: &Row| {
        Finding::new(
            What::HardlyTouched(HardlyTouched {
                bytes: had(row).0,
                touched_bytes: row.metrics.touched_bytes.0,
                touched_interval: touched(row).into(),
                unseen_bytes: unseen.0,
            }),
            Some(row.clone()),
            Share::new(touched(row), had(row).0 as f64, Whole::AskedFor),
        )
    };
    untouched.take(MOST).map(finding).collect()
}
