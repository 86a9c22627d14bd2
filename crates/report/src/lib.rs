//! Recordings as text, tables, JSON, CSV and collapsed stacks.
//!
//! Everything is rendered into a `String`; texts for people carry ANSI styles, which whoever prints them takes out where
//! they are not wanted.

pub mod collapsed;
pub mod csv;
pub mod diff;
pub mod elements;
pub mod format;
pub mod json;
pub mod names;
pub mod recorder;
pub mod summary;
pub mod table;
pub mod tree;
