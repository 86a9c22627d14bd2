//! `memtoll calibrate`, and `memtoll record --calibrate`.

use crate::exit::{self, Code, Failure};
use crate::wait_messages::Waiting;
use clap::ValueHint;
use memtoll_model::{Recording, store_calibration};
use memtoll_text::shell;
use memtoll_trace::meta::{Calibration, Exit, PlainRun};
use memtoll_verify::calibration::{Error, Plan, Recorded, Stdin, calibrate};
use memtoll_verify::run::last_lines;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs without the recorder, without an option that says how many.
pub const RUNS: &str = "5";

/// Measure a recorded program without the recorder
///
/// Runs the program again, some times without the recorder and as often with it, in random order, and writes what the plain
/// runs took into the recording: CPU time and where it went, wall time, page faults, peak resident set, each with its error.
/// The program must do the same each time. Its output is thrown away.
#[derive(clap::Args)]
#[command(override_usage = "memtoll calibrate [OPTIONS] FILE [-- PROGRAM [ARGS]...]")]
pub struct Arguments {
    /// The recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Runs without the recorder, and as many with it
    #[arg(long, value_name = "N", default_value = RUNS, value_parser = clap::value_parser!(u16).range(2..=1000))]
    runs: u16,

    /// The program and its arguments [default: those in the recording, in the directory where they ran]
    #[arg(last = true, value_name = "PROGRAM", value_hint = ValueHint::CommandWithArguments)]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Code {
    match calibrate_file(arguments) {
        Ok(()) => {
            exit::say(format!("wrote what the program takes without the recorder into {}", arguments.file.display()));
            exit::say(format!("next: memtoll report {}", shell::file(&arguments.file)));
            Code::Done
        }
        Err(failure) => failure.say(),
    }
}

fn calibrate_file(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.file.canonicalize().unwrap_or_else(|_| arguments.file.clone());
    let recording = Recording::open(&file).map_err(|error| Code::Usage.because(error))?;
    let here = memtoll_record::this_machine();
    let there = &recording.about.machine;
    if (&here.host, &here.processor) != (&there.host, &there.processor) {
        let why = format!(
            "{} was recorded on another machine ({}, {}), where the program takes other times than here ({}, {}); \
             calibrate it there",
            arguments.file.display(),
            there.host,
            there.processor,
            here.host,
            here.processor
        );
        return Err(Code::Failed.because(why));
    }
    let words = match &arguments.command[..] {
        [] => of_recording(&recording, &arguments.file).map_err(|why| Code::Failed.because(why))?,
        words => words.to_vec(),
    };
    drop(recording);
    let runs = usize::from(arguments.runs);
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    let stdin = Stdin::of_this_process().map_err(|error| Code::Failed.because(error))?;
    let plan = Plan { words: &words, stdin, plain: runs, recorded: runs };
    let (calibration, _) = measure(&plan, &folder, &[]).map_err(|error| Code::Failed.because(error))?;
    store_calibration(&file, &calibration).map_err(|error| Code::Failed.because(error))
}

/// The command line in a recording; goes to the directory where it ran.
fn of_recording(recording: &Recording, file: &Path) -> Result<Vec<OsString>, String> {
    let about = &recording.about;
    let say = |why: &str| format!("{}: {why}; give the program: memtoll calibrate FILE -- PROGRAM", file.display());
    let lossy = about.command.iter().any(|word| word.contains(char::REPLACEMENT_CHARACTER));
    if about.command.is_empty() || lossy {
        return Err(say("the command line is not in the recording as it was"));
    }
    std::env::set_current_dir(&about.directory)
        .map_err(|error| say(&format!("the program ran in {}, which is not there: {error}", about.directory)))?;
    Ok(about.command.iter().map(OsString::from).collect())
}

/// Runs the program of a plan. Recordings that are made beside are put into `folder`, made with these options of `record`,
/// and removed.
pub fn measure(plan: &Plan, folder: &Path, options: &[OsString]) -> Result<(Calibration, Exit), Error> {
    let folder = tempfile::Builder::new().prefix(".memtoll-").tempdir_in(folder).or_else(|_| tempfile::tempdir())?;
    let waiting = Waiting::new("calibrating");
    let record = || again(plan, &folder.path().join("again.memtoll"), options);
    calibrate(plan, record, |done, all| waiting.tell(format!("run {} of {all}", (done + 1).min(all))))
}

/// Records the program again, into a temporary file.
fn again(plan: &Plan, file: &Path, options: &[OsString]) -> Result<Recorded, String> {
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    let own = std::env::current_exe().map_err(|error| failed("memtoll cannot be found", &error))?;
    let mut errors = tempfile::tempfile().map_err(|error| failed("no temporary file", &error))?;
    let stderr = errors.try_clone().map_err(|error| failed("no temporary file", &error))?;
    let stdin = plan.stdin.open().map_err(|error| failed("standard input", &error))?;
    let fixed = ["record", "--quiet", "--force", "--exact-name", "--progress", "never", "-o"].map(OsStr::new);
    let mut command = Command::new(own);
    command.args(fixed).arg(file).args(options).arg("--").args(plan.words);
    command.stdin(stdin).stdout(std::process::Stdio::null()).stderr(stderr);
    let began = Instant::now();
    let status = command.status().map_err(|error| failed("memtoll cannot be started", &error))?;
    let wall = began.elapsed();
    let end = Recording::open(file).ok().and_then(|recording| {
        // Without memtoll's own start and end.
        let seconds = recording.about.clock.seconds(recording.ended());
        Some((recording.end?.usage?, seconds))
    });
    let Some((usage, seconds)) = end else {
        return Err(format!("memtoll record ended with {status}{}", last_lines(&mut errors)));
    };
    let exit = match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (_, Some(signal)) => Exit::Signal(signal),
        _ => Exit::Unknown,
    };
    let wall = wall.min(Duration::from_secs_f64(seconds)).as_nanos() as u64;
    Ok(Recorded { exit, taken: PlainRun { wall, usage }, stderr: last_lines(&mut errors) })
}
