//! `memtoll record`

use crate::attach::{self, Ends};
use crate::calibrate;
use crate::debug_file_options;
use crate::exit::{self, Code};
use crate::html;
use crate::output::Screen;
use crate::progress::ProgressChoice;
use crate::view::{self, Growing};
use clap::ValueHint;
use memtoll_model::Recording;
use memtoll_query::{Query, ask};
use memtoll_record::{Destination, Error, Exit, FaultPeriod, Options, Outcome, is_first_time, run_unrecorded};
use memtoll_report::{first_screen, next_command};
use memtoll_text::shell;
use memtoll_trace::meta::Calibration;
use memtoll_verify::calibration::{self, Plan, Stdin};
use memtoll_view::Compared;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How a program is recorded, whether it is started or runs already.
#[derive(clap::Args)]
pub struct Common {
    /// Write the recording to this file [default: PROGRAM.memtoll, PROGRAM.2.memtoll, ...]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Replace the recording that -o names, if there is one
    #[arg(long, requires = "output")]
    pub force: bool,

    /// Print neither progress nor summary
    #[arg(short, long)]
    pub quiet: bool,

    /// Stop recording when the file reaches this size, such as 500M or 2G; the program goes on
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_size: Option<u64>,

    /// Look at a process's pages when its resident set passes this size, such as 2G; for memtoll report --resident --at 2G, also after
    /// an out-of-memory kill (repeatable)
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub snapshot_at: Vec<u64>,

    /// Cut off call stacks deeper than this
    #[arg(long, value_name = "FRAMES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65535))]
    pub stack_depth: u32,

    /// Do not search the blocks that are left at the end for those that nothing points to
    #[arg(long)]
    pub no_leak_search: bool,
    /// Sample one page fault in N (1: every fault) [default: every fault, as long as that costs at most 3 %]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    fault_period: Option<u32>,

    /// Record nothing from the kernel: no page faults, no waiting, no samples; costs less
    #[arg(long)]
    no_kernel: bool,

    /// Use this build of the recorder, for work on memtoll itself
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub recorder: Option<PathBuf>,
}

impl Common {
    /// How many page faults are sampled; `None`: the kernel is asked for nothing.
    pub fn faults(&self) -> Option<FaultPeriod> {
        match self.fault_period {
            _ if self.no_kernel => None,
            Some(period) => Some(FaultPeriod::Every(period)),
            None => Some(FaultPeriod::Adaptive),
        }
    }
}

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
    common: Common,

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

/// A size in bytes, with K, M, G or T for powers of 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size such as 4096, 64K, 500M or 2G, found \"{text}\"");
    let upper = text.to_ascii_uppercase();
    let digits = upper.trim_end_matches('B').trim_end_matches('I');
    let (number, factor) = match digits.chars().last() {
        Some('K') => (&digits[..digits.len() - 1], 1u64 << 10),
        Some('M') => (&digits[..digits.len() - 1], 1 << 20),
        Some('G') => (&digits[..digits.len() - 1], 1 << 30),
        Some('T') => (&digits[..digits.len() - 1], 1 << 40),
        _ => (digits, 1),
    };
    let value: f64 = number.parse().map_err(|_| wrong())?;
    if value.is_finite() && value >= 0.0 { Ok((value * factor as f64) as u64) } else { Err(wrong()) }
}

impl Arguments {
    /// The options that change how a run is recorded.
    fn for_others(&self) -> Vec<OsString> {
        let mut options = vec!["--stack-depth".into(), self.common.stack_depth.to_string().into()];
        let mut add = |name: &str, value: OsString| options.extend([name.into(), value]);
        if let Some(size) = self.common.max_size {
            add("--max-size", size.to_string().into());
        }
        if let Some(period) = self.common.fault_period {
            add("--fault-period", period.to_string().into());
        }
        if let Some(recorder) = &self.common.recorder {
            add("--recorder", recorder.into());
        }
        if self.common.no_kernel {
            options.push("--no-kernel".into());
        }
        if self.common.no_leak_search {
            options.push("--no-leak-search".into());
        }
        options
    }

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
        let destination = match &self.common.output {
            Some(path) if self.common.force => Destination::Replace(path.clone()),
            Some(path) => Destination::New(path.clone()),
            None => Destination::Numbered(Path::new(&self.command[0]).file_name().unwrap_or_default().into()),
        };
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
    match calibrate::measure(&plan, folder, &arguments.for_others()) {
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
        match closing.spawn_scoped(scope, || close(&outcome.path, &outcome, arguments.common.quiet)) {
            Ok(closing) => _ = closing.join(),
            Err(_) => outcome.notes.iter().for_each(exit::say),
        }
    });
    if let Err(error) = arguments.show(&outcome, growing.as_deref()) {
        exit::say(error);
    }
    end_as(outcome.exit)
}

/// The closing summary.
pub fn close(path: &Path, outcome: &Outcome, quiet: bool) {
    if outcome.is_lost {
        let file = path.display();
        exit::say(format!("the recording is lost: {file} was removed or replaced while the program ran"));
        return;
    }
    if outcome.events > 0 && !quiet {
        match Recording::open(path) {
            Ok(recording) => {
                // The process ends soon and needs no memory.
                let mut recording = std::mem::ManuallyDrop::new(recording);
                // They keep no program waiting at its end.
                recording.findings.asked = debug_file_options::servers_to_ask();
                let asked = ask(&recording, &Query { findings: true, ..Query::default() });
                let Ok(answer) = asked.map_err(exit::say) else { return };
                let width = Screen::stderr_width();
                Screen::print_to_stderr(&format!("\n{}", first_screen::render(&answer, width)));
                // On a full disk, the file does not say why it ends.
                let shown = |note: &&String| recording.notes.contains(note) || recording.missing.contains(note);
                for note in outcome.notes.iter().filter(|note| !shown(note)) {
                    exit::say(note);
                }
                let room = width.unwrap_or(usize::MAX).saturating_sub(exit::WHO.len());
                exit::say(next_command::last_line(&answer, room));
                if recording.calibration.is_none() && is_first_time("calibrate") {
                    exit::say(
                        "times are from one recorded run; record --calibrate measures the program without the recorder, too",
                    );
                }
            }
            Err(error) => exit::say(error),
        }
        return;
    }
    for note in &outcome.notes {
        exit::say(note);
    }
    if !quiet && path.exists() {
        exit::say(format!("what the kernel counted: memtoll report {}", shell::file(path)));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("64K"), Ok(65536));
        assert_eq!(parse_size("1.5MiB"), Ok(3 << 19));
        assert_eq!(parse_size("2g"), Ok(2 << 30));
        assert!(parse_size("lots").is_err());
        assert!(parse_size("-1").is_err());
        assert!(parse_size("").is_err());
    }
}
