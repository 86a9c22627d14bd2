//! `memtoll symbolize`

use crate::debug_file_options::{NameArguments, listed};
use crate::exit::{self, Code};
use clap::ValueHint;
use memtoll_model::{Asked, SymbolizeError, System, Wish, symbolize};
use std::path::PathBuf;
use std::sync::Arc;

/// Write names of functions, files and lines into a recording that lacks them
///
/// Looks for names in the programs and libraries themselves, in debug files beside them, in /usr/lib/debug, in
/// .gnu_debugdata, in --debug-dir, beside the recording, and on the servers in DEBUGINFOD_URLS. Only files with the build
/// id of the recorded ones are used, so the recording may come from another machine, and files may lie elsewhere.
///
/// The recording is replaced when the new one is complete. If that fails, it stays as it is.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> Code {
    // Where a limit of the size of files is met, that is an error like a full disk, not the end of this process.
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    let file = &arguments.file;
    let done = match arguments.names.with_search(file, Wish::Lines, |search| symbolize(file, search)) {
        Ok(done) => done,
        Err(error @ SymbolizeError::Write { .. }) => return exit::fail(error, Code::Failed),
        Err(error) => return exit::fail(error, Code::Usage),
    };
    match &done.findings.found[..] {
        found if !found.is_empty() => {
            exit::say(format!("wrote names for {} into {}", listed(found), file.display()));
        }
        _ if done.is_written => exit::say(format!("wrote the names that were found into {}", file.display())),
        _ if done.findings.looked_in.is_empty() => exit::say("the recording has all names"),
        _ => exit::say("found no better names; the recording is unchanged"),
    }
    if !done.unnamed.is_empty() {
        let places = match &done.findings.looked_in[..] {
            [] => String::new(),
            places => format!("; looked in {}", places.join(", ")),
        };
        let server = match done.findings.asked {
            Asked::NoServer => format!("; for files of packages, set DEBUGINFOD_URLS={}", System::here().server()),
            Asked::NotYet | Asked::Yes => String::new(),
        };
        exit::say(format!("functions without names are left in {}{places}{server}", listed(&done.unnamed)));
    }
    Code::Done
}
