//! The viewer for terminals: `memtoll tui`.
//!
//! Threads of their own answer [`question::Question`]s, so that the screen never waits: what is not known yet says so, and
//! a question whose answer is not needed any more is not answered. Keys, help and state are tables and enums: [`keys`],
//! [`app`]. Names are hostile input: all text goes through [`text::safe`].

mod answers;
mod app;
mod band;
mod browse;
mod choose;
mod colors;
mod draw;
mod keys;
mod parts;
mod question;
mod screen;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod views;

pub use screen::{End, Error, show};
