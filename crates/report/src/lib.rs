//! Recordings as text, tables, JSON and CSV.
//!
//! Everything is rendered into a `String`; texts for people carry ANSI styles, which the printer takes out where
//! they are not wanted.

use memtoll_query::processor;
use memtoll_query::unnamed_functions;

mod allocators;
mod balance;
mod call_paths;
pub mod caveats;
pub mod costs;
pub mod csv;
pub mod diff;
pub mod empty_result;
pub mod export;
pub mod findings;
pub mod first_screen;
#[cfg(test)]
mod golden;
pub mod grown;
mod head;
pub mod json;
pub mod lanes;
pub mod list;
mod live_curve;
mod lost_blocks;
pub mod next_command;
mod numbers;
pub mod page_chart;
mod pages;
mod plain_run;
mod pools;
mod processes;
pub mod recorder;
pub mod regions;
pub mod resident;
pub mod rows;
pub mod section;
pub mod summary;
pub mod threads;
pub mod tree;
