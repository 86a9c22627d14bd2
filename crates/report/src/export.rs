//! Forms of a report for other programs.

use crate::{csv, json};
use memtoll_query::export::Export;

/// All of them.
pub const ALL: [&dyn Export; 2] = [&json::Json, &csv::Csv];
