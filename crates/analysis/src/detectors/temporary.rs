//! Blocks that are freed before their thread allocates again.

use crate::metric::Metric;
use crate::priced::Priced;

const FEWEST: u64 = 1000;

/// Whether most blocks of a line are temporary, and there are many.
pub fn are_temporary(metrics: &Priced) -> bool {
    let (temporary, blocks) = (metrics.temporary, Metric::Allocations.value(metrics));
    temporary >= FEWEST && temporary.saturating_mul(10) >= blocks.saturating_mul(7)
}

/// Whether temporary blocks are too few for a list of them: less than a hundredth of all, or only a handful.
pub fn are_rarely_temporary(temporary: u64, blocks: u64) -> bool {
    temporary < 100 || temporary.saturating_mul(100) < blocks
}
