//! The viewer for terminals: `memtoll tui`.
//!
//! Threads of their own answer [`question::Question`]s, so that the screen never waits: what is not known yet says so, and
//! a question whose answer is not needed any more is not answered. Keys, help and state are tables and enums: [`keys`],
//! [`app`]. Names are hostile input: all text goes through [`safe_text::safe`].

mod answers;
mod app;
mod colors;
mod cpu_time_parts;
mod draw;
mod keys;
mod process_choice;
mod question;
mod safe_text;
mod screen;
mod scrolled_rows;
mod state;
#[cfg(test)]
mod tests;
mod timeline;
mod views;

pub use screen::{End, Error, show};
