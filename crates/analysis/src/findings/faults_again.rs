//! Pages of a line that faulted more than once.

use super::{Facts, Finding, What};
use crate::metric::Metric;
use crate::priced::Priced;
use crate::tariff::Tariff;
use crate::touched::maps;
use serde::Serialize;

/// More pages faulted than the dearest line has.
#[derive(Clone, Debug, Serialize)]
pub struct FaultsAgain {
    /// What was asked for, bytes.
    pub bytes: u64,
    /// What faulted, bytes.
    pub faulted_bytes: u64,
}

/// Whether more faulted than a line's blocks have. The headers of small blocks and what lies between them are touched, too.
pub fn faults_again(metrics: &Priced, tariff: &Tariff) -> bool {
    let blocks = Metric::Allocations.value(metrics);
    let page = tariff.page();
    let are_large = metrics.bytes_allocated / blocks.max(1) >= 16 * page;
    let most = metrics.bytes_allocated.saturating_add(blocks.saturating_mul(2 * page));
    are_large && !maps(metrics) && tariff.faulted(metrics) / 5 * 4 > most
}

pub(super) fn find(facts: &Facts) -> Option<Finding> {
    let row = *facts.largest(|row| row.metrics.cost_ns()).first()?;
    faults_again(&row.metrics, facts.tariff).then(|| {
        Finding::new(
            What::FaultsAgain(FaultsAgain {
                bytes: row.metrics.bytes_allocated,
                faulted_bytes: facts.tariff.faulted(&row.metrics),
            }),
            Some(row.clone()),
            None,
        )
    })
}
