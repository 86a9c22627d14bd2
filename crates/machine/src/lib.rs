//! What memory costs on this machine.
//!
//! The measuring is done by small C++ programs (`machine/`), which are built into this crate and run as processes of
//! their own: they have a heap of their own, and disturb nobody.
//!
//! [`prices`] measures single operations in a few milliseconds, for a recording.

mod prices;
mod program;
mod statistics;

pub use prices::{Price, Prices, prices};
pub use program::Error;
