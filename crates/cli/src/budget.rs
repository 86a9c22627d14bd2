//! `memtoll budget`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::output::{ColorChoice, Screen};
use clap::ValueHint;
use memtoll_check::first;
use memtoll_check::measured::Measured;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;

/// Write a first budget, for memtoll check
///
/// Limits are set above the recorded values, which stand in comments.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> Code {
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let measured = Measured::new(recording, arguments.file.display().to_string());
    if let Some(damage) = measured.damage() {
        return exit::fail(format!("a budget needs a whole recording: {damage}"), Code::Damaged);
    }
    let text = first::budget(&measured);
    let Some(path) = &arguments.output else { return Screen::stdout(ColorChoice::Never).print(&text) };
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    match written.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => Code::Done,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let found = format!("cannot write {}: it exists already, perhaps with your changes", path.display());
            exit::fail(format!("{found}; remove it, or choose another file with -o"), Code::Failed)
        }
        Err(error) => exit::fail(format!("cannot write {}: {error}", path.display()), Code::Failed),
    }
}
