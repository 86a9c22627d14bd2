//! What a recording says about itself, its processes, threads and files: the blocks that are JSON.
//!
//! Unknown fields are ignored, so a later minor version may add some.

use serde::{Deserialize, Serialize};

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
    pub image: u32,
    /// Process id.
    pub pid: u32,
    /// Process id of its parent, when it began.
    pub parent: u32,
    /// For a fork without exec: the number of the image that forked.
    pub forked_from: Option<u32>,
    /// Command line.
    pub command: Vec<String>,
    /// The executable file.
    pub executable: String,
    /// When it began, units.
    pub began: u64,
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
    /// It ended, but nothing told how.
    Unknown,
}

/// The end of an image.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct ImageEnd {
    /// How.
    pub exit: Exit,
    /// When, units.
    pub ended: u64,
    /// What the recorder did meanwhile.
    pub recorder: RecorderStats,
    /// What the kernel said of the image.
    #[serde(default)]
    pub kernel: KernelStats,
}

/// What the kernel said of an image, beside what is charged to call sites.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct KernelStats {
    /// Faults seen one by one or by samples, of whatever pages.
    pub faults_seen: u64,
    /// Standard error of that number, faults: not 0 where faults were sampled.
    pub faults_error: f64,
    /// Samples in which they were seen.
    #[serde(default)]
    pub fault_samples: u64,
    /// Faults charged to call sites.
    pub faults_charged: u64,
    /// Faults of pages of files: code, data of programs and libraries, mapped files.
    pub file_faults: u64,
    /// Faults of stacks.
    pub stack_faults: u64,
    /// Faults of the recorder's own memory and code.
    pub recorder_faults: u64,
    /// Faults of anonymous memory that no known block or mapping owned.
    pub unowned_faults: u64,
    /// Faults that the kernel counted, and did not show, inside calls that fill memory at once (MAP_POPULATE,
    /// MADV_POPULATE_WRITE): part of the time of these.
    #[serde(default)]
    pub filled_faults: u64,
    /// How long the kernel handled faults charged to call sites, huge pages aside.
    #[serde(default)]
    pub timed_faults: TimedFaults,
    /// How long it handled faults of huge pages.
    #[serde(default)]
    pub timed_huge_faults: TimedFaults,
    /// How long it handled faults of files, stacks and memory that nobody owned.
    #[serde(default)]
    pub timed_other_faults: TimedFaults,
    /// How often the heap grew inside allocator calls.
    pub grown_calls: u64,
    /// By how much, bytes.
    pub grown_bytes: u64,
    /// How often the heap shrank inside allocator calls.
    pub shrunk_calls: u64,
    /// By how much, bytes.
    pub shrunk_bytes: u64,
    /// What the kernel counted for the process, at its end or last seen; of all images that ran in it.
    pub usage: Option<Usage>,
}

/// Faults of which it was seen how long the kernel handled them. None of these took long enough to have been interrupted
/// (100 us).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct TimedFaults {
    /// How many were timed.
    pub samples: u64,
    /// Faults that these stand for.
    pub faults: u64,
    /// How long all of those took, ns; see [`KernelAccess::fault_beyond`].
    pub time: u64,
}

impl TimedFaults {
    /// One more, which stands for `faults`, was handled for `ns`.
    pub fn add(&mut self, faults: u64, ns: u64) {
        self.samples += 1;
        self.faults += faults;
        self.time += faults * ns;
    }
}

/// What the kernel counted for a process or thread (getrusage).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Usage {
    /// Processor time in the program, ns.
    pub user_ns: u64,
    /// Processor time in the kernel, ns.
    pub system_ns: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// Major faults.
    pub major_faults: u64,
    /// How often a thread gave up the processor.
    pub voluntary_switches: u64,
    /// How often it was taken away.
    pub involuntary_switches: u64,
    /// Largest resident set, bytes.
    pub max_resident: u64,
}

impl Usage {
    /// What came after `before`; the largest resident set is that of all.
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(before.user_ns),
            system_ns: self.system_ns.saturating_sub(before.system_ns),
            minor_faults: self.minor_faults.saturating_sub(before.minor_faults),
            major_faults: self.major_faults.saturating_sub(before.major_faults),
            voluntary_switches: self.voluntary_switches.saturating_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(before.involuntary_switches),
            max_resident: self.max_resident,
        }
    }
}

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
    #[serde(default)]
    pub own_time: u64,
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
    /// Whether the executable defines malloc itself.
    pub own_allocator: bool,
    /// Whether recording was stopped before the image ended.
    pub stopped: bool,
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
    /// Path.
    pub path: String,
    /// Build id, hexadecimal; empty if it has none.
    pub build_id: String,
}

/// A thread of an image.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Thread {
    /// Its number within the image, from 1.
    pub number: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// First event, units.
    pub began: u64,
    /// When it ended, units.
    pub ended: Option<u64>,
    /// What the kernel counted for it, if it ended while it was recorded.
    #[serde(default)]
    pub usage: Option<Usage>,
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
    pub thread: u32,
    /// What kind.
    pub kind: MarkKind,
    /// The name given.
    pub name: String,
}

/// A statement for the user about something that was not recorded, or not as usual.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct Note {
    /// When, units.
    pub time: u64,
    /// The statement.
    pub text: String,
    /// Whether it says that events are missing from the file.
    #[serde(default)]
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
    #[serde(default)]
    pub prices: Option<Prices>,
    /// What the kernel counted for all processes of the run together; time and faults with, the rest without those that
    /// nobody waited for.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// What could be learnt from the kernel.
    #[serde(default)]
    pub kernel: KernelAccess,
}

/// What could be learnt from the kernel.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct KernelAccess {
    /// Whether page faults were seen at all.
    pub faults: bool,
    /// Whether those inside system calls were seen, too.
    pub faults_in_system_calls: bool,
    /// Largest number of faults that one sample stood for; 1: all faults were seen.
    pub largest_period: u64,
    /// Whether it was seen when threads lost the processor.
    pub switches: bool,
    /// Records that the kernel could not deliver.
    pub lost_records: u64,
    /// What a sample adds to a fault, ns; 0 where it was not measured.
    #[serde(default)]
    pub fault_sample: f64,
    /// What a fault costs beyond the time in [`TimedFaults`], ns: the processor's way into the kernel and back, less the
    /// sample that the time contains. None where it was not measured: then the times say nothing.
    #[serde(default)]
    pub fault_beyond: Option<f64>,
}

/// What an operation costs: CPU time (user and system), nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Half of the samples cost less.
    pub median: f64,
    /// A tenth of the samples cost less.
    pub p10: f64,
    /// Nine tenths of the samples cost less.
    pub p90: f64,
}

/// What operations on memory cost on this machine: CPU time, nanoseconds each.
///
/// Pages are of 4 KiB, huge pages of 2 MiB. The measurement is short, so the figures are those of pages and blocks that
/// were in use shortly before: memory that the caches no longer hold is dearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)] // a later version may measure more
pub struct Prices {
    /// First write to a page of private anonymous memory: the fault, a new page, and its zeroing.
    pub minor_fault: Price,
    /// The same without the zeroing: each sample is a fault less the zeroing measured directly after it.
    ///
    /// No fault of the kernel shows this by itself. Reading a fresh page maps the shared page of zeroes and writing to a
    /// page that lies in a file's cache maps that one, so both leave more out than the zeroing (taking a page from the
    /// free list, charging it to the control group, entering it into the lists of pages); writing to a page after
    /// MADV_FREE does not fault at all; and a huge page's fault is nearly all zeroing, but of memory that is in no cache.
    pub minor_fault_unzeroed: Price,
    /// Zeroing a page with the instruction that the kernel uses on this processor (`rep stosb` or `rep stosq`). It stands
    /// for the zeroing in `minor_fault`.
    pub zeroing: Price,
    /// First write to a huge page; `None` where the kernel gives none.
    pub huge_fault: Option<Price>,
    /// An mmap of private anonymous memory and its munmap, nothing touched in between: both calls together.
    pub mmap_munmap: Price,
    /// What munmap costs more for each page that was touched.
    pub unmap_page: Price,
    /// A malloc of 64 bytes and its free, one thread.
    pub malloc_free: Price,
    /// A malloc of 2 KiB and a free, by each of two threads that use one arena at the same time and free each other's
    /// blocks; without the time that they sleep. `None` where there is only one processor, or none was free.
    pub malloc_free_contended: Option<Price>,
    /// What two readings of the time stamp counter add to a short call between them; `None` in older recordings.
    pub stamps: Option<Price>,
    /// A call that moves the heap's end up by 128 KiB, nothing touched.
    pub brk_grow: Price,
    /// A call that moves the heap's end down by 128 KiB that were not touched; `unmap_page` comes on top for each page
    /// that was.
    pub brk_trim: Price,
}
