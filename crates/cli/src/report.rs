//! `memtoll report`

mod question;
mod text;

use crate::chart_file::ChartFile;
use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::named_values::{group_parser, list_parser};
use crate::output::ColorArgument;
use crate::selection_options::{SelectionArguments, metric_parser};
use clap::ValueHint;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_export::Collapsed;
use memtoll_model::Recording;
use memtoll_query::export::Export;
use memtoll_query::query::List;
use memtoll_query::{Impossible, Shown, View, ask};
use memtoll_report::page_chart;
use std::path::{Path, PathBuf};

/// Show what a recording says
///
/// Without options, prints the summary: totals, the functions, lines and call paths that allocate most, temporary blocks,
/// what makes up the peak, what is never freed.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    #[command(flatten)]
    shape: Shape,

    /// Group rows by this (implies --flat); with --tree and --callers, a tree for each module or type
    #[arg(long, value_name = "WHAT", value_parser = group_parser(
        &GroupBy::OF_TABLES, &[(GroupBy::Type, "Types of the blocks, where inlined functions tell them")]
    ))]
    group: Option<GroupBy>,

    /// Show this figure: rows are in its order, trees and shares are of it (implies --flat) [default: allocations; with
    /// --at: live]
    #[arg(long, value_name = "METRIC", value_parser = metric_parser())]
    metric: Option<Metric>,

    #[command(flatten)]
    selection: SelectionArguments,

    /// With --resident: draw a map of the pages to this file (.svg)
    #[arg(long, value_name = "FILE", requires = "resident", value_hint = ValueHint::FilePath)]
    chart: Option<PathBuf>,

    /// Show this many rows of each table
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Leave out tree branches below this share of the total, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_percent: f64,

    #[command(flatten)]
    names: NameArguments,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    format: Format,

    #[command(flatten)]
    color: ColorArgument,
}

/// Options that lanes, regions and the recorder know nothing of: better an error than silence.
const NOT_OVER_TIME: [&str; 13] = [
    "group", "metric", "filter", "min_size", "max_size", "at", "paid", "unfold", "fold", "drop", "focus", "collapse",
    "wrappers",
];

/// Options that do not go with --resident; --at does.
const NOT_OVER_TIME_BUT_AT: [&str; 9] =
    ["group", "metric", "min_size", "max_size", "paid", "filter", "drop", "focus", "collapse"];

#[derive(clap::Args)]
#[group(multiple = false)]
struct Shape {
    /// Show a table of call sites
    #[arg(long)]
    flat: bool,
    /// Show the call tree, from main to the allocations
    #[arg(long)]
    tree: bool,
    /// Show the call tree, from the allocations to main
    #[arg(long)]
    callers: bool,
    /// Show each thread over time: running, in calls of the allocator, faulting, waiting in such calls, off the CPU
    #[arg(long, conflicts_with_all = NOT_OVER_TIME)]
    lanes: bool,
    /// Show what each run of a region (memtoll.h) cost, such as a frame: median, 99th percentile, worst
    #[arg(long, conflicts_with_all = NOT_OVER_TIME)]
    regions: bool,
    /// Show who holds the pages of the resident set at the end, or at another look at them (--list looks): --at peak, --at end,
    /// --at TIME, --at MARK
    #[arg(long, conflicts_with_all = NOT_OVER_TIME_BUT_AT, conflicts_with_all = ["from", "to", "between_marks", "thread"])]
    resident: bool,
    /// Show the lines whose live bytes grow steadily, with --from and --to between two times
    #[arg(long, conflicts_with_all = NOT_OVER_TIME)]
    grown: bool,
    /// Show what the recorder itself did and cost
    #[arg(long, conflicts_with_all = NOT_OVER_TIME, conflicts_with_all = ["from", "to", "between_marks"])]
    recorder: bool,
    /// List what there is to choose from
    #[arg(long, value_parser = list_parser(), value_name = "WHAT", conflicts_with_all = NOT_OVER_TIME, conflicts_with_all = ["from", "to", "between_marks"])]
    list: Option<List>,
}

/// What is printed.
#[derive(Clone, Copy)]
enum Format {
    /// For people.
    Text,
    /// For other programs.
    Export(&'static dyn Export),
}

/// Parses a format: those for other programs that are text, and text for people.
fn formats() -> impl TypedValueParser<Value = Format> {
    let exports = || memtoll_report::export::ALL.into_iter().chain([&Collapsed as &dyn Export]);
    let text = PossibleValue::new("text").help("For people");
    let values = exports().map(|export| PossibleValue::new(export.name()).help(export.help()));
    let values = PossibleValuesParser::new(std::iter::once(text).chain(values));
    values.map(move |name| exports().find(|export| export.name() == name).map_or(Format::Text, Format::Export))
}

pub fn run(arguments: &Arguments) -> Code {
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let chart = match arguments.chart.as_deref().map(chart_file).transpose() {
        Ok(chart) => chart,
        Err(failure) => return failure.say(),
    };
    let screen = arguments.color.screen();
    let query = match arguments.query(&recording, screen.width) {
        Ok(query) => query,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let answer = match ask(&recording, &query) {
        Ok(answer) => answer,
        Err(why) => {
            if let Format::Export(export) = arguments.format
                && let Some(text) = export.refusal(&why).filter(|_| !why.is_wrong())
            {
                screen.print(&text);
            }
            return nothing(&recording, &why);
        }
    };
    // The summary says it itself.
    if !matches!((arguments.format, &query.view), (Format::Text, View::Totals)) {
        answer.missing.iter().for_each(exit::say);
    }
    let printed = match arguments.format {
        Format::Text => screen.print(&arguments.text(&query, &answer, screen.width)),
        Format::Export(export) => {
            let mut bytes = Vec::new();
            match export.write(&answer, &mut bytes) {
                Ok(()) => screen.print_exactly(&String::from_utf8_lossy(&bytes)),
                Err(error) => return exit::fail(error, Code::Failed),
            }
        }
    };
    let drawn = match (&chart, &answer.shown) {
        (Some(file), Shown::Resident { resident }) => {
            page_chart::svg(&recording, resident).map(|svg| file.write(svg.as_bytes()))
        }
        _ => None,
    };
    if let Some(Err(failure)) = drawn {
        return failure.say();
    }
    printed.or(Code::damaged(answer.is_damaged()))
}

/// A file for the map of pages.
fn chart_file(path: &Path) -> Result<ChartFile<'_>, Failure> {
    if path.extension().is_none_or(|extension| extension != "svg") {
        return Err(Code::Usage.because(format!("expected a chart's name to end in .svg, found {}", path.display())));
    }
    ChartFile::check(path)
}

/// Says why there is no answer.
pub fn nothing(recording: &Recording, why: &Impossible) -> Code {
    if !why.is_wrong() {
        recording.damage.iter().for_each(exit::say);
    }
    exit::fail(why, Code::of(why))
}
