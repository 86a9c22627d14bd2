//! Whether `memtoll record` shows how far it is.

use memtoll_record::ProgressLine;
use std::io::{self, IsTerminal};

/// When to show the progress line.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum ProgressChoice {
    /// On a terminal that the program does not use itself: its input and output are redirected
    Auto,
    /// On a terminal, or a line every ten seconds into a file
    Always,
    Never,
}

impl ProgressChoice {
    /// When to show it. The program has our standard streams: what it writes to the terminal, and what is typed for it
    /// there, must look as it does without memtoll.
    pub fn line(self, quiet: bool) -> ProgressLine {
        let program_uses_terminal = || io::stdin().is_terminal() || io::stdout().is_terminal();
        match self {
            ProgressChoice::Always => ProgressLine::Always,
            ProgressChoice::Never => ProgressLine::Never,
            ProgressChoice::Auto if quiet || program_uses_terminal() => ProgressLine::Never,
            ProgressChoice::Auto => ProgressLine::WhileFree,
        }
    }
}
