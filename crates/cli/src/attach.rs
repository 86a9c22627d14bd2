//! `memtoll attach`, and `memtoll record --pid`

use crate::closing_summary;
use crate::debug_file_options;
use crate::exit::{self, Code};
use crate::recording_options::RecordingOptions;
use memtoll_record::{Attach, Stops, find_process};
use memtoll_text::format;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Record a process that runs already
///
/// Records from now on, until the process ends, the time of --for is over, or Ctrl-C. The process then goes on as it did before.
/// What it allocated before is not in the recording.
#[derive(clap::Args)]
pub struct Arguments {
    /// The process: its number, or its name if only one has it
    #[arg(id = "pid", value_name = "PID|NAME")]
    process: String,

    #[command(flatten)]
    common: RecordingOptions,

    #[command(flatten)]
    ends: Ends,
}

/// When the recording of a running process ends.
#[derive(clap::Args)]
pub struct Ends {
    /// Record a running process for this long, such as 500ms, 60s, 5m or 2h [default: until it ends, or Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time, requires = "pid")]
    lasts: Option<Duration>,

    /// Record a running process until it sets this mark with memtoll.h
    #[arg(long, value_name = "NAME", requires = "pid")]
    until_mark: Option<String>,
}

/// A time with its unit; without one, seconds.
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a time such as 500ms, 60s, 5m or 2h, found \"{text}\"");
    let digits = text.trim_end_matches(char::is_alphabetic);
    let seconds = match &text[digits.len()..] {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let value: f64 = digits.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(value * seconds).map_err(|_| wrong())
}

pub fn run(arguments: &Arguments) -> ExitCode {
    record_running(&arguments.process, &arguments.common, &arguments.ends)
}

/// Records the process with this number or name.
pub fn record_running(process: &str, common: &RecordingOptions, ends: &Ends) -> ExitCode {
    let pid = match find_process(process) {
        Ok(pid) => pid,
        Err(why) => return exit::fail(why, Code::CannotRecord).into(),
    };
    let name = PathBuf::from(memtoll_record::process_name(pid));
    let what = Attach {
        pid,
        output: common.destination(&name),
        max_size: common.max_size,
        snapshot_at: common.snapshot_at.clone(),
        stack_depth: common.stack_depth,
        searches_leaks: !common.no_leak_search,
        lasts: ends.lasts,
        until_mark: ends.until_mark.clone(),
        faults: common.faults(),
        debug_folders: debug_file_options::usual_folders(),
        recorder: common.recorder.clone(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let began = |stopped| {
        if !common.quiet {
            let name = name.file_name().unwrap_or_default().to_string_lossy();
            exit::say(format!("recording process {pid} ({name}); Ctrl-C ends the recording, not the process{stopped}"));
        }
    };
    let (outcome, stops) = match memtoll_record::attach(&what, || began("")) {
        Ok(done) => done,
        Err(error) => return exit::fail(error, Code::CannotRecord).into(),
    };
    closing_summary::print(&outcome.path, &outcome, common.quiet);
    if !common.quiet {
        let Stops { loading, begin, held, end } = stops;
        let [loading, begin, held, end] = [loading, begin, held, end].map(|time| format::seconds(time.as_secs_f64()));
        exit::say(format!(
            "process {pid} stood still for {begin} when the recording began, {end} when it ended; calls for memory waited for \
             up to {held}; before, one of its threads prepared it for {loading}"
        ));
    }
    Code::Done.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_time("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_time("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        for wrong in ["", "s", "5 weeks", "-1s", "1e30h"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
