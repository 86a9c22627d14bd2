//! `memtoll html`

use crate::exit;
use crate::names::NameArguments;
use memtoll_view::page::{Options, page};
use memtoll_view::{Ask, Engine};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write one HTML page that shows a recording
///
/// The page needs nothing else: no server, no network. It is smaller than 5 MB, whatever the recording's size: small
/// branches of the call tree become one, and sums stay exact. Home folders in paths become "~".
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    /// The page [default: the recording's name, with .html]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace a page that is there
    #[arg(long)]
    force: bool,

    /// Leave home folders in paths
    #[arg(long)]
    keep_paths: bool,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let output = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension("html"));
    if output.exists() && !arguments.force {
        let why = format!("{} exists: expected a new name, or --force to replace it", output.display());
        return exit::fail(why, exit::BAD_INPUT);
    }
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    recording.damage.iter().chain(&recording.missing).for_each(exit::say);
    let options = Options { keep_paths: arguments.keep_paths, home: std::env::var("HOME").ok() };
    let text = match page(&mut Engine::new(&recording), &Ask::default(), &options) {
        Ok(text) => text,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    if let Err(error) = write(&output, text.as_bytes()) {
        return exit::fail(format!("cannot write {}: {error}", output.display()), exit::CANNOT_WRITE);
    }
    exit::say(format!("{}: {}", output.display(), memtoll_report::format::bytes(text.len() as u64)));
    if recording.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::DAMAGED) }
}

/// The page is there as a whole, or not at all.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
