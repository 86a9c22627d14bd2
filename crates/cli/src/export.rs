//! `memtoll export`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::html::is_free;
use crate::report::nothing;
use crate::selection_options::{SelectionArguments, metric_parser};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memtoll_analysis::metric::Metric;
use memtoll_export::Format;
use memtoll_query::{Query, View, ask};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a recording as a file for other programs
///
/// Sums equal those of the report for the same selection. memtoll prints what a format cannot hold.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: &'static dyn Format,

    /// The new file; "-" is standard output [default: the recording's name, with the format's extension]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Export this metric in formats that hold only one; other formats show it first [default: allocations; with --at: live]
    #[arg(long, value_name = "METRIC", value_parser = metric_parser())]
    metric: Option<Metric>,

    /// Also export every event (parquet only)
    #[arg(long, conflicts_with = "at")]
    events: bool,

    #[command(flatten)]
    selection: SelectionArguments,

    #[command(flatten)]
    names: NameArguments,
}

/// Parses the name of a format.
fn formats() -> impl TypedValueParser<Value = &'static dyn Format> {
    let values = memtoll_export::ALL.iter().map(|format| PossibleValue::new(format.name()).help(format.help()));
    PossibleValuesParser::new(values).try_map(|name| memtoll_export::named(&name).ok_or("no format has this name"))
}

pub fn run(arguments: &Arguments) -> Code {
    let asked = arguments.format;
    let Some(format) = (if arguments.events { asked.with_events() } else { Some(asked) }) else {
        let why = format!("{} has no events: expected --format parquet, or no --events", asked.name());
        return exit::fail(why, Code::Usage);
    };
    let output = arguments.output.clone().unwrap_or_else(|| arguments.file.with_extension(format.extension()));
    let is_stdout = output == Path::new("-");
    if is_stdout && format.is_folder() {
        let why = format!("{} has several files: expected the name of a folder after -o", format.name());
        return exit::fail(why, Code::Usage);
    }
    if let Err(why) = is_free(&output, is_stdout || arguments.force) {
        return exit::fail(why, Code::Usage);
    }
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let view = match format.view(View::Totals) {
        Ok(view) => view,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    if arguments.selection.is_at_look() {
        return exit::fail("exports have no looks at pages: expected --at with a time such as 1.25s", Code::Usage);
    }
    let details = format.has_details();
    let query = arguments.selection.query(view, arguments.metric);
    let query = Query { findings: details, patterns: details, details, ..query };
    let answer = match ask(&recording, &query) {
        Ok(answer) => answer,
        Err(why) => return nothing(&recording, &why),
    };
    answer.missing.iter().for_each(exit::say);
    if let Some(why) = format.refuses(&answer) {
        return exit::fail(format!("{}: {why}", format.name()), Code::NotFound);
    }
    format.lacks(&answer).iter().for_each(|lack| exit::say(format!("{}: {lack}", format.name())));
    let written = match is_stdout {
        true => {
            let mut out = std::io::stdout().lock();
            format.write(&answer, &mut out).and_then(|()| out.flush())
        }
        false => format.write_to(&answer, &output),
    };
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe && is_stdout => {}
        Err(error) => return exit::fail(format!("cannot write {}: {error}", output.display()), Code::Failed),
        Ok(()) if is_stdout => {}
        Ok(()) => {
            let bytes = bytes_of(&output);
            exit::say(format!("{}: {}", output.display(), memtoll_text::format::bytes(bytes)));
        }
    }
    Code::damaged(answer.is_damaged())
}

/// The bytes of a file, or of the files in a folder.
fn bytes_of(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    let all = files.filter_map(|file| file.metadata().ok()).map(|about| about.len()).sum();
    if path.is_dir() { all } else { std::fs::metadata(path).map_or(0, |about| about.len()) }
}
