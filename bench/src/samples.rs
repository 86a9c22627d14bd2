//! Where a program spends processor time, by samples of its stacks: an estimate that owes nothing to memtoll.

use crate::run::CommandLine;
use std::path::Path;

/// Samples a second.
const FREQUENCY: &str = "4000";

/// Functions of the C library that are the allocator's.
const ALLOCATOR: [&str; 22] = [
    "malloc",
    "free",
    "cfree",
    "calloc",
    "realloc",
    "__libc_malloc",
    "__libc_free",
    "__libc_calloc",
    "__libc_realloc",
    "_int_malloc",
    "_int_free",
    "_int_realloc",
    "_int_memalign",
    "malloc_consolidate",
    "unlink_chunk",
    "sysmalloc",
    "systrim",
    "tcache_init",
    "alloc_perturb",
    "mem2chunk_check",
    "munmap_chunk",
    "ptmalloc_init",
];
/// Functions of the C library that the allocator calls for memory of the system's.
const MAPPINGS: [&str; 8] = ["brk", "sbrk", "mmap", "mmap64", "munmap", "mremap", "madvise", "mprotect"];

/// How many samples there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// All.
    pub all: u64,
    /// In the kernel, for a page fault.
    pub faults: u64,
    /// Of those, zeroing pages.
    pub zeroing: u64,
    /// In the allocator, outside of page faults.
    pub allocator: u64,
    /// In calls for mappings.
    pub mappings: u64,
}

/// Runs a program under `perf record` and sorts its samples.
pub fn sample(command: &CommandLine, folder: &Path) -> Result<Samples, String> {
    let file = folder.join("samples.data");
    let path = file.as_os_str();
    let options = ["-q", "-F", FREQUENCY, "-e", "cpu-clock", "-g", "-o"];
    let front = ["perf".as_ref(), "record".as_ref()].into_iter().chain(options.map(AsRef::as_ref));
    command.under(front.chain([path, "--".as_ref()])).measure()?;
    let show = ["perf".as_ref(), "script".as_ref(), "-i".as_ref(), path, "-F".as_ref(), "ip,sym,dso".as_ref()];
    Ok(sort(&CommandLine::new(show).output()?))
}

/// The text of `perf script`: a frame a line, an empty line after each sample.
fn sort(text: &str) -> Samples {
    let mut samples = Samples::default();
    for sample in text.split("\n\n").filter(|sample| !sample.trim().is_empty()) {
        samples.all += 1;
        let frames: Vec<&str> = sample.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let in_kernel = |frame: &&&str| frame.contains("[kernel") || frame.contains(".ko");
        if frames.iter().take_while(in_kernel).any(|frame| frame.contains("page_fault")) {
            samples.faults += 1;
            // clear_page_erms, clear_page_rep, clear_huge_page ...
            samples.zeroing += u64::from(frames.iter().take_while(in_kernel).any(|frame| frame.contains(" clear_")));
            continue;
        }
        let Some(user) = frames.iter().find(|frame| !in_kernel(frame)) else { continue };
        if user.contains("/libjemalloc.so") {
            samples.allocator += 1; // its inner functions have no names
            continue;
        }
        if is_allocator(user) {
            samples.allocator += 1;
        } else if libc_function(user).is_some_and(|name| MAPPINGS.contains(&name)) {
            samples.mappings += 1;
        }
    }
    samples
}

/// The function of the C library that a frame is in, without its prefixes. `98109 _int_malloc (FILE)`; names may end in
/// `@VERSION` or `.constprop.0`.
fn libc_function(frame: &str) -> Option<&str> {
    let is_libc = frame.contains("/libc.so") || frame.contains("/libc-");
    let name = frame.split_whitespace().nth(1).filter(|_| is_libc)?;
    let name = name.split(['@', '.']).next().unwrap_or_default();
    Some(if ALLOCATOR.contains(&name) { name } else { name.trim_start_matches("__GI_").trim_start_matches("__") })
}

/// Whether a frame is one of the C library's allocator.
pub fn is_allocator(frame: &str) -> bool {
    libc_function(frame).is_some_and(|name| ALLOCATOR.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_sorted_by_their_innermost_frames() {
        let libc = "(/usr/lib/x86_64-linux-gnu/libc.so.6)";
        let text = format!(
            "\n\tffffffff81a2c9d0 clear_page_erms ([kernel.kallsyms])\n\tffffffff81000c82 asm_exc_page_fault \
             ([kernel.kallsyms])\n\t 98109 _int_malloc {libc}\n\n\n\tffffffff8168fd78 charge_memcg ([kernel.kallsyms])\n\tffffffff81000c82 asm_exc_page_fault \
             ([kernel.kallsyms])\n\t 98109 _int_malloc {libc}\n\n\n\t 98110 unlink_chunk.constprop.0 {libc}\n\n\
             \tffffffff81000130 entry_SYSCALL_64_after_hwframe ([kernel.kallsyms])\n\t 1 __GI___munmap {libc}\n\n\
             \t 30b45 free (/usr/lib/libother.so)\n\n\t 9 cfree@GLIBC_2.2.5 {libc}\n"
        );
        assert_eq!(sort(&text), Samples { all: 6, faults: 2, zeroing: 1, allocator: 2, mappings: 1 });
    }
}
