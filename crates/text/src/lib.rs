//! Texts for people, whatever they are about: numbers with their units and errors, dates, command lines, lines and tables that
//! fit a screen.
//!
//! Nothing here knows of recordings, and nothing here is waited for.

pub mod amounts;
pub mod format;
mod quantity;
pub mod shell;
pub mod table;
mod visible;
pub mod wrap;

pub use quantity::Quantity;
pub use visible::{harmless, visible};
