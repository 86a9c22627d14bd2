//! `memtoll tui`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::own_heap;
use memtoll_tui::{End, Opened, show};
use std::path::PathBuf;
use std::process::ExitCode;

/// Look at a recording in a terminal
///
/// The same as memtoll view for people on ssh: what memory costs, the worst lines, advice, the time line, the call tree and
/// the flame graph. ? shows the keys, q quits.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording, or one before a change and one after it
    #[arg(required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    own_heap::keep_freed_memory();
    let all: Result<Vec<_>, _> = arguments.files.iter().map(|file| arguments.names.open(file)).collect();
    let all = match all {
        Ok(all) => &*all.leak(),
        Err(error) => return exit::fail(error, Code::Usage).into(),
    };
    let (before, recording) = match all {
        [before, recording] => (Some(before), recording),
        [recording, ..] => (None, recording),
        [] => return exit::fail("expected a recording", Code::Usage).into(),
    };
    let is_whole = all.iter().all(|recording| recording.damage.is_empty());
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let file = arguments.files.iter().map(name).collect::<Vec<_>>().join(" → ");
    // Quitting does not wait for a running answer: recordings live as long as the process.
    match show(Opened { before, recording }, &file) {
        Ok(End::Quit) => Code::damaged(!is_whole).into(),
        Ok(End::Signal(signal)) => exit::by_signal(signal),
        Err(error) => exit::fail(error, Code::Failed).into(),
    }
}
