//! What the commands that run programs without the recorder have in common: options, progress, builds.

use crate::named_values::parser;
use crate::wait_messages::Waiting;
use clap::builder::TypedValueParser;
use memtoll_text::Quantity;
use memtoll_text::format::{Unit, counted};
use memtoll_verify::Error;
use memtoll_verify::command::CommandLine;
use memtoll_verify::comparison::{Aim, Progress};
use memtoll_verify::metric::Metric;
use memtoll_verify::run::{Expected, run};
use memtoll_verify::trial::Manner;
use std::time::Duration;

/// How many runs there are, and how they are made.
#[derive(clap::Args)]
pub struct Pace {
    /// Run this command before every run; its time does not count
    #[arg(long, value_name = "CMD")]
    prepare: Option<String>,

    /// Warm up with this many runs
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: usize,

    /// Measure at least this many rounds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(3..))]
    min_rounds: u16,

    /// Measure at most this many rounds
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(3..))]
    max_rounds: u16,

    /// Begin no new round after this time, such as 90s
    #[arg(long, value_name = "TIME", default_value = "120s", value_parser = crate::selection_options::parse_time)]
    max_time: f64,

    /// Compute intervals at this confidence, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0, value_parser = parse_confidence)]
    confidence: f64,

    /// Require this exit code of every run
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit_code: i32,

    /// Do not compare the runs' standard output
    #[arg(long)]
    ignore_output: bool,
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').trim().parse().ok().filter(|value| (50.0..100.0).contains(value));
    value.ok_or_else(|| format!("expected a percentage from 50 to 99.9, found \"{text}\""))
}

impl Pace {
    pub fn manner(&self) -> Manner {
        Manner {
            prepare: self.prepare.as_deref().map(CommandLine::typed),
            exit_code: self.exit_code,
            same_output: !self.ignore_output,
            looks_at_exit: false,
        }
    }

    pub fn aim(&self, metric: Metric) -> Aim {
        let least = usize::from(self.min_rounds);
        Aim {
            rounds: least..=usize::from(self.max_rounds).max(least),
            time: Duration::from_secs_f64(self.max_time),
            confidence: self.confidence / 100.0,
            metric,
            ..Aim::default()
        }
    }

    pub fn warm_up(&self) -> usize {
        self.warmup
    }
}

/// Parses the figure that decides.
pub fn metric_parser() -> impl TypedValueParser<Value = Metric> {
    parser(vec![
        (Metric::Cpu, "cpu", "CPU time"),
        (Metric::Wall, "wall", "Wall time"),
        (Metric::Faults, "faults", "Page faults"),
        (Metric::ResidentPeak, "resident-peak", "Peak resident set"),
        (Metric::ResidentEnd, "resident-end", "Resident set when the program exits"),
    ])
}

/// Says how far it is.
pub struct Ticker {
    waiting: Waiting,
    metric: Metric,
    /// `of at most 120 s`.
    limit: String,
}

impl Ticker {
    pub fn new(aim: &Aim) -> Ticker {
        let limit = format!("of at most {} s", aim.time.as_secs());
        let waiting = Waiting::new("measuring");
        waiting.tell(&limit);
        Ticker { waiting, metric: aim.metric, limit }
    }

    pub fn show(&self, progress: &Progress) {
        let known =
            |error: f64| format!(", saving in {} known to {} of a run", self.metric.title(), Unit::Share.show(error));
        let known = progress.error.map_or(String::new(), known);
        self.waiting.tell(format!("{}, {}{known}", self.limit, counted(progress.rounds as u64, "round")));
    }
}

/// Runs a command that builds a side.
pub fn build(side: &str, command: Option<&str>) -> Result<(), Error> {
    let Some(command) = command else { return Ok(()) };
    run(&CommandLine::typed(command), &Expected { side, exit_code: 0, looks_at_exit: false }, None, None).map(drop)
}

/// `NAME=value`.
pub fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, found \"{text}\"")),
    }
}
