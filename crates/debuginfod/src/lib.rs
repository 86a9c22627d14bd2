//! Fetches debug files from debuginfod's servers into the cache that all its clients share (gdb, perf, systemtap …).
//!
//! The variables, the layout of the cache and its rules are those of elfutils' client (`debuginfod-client-config(7)`):
//! what one tool fetched, the others find, and what one did not find, the others do not ask for again for ten minutes.

mod cache;
mod client;
mod http;
mod settings;

pub use client::{Answer, Client, Progress};
pub use settings::Settings;
