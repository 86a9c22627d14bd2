//! Measures memtoll on real programs. Five commands share what is here: `bench` (what recording costs, beside
//! heaptrack), `check-counts` (against Valgrind), `check-costs` (against the
//! kernel's counts and samples), `check-unwind` (against another unwinder) and `casestudies` (the tables
//! of the case studies).

pub mod builds;
pub mod burst;
pub mod changes;
pub mod faults;
pub mod programs;
pub mod redirected;
pub mod run;
pub mod samples;
pub mod short;
mod stacks;
pub mod tables;
pub mod zeroing;

use std::path::PathBuf;

/// Options that the commands have in common.
#[derive(clap::Args)]
pub struct Common {
    /// The memtoll binary
    #[arg(long, default_value = "target/release/memtoll")]
    pub memtoll: PathBuf,

    /// Where inputs, programs and recordings are put
    #[arg(long, default_value = "target/bench")]
    pub folder: PathBuf,

    /// Only programs whose name contains this
    #[arg(long, default_value = "")]
    pub only: String,
}

/// Reports an error and ends the process.
pub fn or_exit<T>(result: Result<T, String>) -> T {
    result.unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1)
    })
}
