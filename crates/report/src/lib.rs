//! Recordings as text, tables, JSON, CSV and collapsed stacks.
//!
//! Everything is rendered into a `String`; texts for people carry ANSI styles, which whoever prints them takes out where
//! they are not wanted.

mod call_paths;
pub mod collapsed;
pub mod costs;
pub mod csv;
pub mod diff;
pub mod elements;
pub mod format;
pub mod json;
pub mod lanes;
pub mod names;
pub mod recorder;
pub mod regions;
pub mod summary;
pub mod table;
pub mod threads;
pub mod tree;
mod unused;
