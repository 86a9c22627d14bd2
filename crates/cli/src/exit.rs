//! Exit codes, and how errors reach the user: all of it is here.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Exit codes and what they mean, for `--help` and the manual page.
pub const CODES: [(&str, &str); 11] = [
    ("0", "Done"),
    ("1", "Output cannot be written"),
    ("1", "report, diff, advise, fleet: nothing matches, or a recording is damaged (what can be read is shown)"),
    ("1", "doctor: something is missing"),
    ("1", "check, fleet check: a limit is broken"),
    (
        "1",
        "machine: nothing can be measured; compare-allocators: no other allocator is installed; verify: a prediction did not come true, or it is not known",
    ),
    ("2", "Wrong usage, or a file that cannot be read; record: the recording cannot be made"),
    ("2", "check, fleet check: whether limits are kept cannot be said"),
    ("2", "verify, try, calibrate: a command fails; replay: the player fails; tui: there is no terminal"),
    ("127", "record: the program cannot be started"),
    ("other", "record: the program's own exit code; if a signal ends it, memtoll ends by that signal"),
];

/// Nothing in the recording is what was asked for.
pub const NOTHING: u8 = 1;
/// The recording is damaged or was cut off. What can be read of it is shown.
pub const DAMAGED: u8 = 1;
/// The report or the chart cannot be written.
pub const CANNOT_WRITE: u8 = 1;
/// `machine` cannot measure.
pub const CANNOT_MEASURE: u8 = 1;
/// `verify`: a prediction did not come true, or it is not known.
pub const NOT_AS_PREDICTED: u8 = 1;
/// `check`: a limit is broken.
pub const BUDGET_BROKEN: u8 = 1;
/// `check`: whether limits are kept cannot be said.
pub const CANNOT_SAY: u8 = 2;
/// `doctor`: something is missing.
pub const SOMETHING_MISSING: u8 = 1;
/// The input or the usage was wrong.
pub const BAD_INPUT: u8 = 2;
/// The program to be recorded cannot be started.
pub const CANNOT_START: u8 = 127;

/// Begins each statement.
pub const WHO: &str = "memtoll: ";

/// A statement for the user, on stderr. Where it cannot be written (a closed pipe, a full disk), that changes nothing else.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{WHO}{text}");
}

/// Says what went wrong; returns `code`.
pub fn fail(error: impl Display, code: u8) -> ExitCode {
    say(error);
    ExitCode::from(code)
}

/// Ends this process by a signal, without a core dump. What is returned is for signals that end nothing.
pub fn by_signal(signal: i32) -> ExitCode {
    let nothing = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, nothing);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    ExitCode::from(128 + signal as u8)
}
