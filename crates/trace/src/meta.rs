//! What a recording says about itself, its processes, threads and files: the blocks that are JSON.
//!
//! Unknown fields are ignored, so a later minor version may add some.

mod attached;
mod calibration;
mod found;
mod kernel;
mod leak_search;
mod own_allocator;
mod prices;
mod rank;
pub mod variables;
mod verified;

use crate::ids::{ImageNo, NodeId, ThreadNo, Units};
use crate::metrics::Metrics;
pub use attached::Attached;
pub use calibration::{Calibration, Code, PlainRun, Samples};
pub use found::Found;
pub use kernel::{GiveOrTake, KernelAccess, KernelStats, Looking, Resident, Running, TimedFaults, Usage};
pub use leak_search::{LeakSearch, NotSearched};
pub use own_allocator::{AnsweredCalls, Malloc, OwnAllocator, OwnAllocators, RecordedCalls};
pub use prices::{Price, Prices};
pub use rank::Rank;
use serde::{Deserialize, Serialize};
use std::fmt;
pub use variables::{FileVariables, Variable};
pub use verified::{Saved, Verified};

/// The recording as a whole.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Recording {
    /// Version of memtoll that wrote it.
    pub memtoll: String,
    /// When it began: nanoseconds since 1970, UTC.
    pub started: u64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Directory in which the program was started.
    pub directory: String,
    /// Where it ran.
    pub machine: Machine,
    /// What the times mean.
    pub clock: Clock,
    /// Deepest stack that is recorded whole, frames.
    pub stack_depth: u32,
    /// Which rank of a parallel job memtoll was started as; null: none.
    pub rank: Option<Rank>,
    /// Settings of malloc in the environment that the program was started with.
    pub malloc_settings: Vec<MallocSetting>,
}

/// A setting of malloc in the environment, such as `MALLOC_ARENA_MAX`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct MallocSetting {
    /// The variable.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The machine of a recording.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Machine {
    /// Host name.
    pub host: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Processor's name.
    pub processor: String,
    /// Processors that the program could use.
    pub processors: u32,
    /// Memory, bytes.
    pub memory: u64,
    /// Page size, bytes.
    pub page: u32,
    /// What the system is called in `/etc/os-release`, and what it is like: `ubuntu`, `debian`. Lower case.
    pub system: Vec<String>,
}

/// Times in a recording are counted in units since it began.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
pub struct Clock {
    /// Units in a second.
    pub units_per_second: f64,
    /// What stamping adds to a call between two stamps, in units: subtracted from durations.
    pub stamp: f64,
}

impl Clock {
    /// Units as seconds.
    pub fn seconds(&self, units: u64) -> f64 {
        units as f64 / self.units_per_second
    }

    /// Seconds as units; negative ones become 0.
    pub fn units(&self, seconds: f64) -> u64 {
        (seconds * self.units_per_second) as u64
    }
}

/// A process image: what runs in a process from its start, fork or exec until its end or next exec.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Image {
    /// Its number within the recording, from 1.
    pub image: ImageNo,
    /// Process id.
    pub pid: u32,
    /// Process id of its parent, when it began.
    pub parent: u32,
    /// For a fork without exec: the number of the image that forked.
    pub forked_from: Option<ImageNo>,
    /// When it was forked, units: it began to be recorded later, with its first call. null: not known, or no fork.
    #[serde(default)]
    pub forked_at: Option<u64>,
    /// Name of the program, as it was started: that of a symbolic link, of a script, of one of many programs in one file. A forked
    /// child has its parent's.
    pub name: String,
    /// Command line with which the program was started. A forked child has its parent's.
    pub command: Vec<String>,
    /// The executable file.
    pub executable: String,
    /// When it began, units.
    pub began: u64,
    /// Which rank of a parallel job it is, where a launcher was recorded; null: none.
    pub rank: Option<Rank>,
}

/// How an image ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It executed another program.
    Exec,
    /// It still ran when the recording ended.
    Running,
    /// It ended, but how is not known.
    Unknown,
}

impl Exit {
    /// For a sentence: `ended with exit code 1`, `ended by SIGSEGV`.
    pub fn how(self) -> String {
        match self {
            Exit::Code(_) => format!("ended with {self}"),
            Exit::Signal(_) => format!("ended by {self}"),
            Exit::Exec => "executed another program".to_owned(),
            Exit::Running => "still ran".to_owned(),
            Exit::Unknown => "ended in an unknown way".to_owned(),
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(signal) => match SIGNALS.iter().find(|(number, _)| number == signal) {
                Some((_, name)) => f.write_str(name),
                None => write!(f, "signal {signal}"),
            },
            Exit::Exec => f.write_str("exec"),
            Exit::Running => f.write_str("running"),
            Exit::Unknown => f.write_str("unknown"),
        }
    }
}

/// Signals that end programs, as Linux numbers them on most processors.
const SIGNALS: [(i32, &str); 16] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (5, "SIGTRAP"),
    (6, "SIGABRT"),
    (7, "SIGBUS"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (13, "SIGPIPE"),
    (14, "SIGALRM"),
    (15, "SIGTERM"),
    (24, "SIGXCPU"),
    (25, "SIGXFSZ"),
    (31, "SIGSYS"),
];

/// The end of an image.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ImageEnd {
    /// How.
    pub exit: Exit,
    /// When, units.
    pub ended: u64,
    /// What the process had in the place of its command line or of its name, as servers tell what they do; the last that was
    /// seen. `None`: neither was changed.
    pub title: Option<String>,
    /// The resident set without the recorder, at some hundred instants: when, units, and how many bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resident_curve: Vec<(u64, u64)>,
    /// Why the kernel did not show the pages of the process, if it refused a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages_refused: Option<String>,
    /// Whether the process waited at its end for a look at its pages, until it gave up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look_missed: bool,
    /// What came of the search for lost blocks.
    #[serde(default)]
    pub leak_search: LeakSearch,
    /// What the program says itself of leaks that shall not be told (`__lsan_default_suppressions`), if some were found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leak_suppressions: Option<String>,
    /// What the recorder did meanwhile.
    pub recorder: RecorderStats,
    /// The kernel's figures of the image.
    pub kernel: KernelStats,
}

/// Why [`ImageEnd::look_missed`] is set.
pub const LOOK_MISSED: &str = "it waited 3 s at its end for memtoll, which did not answer";

/// Counts of the recorder's own work in an image.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct RecorderStats {
    /// Events that reached the file.
    pub events: u64,
    /// Events not recorded, because the supervisor was gone or the limit of the file's size was reached.
    pub dropped: u64,
    /// How often a thread waited because the supervisor was behind.
    pub waits: u64,
    /// For how long, all threads together, units.
    pub wait_time: u64,
    /// Time in the recorder's own code, in the program's process, units: an estimate from every 64th event.
    pub own_time: u64,
    /// Page faults of its own memory that the kernel counted and did not show, because many pages came at once.
    pub filled_faults: u64,
    /// Calls compared with the one before to find out by how much calls look longer than they are, because the processor
    /// was still busy with what came before them.
    pub overlap_pairs: u64,
    /// By how much they looked longer, all of these together, units.
    pub overlap_time: i64,
    /// What time stamps say of calls of the allocator, all call sites together.
    pub calls: CallTimes,
    /// Stacks found by walking frames; the others were predicted.
    pub walks: u64,
    /// Frames looked at in those walks.
    pub walked_frames: u64,
    /// Unwinding rules read from the program's files.
    pub rules: u64,
    /// Nodes of the stack tree.
    pub nodes: u64,
    /// Events that came too late to be sorted by time; their times were adjusted.
    pub late: u64,
    /// Forked children that could not be recorded.
    pub lost_forks: u64,
    /// Stacks compared with an independent unwinder (only in a build made for that).
    pub unwind_checked: u64,
    /// Of those, how many disagreed.
    pub unwind_disagreed: u64,
    /// Whether recording was stopped before the image ended.
    pub stopped: bool,
}

impl RecorderStats {
    /// Adds what was counted in another image. Numbers of a damaged file may be beyond all sums.
    pub fn add(&mut self, other: &RecorderStats) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.saturating_add(other.$field);)* };
        }
        add!(
            events, dropped, waits, wait_time, own_time, filled_faults, overlap_pairs, overlap_time, walks,
            walked_frames, rules, nodes
        );
        add!(late, lost_forks, unwind_checked, unwind_disagreed);
        self.calls.add(&other.calls);
        self.stopped |= other.stopped;
    }
}

/// Sums over all call sites of what a [`Metrics`] has under the same names.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct CallTimes {
    /// Calls that were timed.
    pub timed_calls: u64,
    /// Time in them, with the stamps and all that was paid inside, units.
    pub allocator_time: Units,
    /// Work on mappings, units.
    pub mapping_inside: Units,
    /// Minor faults.
    pub faults_inside: u64,
    /// Those that were looked at one by one.
    pub samples_inside: u64,
    /// Minor faults of huge pages.
    pub huge_faults_inside: u64,
    /// Waiting, units.
    pub waiting_time: Units,
    /// Time without the processor that was no waiting: others had it, the thread was stopped, or the kernel fetched a page;
    /// units.
    pub preempted_time: Units,
}

impl CallTimes {
    /// Adds those of another image. Numbers of a damaged file may be beyond all sums.
    pub fn add(&mut self, other: &CallTimes) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.saturating_add(other.$field);)* };
        }
        add!(timed_calls, allocator_time, mapping_inside, faults_inside, samples_inside, huge_faults_inside);
        add!(waiting_time, preempted_time);
    }
}

/// Of a call site.
impl From<&Metrics> for CallTimes {
    fn from(metrics: &Metrics) -> CallTimes {
        let Metrics {
            timed_calls,
            allocator_time,
            mapping_inside,
            small_faults_inside: faults_inside,
            samples_inside,
            ..
        } = *metrics;
        let Metrics { huge_faults_inside, waiting_time, preempted_time, .. } = *metrics;
        CallTimes {
            timed_calls,
            allocator_time,
            mapping_inside,
            faults_inside,
            samples_inside,
            huge_faults_inside,
            waiting_time,
            preempted_time,
        }
    }
}

/// A loaded file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Module {
    /// Its number within the image.
    pub number: u16,
    /// First address of the mapping.
    pub start: u64,
    /// Address behind the mapping.
    pub end: u64,
    /// Address in memory minus address in the file.
    pub bias: u64,
    /// Path. Files that were loaded later from the path of another one are called `PATH (build DIGITS)`, with the first
    /// digits of their build ids, or `PATH (version N)` if they have none.
    pub path: String,
    /// Build id, hexadecimal; empty if it has none.
    pub build_id: String,
}

/// A thread of an image.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Thread {
    /// Its number within the image, from 1.
    pub number: ThreadNo,
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// First event, units.
    pub began: u64,
    /// When it ended, units.
    pub ended: Option<u64>,
    /// What the kernel counted for it, if it ended while it was recorded.
    pub usage: Option<Usage>,
}

impl Thread {
    /// Whether it is one, and does not stand for what there was before memtoll was attached.
    pub fn runs(&self) -> bool {
        self.tid != 0
    }
}

/// What `memtoll.h` was asked to write down.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// `memtoll_mark`
    Instant,
    /// `memtoll_region_begin`
    Begin,
    /// `memtoll_region_end`
    End,
}

/// A mark in time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Mark {
    /// When, units.
    pub time: u64,
    /// The thread that set it.
    #[serde(serialize_with = "ThreadNo::write_or_zero", deserialize_with = "ThreadNo::read_or_zero")]
    pub thread: Option<ThreadNo>,
    /// What kind.
    pub kind: MarkKind,
    /// The name given.
    pub name: String,
    /// Of a begin or an end: what the thread has done until then. Of two marks, only the difference means something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// What a thread has done: sums that only grow.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Work {
    /// Calls of allocation functions, but for the first halves of reallocations and those of own pools.
    pub calls: u64,
    /// Time in all calls, units.
    pub time: u64,
    /// Calls that acquire.
    pub acquired: u64,
    /// Bytes that they ask for.
    pub bytes: u64,
}

/// The program's own pools with one name, all together, or the blocks that it hands out without a pool.
#[derive(Clone, Default, Debug, Serialize, Deserialize, PartialEq)]
pub struct Pool {
    /// Its number, which is the detail of its acquisitions; 0: no pool.
    pub number: u16,
    /// The name given; empty for no pool.
    pub name: String,
    /// How often a chunk became a pool.
    pub begun: u64,
    /// Most bytes of chunks at one instant.
    pub most_chunk_bytes: u64,
    /// Blocks handed out.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Most bytes that were handed out at one instant.
    pub peak_bytes: u64,
    /// Bytes of the chunks at that instant.
    pub chunk_bytes_at_peak: u64,
    /// Blocks that were still handed out when their pool ended, or their memory was handed out again.
    pub dropped: u64,
    /// Stack nodes of the calls that handed blocks out.
    pub nodes: Vec<NodeId>,
}

/// A statement for the user about something that was not recorded, or not as usual.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Note {
    /// When, units.
    pub time: u64,
    /// The statement.
    pub text: String,
    /// Whether it says that events are missing from the file.
    pub missing: bool,
}

/// The end of the recording.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct End {
    /// When, units.
    pub ended: u64,
    /// Events in the file.
    pub events: u64,
    /// The clock, measured over the whole recording: better than what [`Recording::clock`] knew.
    pub clock: Option<Clock>,
    /// What memory costs on the machine, measured right after the program ended.
    pub prices: Option<Prices>,
    /// What the kernel counted for all processes of the run together; time and faults with, the rest without those that
    /// no parent waited for.
    pub usage: Option<Usage>,
    /// The resident sets of all recorded processes together, where they were largest at one instant.
    pub resident: Option<Resident>,
    /// What could be learnt from the kernel.
    pub kernel: KernelAccess,
}
