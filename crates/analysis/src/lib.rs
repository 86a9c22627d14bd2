//! What a recording's events add up to: accumulators and functions on a model. Nothing here prints.

pub mod aggregate;
mod anchor;
pub mod balance;
pub mod beside;
pub mod calibration;
mod curve;
pub mod diff;
pub mod elements;
pub mod estimate;
pub mod findings;
pub mod lanes;
pub mod library;
pub mod processor;
pub mod ran_in;
pub mod regions;
pub mod resident;
pub mod runners;
pub mod runtime_blocks;
pub mod sites;
pub mod stacks;
pub mod sums;
pub mod tariff;
pub mod tree;
pub mod type_name;
pub mod waits;
pub mod wrappers;
pub mod zeroed;
