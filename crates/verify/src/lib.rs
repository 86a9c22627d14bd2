//! Measures what a change saves: programs as they are, without the recorder, or the calls of a recording made again.
//!
//! The sides of a comparison run in turn, in an order that changes at random from round to round, so that what disturbs
//! the machine meanwhile meets all of them. The saving is computed from the differences within the rounds, with an
//! interval; there are as many rounds as it takes to know it well enough.
//!
//! * [`command`]: what is run
//! * [`run`]: one run of it, and what it took
//! * [`sampled`]: where it spent its time
//! * [`metric`]: what is compared
//! * [`interval`]: medians with bootstrap intervals
//! * [`trial`]: the rounds
//! * [`comparison`]: `memtoll verify`, before against after
//! * [`copied`]: copies of sources, in which a change is built
//! * [`prediction`]: what a finding had promised
//! * [`calibration`]: `memtoll calibrate`, the program of a recording without the recorder
//! * [`candidates`], [`tryout`]: `memtoll try`, settings and allocators against the program as it is
//! * [`replay`]: `memtoll replay` and `memtoll compare-allocators`, the calls of a recording instead of the program

pub mod calibration;
pub mod candidates;
pub mod command;
pub mod comparison;
pub mod exit_look;
pub mod interval;
pub mod json;
pub mod metric;
pub mod prediction;
pub mod replay;
pub mod run;
pub mod sampled;
pub mod setting;
pub mod source_copy;
pub mod text;
pub mod trial;
pub mod tryout;
mod verified;

pub use verified::verified;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command cannot be started.
    #[error("{side}: cannot run \"{command}\": {source}")]
    Start {
        /// Which side of the comparison.
        side: String,
        command: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("{side}: \"{command}\" {how}; expected exit code {expected}{stderr}")]
    Failed {
        /// Which side of the comparison.
        side: String,
        command: String,
        /// How it ended.
        how: String,
        /// What it should have ended with.
        expected: i32,
        /// The last lines that it wrote to standard error, on lines of their own.
        stderr: String,
    },
    /// The sides print different things, so they do not do the same work.
    #[error("{side} does not print what {first} prints: {difference}; to allow that, use --ignore-output")]
    Output {
        /// The side that differs.
        side: String,
        /// The side that ran first.
        first: String,
        /// Where they differ.
        difference: String,
    },
    /// A prediction cannot be used.
    #[error("{file}: {what}")]
    Prediction {
        file: String,
        /// What was expected, and what was found.
        what: String,
    },
    /// Something that measuring needs cannot be had.
    #[error("cannot measure: {0}")]
    Setup(#[from] std::io::Error),
}
