//! `memtoll verify`

use crate::exit;
use crate::measuring::{DecidedBy, Pace, Ticker, build, parse_variable};
use crate::output::{Printing, TextJsonOrMarkdown};
use memtoll_verify::command::CommandLine;
use memtoll_verify::comparison::{Comparison, compare};
use memtoll_verify::trial::{Contestant, Manner};
use memtoll_verify::{Error, json, prediction, text};
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure what a change saves, without the recorder
///
/// Runs both commands in turn, in random order, until the saving is known. Prints CPU time, wall time, page faults and the
/// peak resident set of both, and what is saved, with intervals. Both must print the same on standard output.
#[derive(clap::Args)]
pub struct Arguments {
    /// Command before the change
    #[arg(long, value_name = "CMD")]
    before: String,

    /// Command after the change
    #[arg(long, value_name = "CMD")]
    after: String,

    /// Set a variable for the command before the change
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    before_env: Vec<(String, String)>,

    /// Set a variable for the command after the change
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_variable)]
    after_env: Vec<(String, String)>,

    /// Run this first, to build the command before the change
    #[arg(long, value_name = "CMD")]
    before_build: Option<String>,

    /// Run this first, to build the command after the change
    #[arg(long, value_name = "CMD")]
    after_build: Option<String>,

    /// Compare with a prediction in a JSON file: docs/verify.md describes it
    #[arg(long, value_name = "FILE", requires = "finding")]
    prediction: Option<PathBuf>,

    /// The finding in that file
    #[arg(long, value_name = "ID", requires = "prediction")]
    finding: Option<String>,

    #[command(flatten)]
    pace: Pace,

    /// The figure that decides when enough is known
    #[arg(long, value_enum, default_value = "cpu", value_name = "METRIC")]
    metric: DecidedBy,

    /// Stop when the saving is known to this share of a run, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    precision: f64,

    #[command(flatten)]
    printing: Printing<TextJsonOrMarkdown>,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let comparison = match measure(arguments) {
        Ok(comparison) => comparison,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    let screen = arguments.printing.screen();
    let shown = match arguments.printing.format {
        TextJsonOrMarkdown::Text => text::comparison(&comparison, screen.width),
        TextJsonOrMarkdown::Json => json::comparison(&comparison),
        TextJsonOrMarkdown::Markdown => text::comparison_markdown(&comparison),
    };
    let printed = screen.print(&shown);
    match comparison.is_as_predicted() {
        true => printed,
        false => exit::fail("the prediction did not come true", exit::NOT_AS_PREDICTED),
    }
}

fn measure(arguments: &Arguments) -> Result<Comparison, Error> {
    let predictions = match (&arguments.prediction, &arguments.finding) {
        (Some(file), Some(finding)) => prediction::of(file, finding)?,
        _ => Vec::new(),
    };
    for (side, command) in [("--before-build", &arguments.before_build), ("--after-build", &arguments.after_build)] {
        build(side, command.as_deref())?;
    }
    let side = |name: &str, command: &str, environment: &[(String, String)]| Contestant {
        name: name.to_owned(),
        command: environment
            .iter()
            .fold(CommandLine::typed(command), |command, (name, value)| command.with(name, value)),
    };
    let sides = [
        side("before", &arguments.before, &arguments.before_env),
        side("after", &arguments.after, &arguments.after_env),
    ];
    let manner: Manner = arguments.pace.manner();
    let mut aim = arguments.pace.aim(arguments.metric);
    aim.share_of_run = arguments.precision / 100.0;
    let ticker = Ticker::new(&aim);
    compare(&sides, &manner, &aim, arguments.pace.warm_up(), &predictions, |progress| ticker.show(&progress))
}
