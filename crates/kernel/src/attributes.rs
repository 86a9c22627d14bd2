//! The kinds of perf event that are opened, as the kernel wants them described.

use crate::clock_conversion::Clock;
use memtoll_processor::{HERE, Samples};
use perf_event_open_sys::bindings::{
    PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_TASK_CLOCK, PERF_FORMAT_LOST, PERF_FORMAT_TOTAL_TIME_ENABLED, PERF_FORMAT_TOTAL_TIME_RUNNING,
    PERF_SAMPLE_ADDR, PERF_SAMPLE_DATA_PAGE_SIZE, PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_TYPE_SOFTWARE, perf_event_attr,
};
use rustix::time::ClockId;

/// Period of samples of the beginnings of faults. Another prime than [`crate::sampling::COARSE`], so that some are seen at both
/// ends however many are sampled.
const TIMED: u32 = 47;

/// Period of samples of where a thread is, in ns of its CPU time. A prime, so that programs that do something
/// each millisecond are not always met at it.
pub const RUNNING: u32 = 999_983;

/// What samples tell of a thread.
pub const SAMPLES: &Samples = &HERE.samples;

/// What all events of a collector have in common.
#[derive(Debug, Clone, Copy)]
pub struct Common {
    pub clock: Clock,
    /// Also faults inside system calls.
    pub system_calls: bool,
    /// Also count the records that did not fit.
    pub count_lost: bool,
    /// Also how large the page is that was touched.
    pub page_sizes: bool,
    /// Wake the reader when a ring holds this number of bytes.
    pub watermark: u32,
}

/// Minor and major faults, not `PAGE_FAULTS`: those two are counted where `ru_minflt` and `ru_majflt` are, when the
/// fault has been handled. `PAGE_FAULTS` also counts attempts, and would need the major faults told apart.
pub fn minor_faults(common: &Common, period: u32) -> perf_event_attr {
    sampled(common, PERF_COUNT_SW_PAGE_FAULTS_MIN, period)
}

/// One fault of any kind in [`TIMED`], when the kernel begins to handle it. Where the same fault is also seen when it has
/// been handled, the time between is known.
pub fn beginnings_of_faults(common: &Common) -> perf_event_attr {
    sampled(common, PERF_COUNT_SW_PAGE_FAULTS, TIMED)
}

/// Each major fault, and all other events of a thread. One event for both: each event is copied for
/// each new thread.
pub fn major_faults_and_tasks(common: &Common, switches: bool) -> perf_event_attr {
    let mut attr = sampled(common, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1);
    attr.set_task(1);
    attr.set_comm(1);
    attr.set_comm_exec(1);
    attr.set_mmap(1);
    attr.set_mmap_data(1);
    attr.set_mmap2(1);
    attr.set_context_switch(switches.into());
    attr
}

/// Where a thread is, each time that it has run for another `period` ns.
pub fn running(common: &Common, period: u32) -> perf_event_attr {
    let mut attr = sampled(common, PERF_COUNT_SW_CPU_CLOCK, period);
    if SAMPLES.returns_to_top {
        attr.sample_type |= u64::from(PERF_SAMPLE_STACK_USER);
        attr.sample_stack_user = size_of::<u64>() as u32;
    }
    // Threads inside the kernel are only met where that is allowed.
    if let Some(entry) = SAMPLES.entry.as_ref().filter(|_| common.system_calls) {
        attr.sample_type |= u64::from(PERF_SAMPLE_REGS_USER);
        attr.sample_regs_user = 1 << entry.address | 1 << entry.in_call.0;
    }
    attr
}

/// Counts nanoseconds on a processor.
pub fn count_of_cpu_time(common: &Common) -> perf_event_attr {
    event(common, PERF_COUNT_SW_TASK_CLOCK)
}

fn sampled(common: &Common, what: u32, period: u32) -> perf_event_attr {
    let mut attr = event(common, what);
    attr.__bindgen_anon_1.sample_period = period.into();
    attr.sample_type =
        (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR).into();
    if common.page_sizes {
        attr.sample_type |= u64::from(PERF_SAMPLE_DATA_PAGE_SIZE);
    }
    attr.set_sample_id_all(1);
    attr.set_use_clockid(1);
    attr.clockid = match common.clock {
        Clock::Monotonic => ClockId::Monotonic,
        // The time stamp counter times a constant: nothing adjusts it.
        Clock::Counter(_) => ClockId::MonotonicRaw,
    } as i32;
    attr.set_watermark(1);
    attr.__bindgen_anon_2.wakeup_watermark = common.watermark;
    attr
}

fn event(common: &Common, what: u32) -> perf_event_attr {
    let lost = if common.count_lost { PERF_FORMAT_LOST } else { 0 };
    let mut attr = perf_event_attr {
        type_: PERF_TYPE_SOFTWARE,
        size: size_of::<perf_event_attr>() as u32,
        config: what.into(),
        read_format: (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | lost).into(),
        ..Default::default()
    };
    attr.set_disabled(1);
    attr.set_inherit(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_kernel((!common.system_calls).into());
    attr
}
