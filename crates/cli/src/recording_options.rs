//! Options of `memtoll record` and `memtoll attach`.

use crate::size_option::parse_size;
use clap::ValueHint;
use memtoll_record::{Destination, FaultPeriod};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How a program is recorded, whether it is started or runs already.
#[derive(clap::Args)]
pub struct RecordingOptions {
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

impl RecordingOptions {
    /// How many page faults are sampled; `None`: the kernel is asked for nothing.
    pub fn faults(&self) -> Option<FaultPeriod> {
        match self.fault_period {
            _ if self.no_kernel => None,
            Some(period) => Some(FaultPeriod::Every(period)),
            None => Some(FaultPeriod::Adaptive),
        }
    }

    /// Those that change how a run is recorded, as words of a command.
    pub fn words_for_runs(&self) -> Vec<OsString> {
        let mut options = vec!["--stack-depth".into(), self.stack_depth.to_string().into()];
        let mut add = |name: &str, value: OsString| options.extend([name.into(), value]);
        if let Some(size) = self.max_size {
            add("--max-size", size.to_string().into());
        }
        if let Some(period) = self.fault_period {
            add("--fault-period", period.to_string().into());
        }
        if let Some(recorder) = &self.recorder {
            add("--recorder", recorder.into());
        }
        if self.no_kernel {
            options.push("--no-kernel".into());
        }
        if self.no_leak_search {
            options.push("--no-leak-search".into());
        }
        options
    }

    /// Where the recording of `program` goes.
    pub fn destination(&self, program: &Path) -> Destination {
        match &self.output {
            Some(path) if self.force => Destination::Replace(path.clone()),
            Some(path) => Destination::New(path.clone()),
            None => Destination::Numbered(program.file_name().unwrap_or_default().into()),
        }
    }
}
