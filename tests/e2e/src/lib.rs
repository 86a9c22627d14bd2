//! End-to-end tests of memtoll: each test compiles a tiny program of `programs/`, runs it plainly and under
//! `memtoll record`, checks that the program did not notice, and compares the report with exact expected counts.
//!
//! Vocabulary: a *program* is a compiled file of `programs/`; a [`Target`] is a command line to be recorded; a
//! [`Recording`] is the finished file together with what the run printed; a [`Report`] is `memtoll report --format
//! json`, parsed.
//!
//! The binary under test is `$MEMTOLL_BIN`, or `memtoll` in `debug/` or `release/` of the target directory that the
//! tests themselves were built into. Nothing is ever skipped: a missing compiler, package or binary is a failure that
//! says what to install or build.

mod build;
mod confined;
mod costs;
mod debug_server;
mod readme;
mod report;
mod run;
mod skipped;
mod terminal;

pub use build::{demo_program, library, memtoll, program, program_with, source, target_directory, workspace};
pub use confined::{become_ordinary_user, record_confined, refuse};
pub use costs::{CostReport, Costs, printed, without_perf};
pub use debug_server::{Answer, BadServer, Debuginfod, free_port};
pub use readme::table;
pub use report::{
    Answered, Frame, Metrics, NOT_KNOWN, OwnAllocator, Process, Recorder, Report, Site, Totals, matches, plain_name,
};
pub use run::{Outcome, Recording, Target, install, is_root, read_report, run, scratch, wait_until};
pub use skipped::{announced, skipped};
pub use terminal::Terminal;
