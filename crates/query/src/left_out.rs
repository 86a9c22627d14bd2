//! What an answer does not show.

use crate::figures::Figures;
use serde::Serialize;

/// Rows or branches that are not shown.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LeftOut {
    /// How many.
    pub number: usize,
    /// What they have together.
    #[serde(flatten)]
    pub figures: Figures,
}
