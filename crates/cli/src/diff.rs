//! `memtoll diff`

use crate::exit;
use crate::output::{ColorChoice, Screen};
use memtoll_analysis::aggregate::Selection;
use memtoll_analysis::diff::Side;
use memtoll_analysis::stacks::View;
use memtoll_analysis::sums::sums;
use memtoll_model::Recording;
use memtoll_report::diff::Diff;
use regex::Regex;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compare two recordings
///
/// Totals, then the functions and call paths that changed most, that are new, and that are gone.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording before the change
    before: PathBuf,

    /// The recording after it
    after: PathBuf,

    /// Only stacks in which a function, a file or a module matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,

    /// Show library frames, too
    #[arg(long)]
    unfold: bool,

    /// Fold functions away whose name matches, like library frames: the program's own wrappers of malloc, for example
    #[arg(long, value_name = "REGEX")]
    fold: Option<Regex>,

    /// Rows of each part
    #[arg(short = 'n', long, value_name = "N", default_value_t = 15)]
    limit: usize,

    /// Output format
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    format: Format,

    /// When to use colour; NO_COLOR is respected
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: ColorChoice,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let mut recordings = Vec::new();
    for path in [&arguments.before, &arguments.after] {
        match Recording::open(path) {
            Ok(recording) => recordings.push(recording),
            Err(error) => return exit::fail(error, exit::BAD_INPUT),
        }
    }
    let view = View { unfold: arguments.unfold, fold: arguments.fold.clone(), filter: arguments.filter.clone() };
    let totals: Vec<_> = recordings.iter().map(|recording| sums(recording, Selection::default())).collect();
    for (recording, sums) in recordings.iter().zip(&totals) {
        for statement in recording.damage.iter().chain(&sums.damage) {
            exit::say(format!("{}: {statement}", recording.path().display()));
        }
    }
    let before = Side { recording: &recordings[0], sums: &totals[0] };
    let after = Side { recording: &recordings[1], sums: &totals[1] };
    let diff = Diff::new(&before, &after, &view);
    let screen = Screen::stdout(arguments.color);
    let text = match arguments.format {
        Format::Text => diff.text(arguments.limit, screen.width),
        Format::Markdown => diff.markdown(arguments.limit),
        Format::Json => match diff.json() {
            Ok(text) => text,
            Err(error) => return exit::fail(error, exit::BAD_INPUT),
        },
    };
    screen.print(&text)
}
