//! What a recording's events add up to: accumulators and functions on a model. Nothing here prints.

pub mod aggregate;
mod block_table;
mod curve;
pub mod diff;
pub mod library;
pub mod sites;
pub mod sums;
pub mod tree;
pub mod type_name;
