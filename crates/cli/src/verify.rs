//! `memtoll verify`

mod patched;

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::measuring_options::{Pace, Ticker, build, metric_parser, parse_variable};
use crate::output::{Printing, TextJsonOrMarkdown};
use clap::ValueHint;
use memtoll_model::store_verified;
use memtoll_verify::command::CommandLine;
use memtoll_verify::comparison::{Comparison, compare};
use memtoll_verify::metric::Metric;
use memtoll_verify::prediction::{Prediction, Verdict};
use memtoll_verify::trial::{Contestant, Manner};
use memtoll_verify::{Error, json, prediction, text, verified};
use std::ffi::OsString;
use std::path::PathBuf;

/// Measure what a change saves, without the recorder
///
/// Runs both commands in turn, in random order, until the saving is known. Prints CPU time, wall time, page faults and the
/// peak resident set of both, and what is saved, with intervals. Both must print the same on standard output.
///
/// With --patch, both sides are built from copies of the sources, one of them with the change that memtoll advise --patch
/// prints, and the saving is compared with the prediction.
///
/// With a recording, the saving is written into it: memtoll advise and the viewers show it beside what was predicted.
#[derive(clap::Args)]
#[command(override_usage = "memtoll verify [OPTIONS] --before CMD --after CMD\n       \
    memtoll verify [OPTIONS] --before CMD --after CMD --finding ID FILE\n       \
    memtoll verify [OPTIONS] --patch ID --build CMD FILE [-- PROGRAM [ARGS]...]")]
pub struct Arguments {
    /// Command before the change
    #[arg(long, value_name = "CMD", required_unless_present = "patch", requires = "after")]
    before: Option<String>,

    /// Command after the change
    #[arg(long, value_name = "CMD", required_unless_present = "patch", requires = "before")]
    after: Option<String>,

    /// Apply the patch of this finding in a copy of the sources, and measure what it saves
    #[arg(long, value_name = "ID", requires_all = ["build", "file"], conflicts_with_all = ["before", "after", "prediction", "finding"])]
    patch: Option<String>,

    /// Build the program with this command, in each copy
    #[arg(long, value_name = "CMD", requires = "patch")]
    build: Option<String>,

    /// Copy this folder [default: the sources' repository, or where the program ran]
    #[arg(long, value_name = "DIR", requires = "patch", value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,

    /// The recording with the finding; memtoll writes the measured saving into it
    #[arg(conflicts_with = "prediction", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// The program below that folder, and its arguments [default: the recorded ones]
    #[arg(last = true, requires = "patch", value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,

    #[command(flatten)]
    names: NameArguments,

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

    /// Compare with this finding of that file, or of the recording
    #[arg(long, value_name = "ID")]
    finding: Option<String>,

    #[command(flatten)]
    pace: Pace,

    /// Measure until this figure is known well enough
    #[arg(long, value_parser = metric_parser(), default_value = "cpu", value_name = "METRIC")]
    metric: Metric,

    /// Stop when the saving is known to within this percentage of a run
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    precision: f64,

    #[command(flatten)]
    printing: Printing<TextJsonOrMarkdown>,
}

/// Why nothing was measured.
fn failed(error: impl Into<Error>) -> Failure {
    let error = error.into();
    let code = if matches!(error, Error::Prediction { .. }) { Code::Usage } else { Code::Failed };
    code.because(error)
}

pub fn run(arguments: &Arguments) -> Code {
    let comparison = match arguments.compare() {
        Ok(comparison) => comparison,
        Err(failure) => return failure.say(),
    };
    let screen = arguments.printing.screen();
    let shown = match arguments.printing.format {
        TextJsonOrMarkdown::Text => text::comparison(&comparison, screen.width),
        TextJsonOrMarkdown::Json => json::comparison(&comparison),
        TextJsonOrMarkdown::Markdown => text::comparison_markdown(&comparison),
    };
    let printed = screen.print(&shown);
    if let (Some(finding), Some(file)) = (arguments.patch.as_ref().or(arguments.finding.as_ref()), &arguments.file) {
        if let Err(error) = store_verified(file, verified(&comparison, finding)) {
            return exit::fail(error, Code::Failed);
        }
        exit::say(format!("wrote what it saves into {}: memtoll advise shows it", file.display()));
    }
    match comparison.verdict() {
        None | Some(Verdict::Inside) => printed,
        Some(Verdict::Outside) => exit::fail("the prediction did not come true", Code::PredictionWrong),
        Some(Verdict::CannotSay | Verdict::NotMeasured) => {
            exit::fail("the measurement cannot tell whether the prediction came true", Code::NotKnown)
        }
    }
}

impl Arguments {
    fn compare(&self) -> Result<Comparison, Failure> {
        if let (Some(id), Some(file), Some(build)) = (&self.patch, &self.file, &self.build) {
            let patched = patched::Patched::new(self, id, file, build)?;
            return self.measure(patched.commands, &patched.predictions).map_err(failed);
        }
        let predictions = match (&self.prediction, &self.finding, &self.file) {
            (Some(file), Some(finding), _) => prediction::of(file, finding).map_err(failed)?,
            (None, Some(finding), Some(file)) => {
                let (_, advice) = patched::advice(self, file)?;
                patched::predictions(&advice, finding)?
            }
            (None, Some(_), None) => {
                return Err(Code::Usage.because("--finding ID is one of a recording, or of --prediction FILE"));
            }
            (None, None, Some(_)) => {
                return Err(Code::Usage.because("a recording is of use with --patch ID or --finding ID"));
            }
            (_, None, _) => Vec::new(),
        };
        for (side, command) in [("--before-build", &self.before_build), ("--after-build", &self.after_build)] {
            build(side, command.as_deref()).map_err(failed)?;
        }
        let typed = |command: &Option<String>| CommandLine::typed(command.as_deref().unwrap_or_default());
        self.measure([typed(&self.before), typed(&self.after)], &predictions).map_err(failed)
    }

    fn measure(&self, [before, after]: [CommandLine; 2], predictions: &[Prediction]) -> Result<Comparison, Error> {
        let side = |name: &str, command: CommandLine, environment: &[(String, String)]| Contestant {
            name: name.to_owned(),
            command: environment.iter().fold(command, |command, (name, value)| command.with(name, value)),
        };
        let sides = [side("before", before, &self.before_env), side("after", after, &self.after_env)];
        let predicted = predictions.iter().map(|prediction| prediction.metric);
        let looks_at_exit = predicted.chain([self.metric]).any(Metric::needs_exit_look);
        let manner = Manner { looks_at_exit, ..self.pace.manner() };
        let mut aim = self.pace.aim(self.metric);
        aim.share_of_run = self.precision / 100.0;
        let ticker = Ticker::new(&aim);
        compare(&sides, &manner, &aim, self.pace.warm_up(), predictions, |progress| ticker.show(&progress))
    }
}
