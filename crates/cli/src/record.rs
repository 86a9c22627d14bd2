//! `memtoll record`

use crate::attach::{self, Ends};
use crate::calibrate;
use crate::closing_summary;
use crate::debug_file_options;
use crate::exit::{self, Code};
use crate::html;
use crate::progress::ProgressChoice;
use crate::recording_options::RecordingOptions;
use crate::view::{self, Growing};
use clap::ValueHint;
use memtoll_model::Recording;
use memtoll_record::{Destination, Error, Exit, Options, Outcome, run_unrecorded};
use memtoll_trace::meta::Calibration;
use memtoll_verify::calibration::{self, Plan, Stdin};
use memtoll_view::Compared;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Run a program and record its memory
///
/// The program runs as it would without memtoll: same output, same exit code. The processes that it starts are recorded
/// into the same file. `memtoll PROGRAM` is short for `memtoll record -- PROGRAM`.
#[derive(clap::Args)]
#[command(
    override_usage = "memtoll record [OPTIONS] [--] PROGRAM [ARGS]...\n       memtoll record [OPTIONS] --pid PID|NAME"
)]
pub struct Arguments {
    #[command(flatten)]
    common: RecordingOptions,

    /// Write to exactly the file that -o names, also as one of several ranks of a parallel job, which otherwise get
    /// FILE.rank0, FILE.rank1 ... (run.memtoll: run.rank0.memtoll)
    #[arg(long, requires = "output")]
    exact_name: bool,

    /// When to show progress on stderr
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    progress: ProgressChoice,

    /// First run the program N times without and N times with the recorder, to report its own CPU time and memory: see memtoll
    /// calibrate
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = calibrate::RUNS,
        value_parser = clap::value_parser!(u16).range(2..=1000)
    )]
    calibrate: Option<u16>,

    /// Open the recording in a browser afterwards, as memtoll view does; Ctrl-C ends the viewer
    #[arg(long)]
    view: bool,

    /// Show the recording in a browser while the program runs, and afterwards
    #[arg(long, conflicts_with_all = ["view", "calibrate"])]
    live: bool,

    /// Write one HTML page of the recording afterwards, as memtoll html does [default: the recording's name, with .html]
    #[arg(long, value_name = "PAGE", num_args = 0..=1, require_equals = true, value_hint = ValueHint::FilePath)]
    html: Option<Option<PathBuf>>,

    /// Record this process, which runs already, as memtoll attach does
    #[arg(long, value_name = "PID|NAME", conflicts_with_all = ["command", "exact_name", "progress", "calibrate", "view", "live", "html"])]
    pid: Option<String>,

    #[command(flatten)]
    ends: Ends,

    /// The program and its arguments
    #[arg(
        trailing_var_arg = true,
        required_unless_present = "pid",
        value_name = "PROGRAM",
        value_hint = ValueHint::CommandWithArguments
    )]
    command: Vec<OsString>,
}

impl Arguments {
    /// Shows the recording as these options say. Whatever fails, the program's exit code is the one that counts.
    fn show(&self, outcome: &Outcome, growing: Option<&Growing>) -> Result<(), String> {
        if self.html.is_none() && !self.view && growing.is_none() {
            return Ok(());
        }
        if outcome.is_lost {
            return Err("there is no recording to show".to_owned());
        }
        if outcome.events == 0 {
            return Err("nothing was recorded: there is nothing to show".to_owned());
        }
        let recording = Recording::open(&outcome.path).map_err(|error| error.to_string())?;
        if let Some(page) = &self.html {
            let page = page.clone().unwrap_or_else(|| html::beside(&outcome.path));
            html::is_free(&page, self.common.force)?;
            html::write_page(&recording, Compared::default(), &page, &html::options())
                .map_err(|failure| failure.why)?;
        }
        if outcome.told_to_end {
            Ok(())
        } else if let Some(growing) = growing {
            memtoll_record::leave_signals();
            growing.finish()
        } else if self.view {
            memtoll_record::leave_signals();
            view::show_until_signal(recording)
        } else {
            Ok(())
        }
    }

    fn destination(&self) -> Destination {
        let destination = self.common.destination(Path::new(&self.command[0]));
        match memtoll_record::own_rank() {
            Some(rank) if !self.exact_name => destination.of_rank(rank),
            _ => destination,
        }
    }
}

/// What the program takes without the recorder, and how it ends then, if that is asked for.
fn calibration(arguments: &Arguments) -> Result<Option<(Calibration, Exit)>, Code> {
    let Some(runs) = arguments.calibrate.map(usize::from) else { return Ok(None) };
    let refuse = |error: &dyn Display| exit::fail(error, Code::CannotRecord);
    let stdin = Stdin::of_this_process().map_err(|error| refuse(&error))?;
    if stdin.settle().map_err(|error| refuse(&error))? {
        exit::say(
            "with --calibrate, the program gets nothing from the terminal: use < FILE if it reads standard input",
        );
    }
    // The last of the recorded runs is the one that is kept.
    let plan = Plan { words: &arguments.command, stdin, plain: runs, recorded: runs - 1 };
    let folder = arguments.common.output.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    match calibrate::measure(&plan, folder, &arguments.common.words_for_runs()) {
        Ok(found) => Ok(Some(found)),
        Err(error @ calibration::Error::Start { .. }) => Err(exit::fail(error, Code::CannotStart)),
        Err(error) => {
            exit::say(format!("not calibrated: {error}"));
            Ok(None)
        }
    }
}

pub fn run(arguments: &Arguments) -> ExitCode {
    if let Some(process) = &arguments.pid {
        return attach::record_running(process, &arguments.common, &arguments.ends);
    }
    if let Some(Some(page)) = &arguments.html
        && let Err(why) = html::is_free(page, arguments.common.force)
    {
        return exit::fail(why, Code::CannotRecord).into();
    }
    let calibration = match calibration(arguments) {
        Ok(calibration) => calibration,
        Err(code) => return code.into(),
    };
    let options = Options {
        command: arguments.command.clone(),
        output: arguments.destination(),
        max_size: arguments.common.max_size,
        snapshot_at: arguments.common.snapshot_at.clone(),
        stack_depth: arguments.common.stack_depth,
        searches_leaks: !arguments.common.no_leak_search,
        progress: arguments.progress.line(arguments.common.quiet),
        faults: arguments.common.faults(),
        recorder: arguments.common.recorder.clone(),
        calibration,
        debug_folders: debug_file_options::usual_folders(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let mut growing = None;
    let shown = |live| growing = arguments.live.then(|| Growing::show(live));
    let outcome = match memtoll_record::record_live(&options, shown) {
        Ok(outcome) => outcome,
        Err(error) => match (error.shortage(), &error) {
            (Some(shortage), _) => {
                exit::say(format!("nothing is recorded: memtoll needs {shortage}"));
                return exit::fail(run_unrecorded(&options.command), Code::CannotStart).into();
            }
            (None, Error::Program { .. }) => return exit::fail(error, Code::CannotStart).into(),
            (None, _) => return exit::fail(error, Code::CannotRecord).into(),
        },
    };
    // With a stack of its own, all of which is there: memory may be used up, and the first one could not grow.
    std::thread::scope(|scope| {
        let closing = std::thread::Builder::new().stack_size(crate::STACK);
        match closing.spawn_scoped(scope, || closing_summary::print(&outcome.path, &outcome, arguments.common.quiet)) {
            Ok(closing) => _ = closing.join(),
            Err(_) => outcome.notes.iter().for_each(exit::say),
        }
    });
    if let Err(error) = arguments.show(&outcome, growing.as_deref()) {
        exit::say(error);
    }
    end_as(outcome.exit)
}

/// Ends this process as the program ended.
fn end_as(exit: Exit) -> ExitCode {
    match exit {
        Exit::Code(code) => ExitCode::from(code as u8),
        // The program has dumped core already, if it was to.
        Exit::Signal(signal) => exit::by_signal(signal),
        Exit::Exec | Exit::Running | Exit::Unknown => Code::CannotRecord.into(),
    }
}
