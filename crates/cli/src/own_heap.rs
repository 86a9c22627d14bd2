//! The heap of a process that makes a page.

/// Keeps what is freed: each part of the time adds up sums of many megabytes, and glibc would give these pages back to the
/// kernel each time, which then zeroes others. A process that goes on to answer questions would be twice as large.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    for (option, value) in [(libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, i32::MAX), (libc::M_TOP_PAD, 64 << 20)] {
        // SAFETY: it takes two numbers.
        let _ = unsafe { libc::mallopt(option, value) };
    }
}
