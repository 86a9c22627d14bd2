//! `memtoll tui`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use memtoll_tui::{End, show};
use std::path::PathBuf;
use std::process::ExitCode;

/// Look at a recording in a terminal
///
/// The same as memtoll view for people on ssh: what memory costs, the worst lines, advice, the time line, the call tree and
/// the flame graph. ? shows the keys, q quits.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, Code::Usage).into(),
    };
    let is_whole = recording.damage.is_empty();
    let file = arguments.file.file_name().unwrap_or_default().to_string_lossy();
    // Quitting does not wait for a running answer: the recording lives as long as the process.
    match show(Box::leak(Box::new(recording)), &file) {
        Ok(End::Quit) => Code::damaged(!is_whole).into(),
        Ok(End::Signal(signal)) => exit::by_signal(signal),
        Err(error) => exit::fail(error, Code::Failed).into(),
    }
}
