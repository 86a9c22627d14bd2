//! The viewer for terminals: `memtoll tui`.
//!
//! Threads of their own answer [`question::Question`]s, so that the screen never waits: what is not known yet says so, and
//! a question whose answer is not needed any more is not answered. Keys, help and state are tables and enums: [`keys`],
//! [`app`]. Names are hostile input: all text goes through [`memtoll_text::visible`].

mod answers;
mod app;
mod colors;
mod comparison;
mod cpu_time_parts;
mod draw;
mod fitted_text;
mod keys;
mod process_choice;
mod question;
mod screen;
mod scrolled_rows;
mod state;
#[cfg(test)]
mod tests;
mod timeline;
mod views;

pub use answers::Opened;
pub use screen::{End, Error, show};
