//! What a recording has from the kernel: events, counts, and refusals.

use crate::costs::Uncharged;
use serde::{Deserialize, Serialize};

/// The kernel's figures of an image that are charged to no call site.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct KernelStats {
    /// Faults seen one by one or by samples, of whatever pages.
    pub faults_seen: u64,
    /// Standard error of that number, faults: not 0 where faults were sampled.
    pub faults_error: f64,
    /// Samples in which they were seen.
    pub fault_samples: u64,
    /// Faults charged to call sites.
    pub faults_charged: u64,
    /// Faults of pages of files that no call of the program mapped: code and constants of programs and libraries.
    pub file_faults: u64,
    /// Faults of global variables, zero-initialised ones too.
    pub global_faults: u64,
    /// Faults of stacks, with the thread-local storage that lies there.
    pub stack_faults: u64,
    /// Faults of anonymous memory from before the program's first instruction.
    pub loader_faults: u64,
    /// Faults of shared memory that no call of the program is known to have mapped.
    pub shared_faults: u64,
    /// Faults of the recorder's own memory and code.
    pub recorder_faults: u64,
    /// Faults of memory that no known block or mapping owned, and of which nothing else is known.
    pub unowned_faults: u64,
    /// Faults that the kernel counted, and did not show, inside calls that fill memory at once (MAP_POPULATE,
    /// MADV_POPULATE_WRITE): part of the time of these.
    pub filled_faults: u64,
    /// How long the kernel handled faults charged to call sites, huge pages aside.
    pub timed_faults: TimedFaults,
    /// How long it handled faults of huge pages.
    pub timed_huge_faults: TimedFaults,
    /// Faults of huge pages, and how long threads ran from when they were last seen to do something else until such a fault
    /// was handled: no fault took longer.
    pub spans_to_huge_faults: TimedFaults,
    /// The same of those faults whose own time is known.
    pub spans_to_timed_huge_faults: TimedFaults,
    /// How long it handled faults of files, stacks and memory without an owner.
    pub timed_other_faults: TimedFaults,
    /// Where threads were found, each time after another [`KernelAccess::running_period`] of CPU time.
    pub running: Running,
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
    /// The resident set of the process, as long as it executed this image.
    pub resident: Option<Resident>,
}

impl KernelStats {
    /// Adds what was counted of another image, other than its process's usage. Numbers of a damaged file may be beyond all
    /// sums.
    pub fn add(&mut self, other: &KernelStats) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.saturating_add(other.$field);)* };
        }
        add!(faults_seen, fault_samples, faults_charged, file_faults, global_faults, stack_faults, loader_faults);
        add!(shared_faults, recorder_faults, unowned_faults);
        add!(filled_faults, grown_calls, grown_bytes, shrunk_calls, shrunk_bytes);
        self.running.add(&other.running);
        self.faults_error = self.faults_error.hypot(other.faults_error);
        self.timed_faults.add_all(&other.timed_faults);
        self.timed_huge_faults.add_all(&other.timed_huge_faults);
        self.spans_to_huge_faults.add_all(&other.spans_to_huge_faults);
        self.spans_to_timed_huge_faults.add_all(&other.spans_to_timed_huge_faults);
        self.timed_other_faults.add_all(&other.timed_other_faults);
    }
}

impl KernelStats {
    /// The faults that are charged to no call site, of this kind of memory.
    pub fn uncharged(&mut self, of: Uncharged) -> &mut u64 {
        match of {
            Uncharged::Files => &mut self.file_faults,
            Uncharged::Globals => &mut self.global_faults,
            Uncharged::Stacks => &mut self.stack_faults,
            Uncharged::Loader => &mut self.loader_faults,
            Uncharged::Shared => &mut self.shared_faults,
            Uncharged::Recorder => &mut self.recorder_faults,
            Uncharged::Unowned => &mut self.unowned_faults,
        }
    }
}

/// How often threads were found where. In the kernel they are found only where [`KernelAccess::faults_in_system_calls`]
/// is true.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Running {
    /// In the recorder's code.
    pub recorder: u64,
    /// In the kernel, on behalf of the recorder's code.
    pub recorder_in_kernel: u64,
    /// In the allocator's code, and in what it calls in its own file.
    pub allocator: u64,
    /// In a system call inside a call of the allocator.
    pub allocator_in_kernel: u64,
    /// In a page fault inside a call of the allocator.
    pub faults_inside: u64,
    /// In another page fault.
    pub faults: u64,
    /// In a call of the program's for mappings.
    pub mapping: u64,
    /// In another system call.
    pub system_calls: u64,
    /// In the rest of the program and its libraries.
    pub program: u64,
}

impl Running {
    /// Adds what was found of another image. Numbers of a damaged file may be beyond all sums.
    pub fn add(&mut self, other: &Running) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.saturating_add(other.$field);)* };
        }
        add!(recorder, recorder_in_kernel, allocator, allocator_in_kernel, faults_inside, faults, mapping);
        add!(system_calls, program);
    }

    /// All samples.
    pub fn all(&self) -> u64 {
        let Running { recorder, recorder_in_kernel, allocator, allocator_in_kernel, .. } = *self;
        let Running { faults_inside, faults, mapping, system_calls, program, .. } = *self;
        let all = [recorder, recorder_in_kernel, allocator, allocator_in_kernel, faults_inside, faults, mapping];
        all.into_iter().chain([system_calls, program]).fold(0, u64::saturating_add)
    }
}

/// Faults of which it was seen how long the kernel handled them. None of these took long enough to have been interrupted
/// (100 us).
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct TimedFaults {
    /// How many were timed.
    pub samples: u64,
    /// Faults that these stand for.
    pub faults: u64,
    /// How long all of those took, ns; see [`Looking::fault_beyond`].
    pub time: u64,
}

impl TimedFaults {
    /// Adds others.
    pub fn add_all(&mut self, other: &TimedFaults) {
        self.samples = self.samples.saturating_add(other.samples);
        self.faults = self.faults.saturating_add(other.faults);
        self.time = self.time.saturating_add(other.time);
    }

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
    /// CPU time in the program, ns.
    pub user_ns: u64,
    /// CPU time in the kernel, ns.
    pub system_ns: u64,
    /// Minor faults.
    pub minor_faults: u64,
    /// Major faults.
    pub major_faults: u64,
    /// How often a thread gave up the processor.
    pub voluntary_switches: u64,
    /// How often it was taken away.
    pub involuntary_switches: u64,
    /// Largest resident set without the recorder, bytes; 0 where it is not known, as for a thread.
    pub max_resident: u64,
}

impl Usage {
    /// As the kernel tells it, without saying whose largest resident set it has.
    pub fn counted(of: &libc::rusage) -> Usage {
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        Usage {
            user_ns: ns(of.ru_utime),
            system_ns: ns(of.ru_stime),
            minor_faults: of.ru_minflt as u64,
            major_faults: of.ru_majflt as u64,
            voluntary_switches: of.ru_nvcsw as u64,
            involuntary_switches: of.ru_nivcsw as u64,
            max_resident: 0,
        }
    }

    /// CPU time, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns.saturating_add(self.system_ns)
    }

    /// Page faults, minor and major.
    pub fn faults(&self) -> u64 {
        self.minor_faults.saturating_add(self.major_faults)
    }

    /// Adds that of another process; the largest resident set is that of either.
    pub fn add(&mut self, other: &Usage) {
        // Numbers of a damaged file may be beyond all sums.
        for (sum, more) in [
            (&mut self.user_ns, other.user_ns),
            (&mut self.system_ns, other.system_ns),
            (&mut self.minor_faults, other.minor_faults),
            (&mut self.major_faults, other.major_faults),
            (&mut self.voluntary_switches, other.voluntary_switches),
            (&mut self.involuntary_switches, other.involuntary_switches),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.max_resident = self.max_resident.max(other.max_resident);
    }

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

/// The resident set of a process, or of all recorded processes together: the largest one at one instant, and the last one. Pages
/// that several processes share count in each of them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Resident {
    /// The largest one without the recorder, bytes.
    pub program: u64,
    /// The recorder's own resident set at that time, bytes.
    pub recorder: u64,
    /// By how much both may be wrong: what the recorder's memory grew by meanwhile, and what no look saw. Bytes.
    pub error: u64,
    /// The last one without the recorder; of all processes, that when the program itself ended.
    pub at_end: Option<GiveOrTake>,
    /// Time between memtoll's last look and the end, units. `None`: the process reported it itself at its end; no
    /// process has time for that when a signal ends it.
    pub unseen: Option<u64>,
}

/// Bytes, as far as they are known.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct GiveOrTake {
    /// How many.
    pub bytes: u64,
    /// By how much that may be wrong, bytes.
    pub error: u64,
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
    /// Minor faults whose records were lost: in [`Usage::minor_faults`], but charged to no call site.
    pub lost_faults: u64,
    /// Lost records that said where a thread ran; all lost records where these were not told apart (Linux before 6.0).
    pub lost_running: u64,
    /// Lost records of switches, mappings, tasks and major faults; all lost records where these were not told apart.
    pub lost_others: u64,
    /// CPU time after which it is looked where a thread is, ns; 0 where that was not done.
    pub running_period: u64,
    /// What looking costs the program; `None` where it was not measured.
    pub looking: Option<Looking>,
}

/// What looking costs a program on this machine, ns.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Looking {
    /// What a sample adds to a fault.
    pub fault_sample: f64,
    /// What counting adds to each fault, sampled or not.
    pub fault_counting: f64,
    /// What a fault costs beyond the time in [`TimedFaults`]: the processor's way into the kernel and back, less the sample
    /// that the time contains. Without it, the times say nothing.
    pub fault_beyond: f64,
    /// What it costs a thread when the kernel looks where it is, each [`KernelAccess::running_period`].
    pub running_sample: f64,
}

impl Looking {
    /// What measurements at different times say together: the median of each figure; of an even number, the lower of the two
    /// in the middle. `None` without any.
    pub fn typical(measurements: &[Looking]) -> Option<Looking> {
        let typical = |figure: fn(&Looking) -> f64| {
            let mut figures: Vec<f64> = measurements.iter().map(figure).collect();
            figures.sort_by(f64::total_cmp);
            figures.get(figures.len().saturating_sub(1) / 2).copied()
        };
        Some(Looking {
            fault_sample: typical(|of| of.fault_sample)?,
            fault_counting: typical(|of| of.fault_counting)?,
            fault_beyond: typical(|of| of.fault_beyond)?,
            running_sample: typical(|of| of.running_sample)?,
        })
    }
}
