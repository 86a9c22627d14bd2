//! What a recording's events add up to. Pure functions and accumulators: nothing here reads or prints.

pub mod aggregate;
mod block_table;
mod curve;
