//! `memtoll html`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::own_heap;
use crate::shown_recordings::ShownArguments;
use crate::wait_messages::Waiting;
use clap::ArgGroup;
use memtoll_export::atomic_file;
use memtoll_model::Recording;
use memtoll_view::Compared;
use memtoll_view::page::{Options, Step, page};
use std::path::{Path, PathBuf};

/// Write one HTML page that shows a recording
///
/// The page needs nothing else: no server, no network. It is smaller than 5 MB, whatever the recording's size: small
/// branches of the call tree become one, and sums stay exact. Home folders in paths become "~". With two recordings, shows
/// the second and what changed since the first. Give several recordings a side to tell changes from noise.
#[derive(clap::Args)]
#[command(
    override_usage = "memtoll html [OPTIONS] FILE [AFTER]\n       \
                      memtoll html [OPTIONS] --before FILE... --after FILE...",
    group(ArgGroup::new("what").required(true).args(["file", "before"]))
)]
pub struct Arguments {
    #[command(flatten)]
    shown: ShownArguments,

    /// The page [default: the recording's name, with .html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing page
    #[arg(long)]
    force: bool,

    /// Leave home folders in paths
    #[arg(long)]
    keep_paths: bool,

    /// Embed the source files found on this machine
    #[arg(long)]
    sources: bool,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> Code {
    own_heap::keep_freed_memory();
    // clap says what is missing.
    let Some(file) = arguments.shown.file() else { return Code::Usage };
    let output = arguments.output.clone().unwrap_or_else(|| beside(file));
    if let Err(why) = is_free(&output, arguments.force) {
        return exit::fail(why, Code::Usage);
    }
    let shown = match arguments.shown.open(&arguments.names) {
        Ok(Some(shown)) => shown,
        Ok(None) => return Code::Usage,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let options = Options { keep_paths: arguments.keep_paths, sources: arguments.sources, ..options() };
    match write_page(&shown.recording, shown.compared(), &output, &options) {
        Err(failure) => failure.say(),
        Ok(()) => Code::damaged(shown.is_damaged()),
    }
}

/// Where the page of a recording is written by default.
pub fn beside(recording: &Path) -> PathBuf {
    recording.with_extension("html")
}

/// Whether a file or folder can be written there, or why not.
pub fn is_free(output: &Path, force: bool) -> Result<(), String> {
    match atomic_file::is_taken(output) && !force {
        true => Err(format!("{} exists: expected a new name, or --force to replace it", output.display())),
        false => Ok(()),
    }
}

/// What a page is made of if nothing is asked for.
pub fn options() -> Options {
    Options { home: std::env::var("HOME").ok(), ..Options::default() }
}

/// Writes the page, and says so.
pub fn write_page(recording: &Recording, compared: Compared, output: &Path, options: &Options) -> Result<(), Failure> {
    let waiting = Waiting::new("making the page");
    let text = page(recording, compared, options, &|step| waiting.tell(in_words(step)));
    drop(waiting);
    let text = text.map_err(|why| Code::Failed.because(why))?;
    atomic_file::write(output, |out| out.write_all(text.as_bytes()))
        .map_err(|error| Code::Failed.because(format!("cannot write {}: {error}", output.display())))?;
    exit::say(format!("{}: {}", output.display(), memtoll_text::format::bytes(text.len() as u64)));
    Ok(())
}

fn in_words(step: Step) -> String {
    match step {
        Step::Reading(share) => format!("reading events: {:.0} %", share * 100.0),
        Step::AddingUp(done, all) => format!("adding up parts of the time: {done} of {all}"),
        Step::Packing => "making advice, packing".to_owned(),
    }
}
