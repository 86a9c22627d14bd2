//! Exit codes, and how errors reach the user: all of it is here.

use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// For `--help`.
pub const HELP: &str = "Exit codes:
  0    done
  1    the report or the chart could not be written, or nothing could be measured
  2    wrong usage, or input that cannot be read
  record ends as the program does: with its exit code, or by the same signal; 127 if it cannot be started.";

/// The report or the chart cannot be written.
pub const CANNOT_WRITE: u8 = 1;
/// `machine` cannot measure.
pub const CANNOT_MEASURE: u8 = 1;
/// The input or the usage was wrong.
pub const BAD_INPUT: u8 = 2;
/// The program to be recorded cannot be started.
pub const CANNOT_START: u8 = 127;

/// A statement for the user, on stderr. Where nobody reads it (a closed pipe, a full disk), that changes nothing else.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "memtoll: {text}");
}

/// Says what went wrong; returns `code`.
pub fn fail(error: impl Display, code: u8) -> ExitCode {
    say(error);
    ExitCode::from(code)
}
