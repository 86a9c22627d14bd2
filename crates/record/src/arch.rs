//! What depends on the processor. A port adds a module here that provides
//!
//! * `counter()`: a counter that both sides read, if the processor lets them; ticks
//! * `COUNTER_FLAGS`: what /proc/cpuinfo says of a processor whose counter goes on at the same rate in all states of all cores
//! * `prefetch()`: fetches the line of memory around an address into the cache
//!
//! Sizes of pages are asked of the kernel.

#[cfg(target_arch = "x86_64")]
mod processor {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch, _rdtsc};

    pub const COUNTER_FLAGS: Option<&[&str]> = Some(&["constant_tsc", "nonstop_tsc"]);

    #[inline(always)]
    pub fn counter() -> u64 {
        // SAFETY: every x86-64 processor has it.
        unsafe { _rdtsc() }
    }

    #[inline(always)]
    pub fn prefetch<T>(address: *const T) {
        // SAFETY: fetching has no effect that a program could see, and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod processor {
    /// Without a counter, both sides read the monotonic clock.
    pub const COUNTER_FLAGS: Option<&[&str]> = None;

    pub fn counter() -> u64 {
        0
    }

    pub fn prefetch<T>(_: *const T) {}
}

pub use processor::{counter, prefetch};

/// Whether the processor's counter goes on at the same rate in all states of all cores.
pub fn has_steady_counter() -> bool {
    let Some(wanted) = processor::COUNTER_FLAGS else { return false };
    let info = crate::proc_files::first_processors();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    wanted.iter().all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
}

/// Bytes of a page.
pub fn page() -> u64 {
    rustix::param::page_size() as u64
}
