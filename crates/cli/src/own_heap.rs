//! The heap of a process that answers questions about a recording.

/// Keeps what is freed, in one heap for all threads. Each question adds up sums of many megabytes. glibc would give these pages back to
/// the kernel each time, which then zeroes others, and it would make a heap for each thread: together, they are twice as large.
///
/// To be called before there are other threads.
pub fn keep_freed_memory() {
    #[cfg(target_env = "gnu")]
    for (option, value) in
        [(libc::M_ARENA_MAX, 1), (libc::M_MMAP_MAX, 0), (libc::M_TRIM_THRESHOLD, i32::MAX), (libc::M_TOP_PAD, 64 << 20)]
    {
        // SAFETY: it takes two numbers.
        let _ = unsafe { libc::mallopt(option, value) };
    }
}
