//! Pages of a line that faulted more than once.

use super::{Facts, Finding, What};
use crate::touched::faults_again;
use serde::Serialize;

/// More pages faulted than the dearest line has.
#[derive(Clone, Debug, Serialize)]
pub struct FaultsAgain {
    /// What was asked for, bytes.
    pub bytes: u64,
    pub faulted_bytes: u64,
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    let row = *facts.largest(|row| row.metrics.cost_ns()).first()?;
    (facts.faults_are_of_own_memory() && faults_again(&row.metrics, facts.tariff)).then(|| {
        Finding::new(
            What::FaultsAgain(FaultsAgain {
                bytes: row.metrics.bytes.0,
                faulted_bytes: facts.tariff.faulted(&row.metrics).0,
            }),
            Some(row.clone()),
            None,
        )
    })
}
