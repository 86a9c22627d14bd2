//! Call stacks as `perf record` and `perf script` give them, and which of their frames are the allocator's.

use crate::run::CommandLine;
use std::path::Path;

/// Functions of the C library that are the allocator's.
const ALLOCATOR: [&str; 22] = [
    "malloc", "free", "cfree", "calloc", "realloc", "__libc_malloc", "__libc_free", "__libc_calloc", "__libc_realloc",
    "_int_malloc", "_int_free", "_int_realloc", "_int_memalign", "malloc_consolidate", "unlink_chunk", "sysmalloc",
    "systrim", "tcache_init", "alloc_perturb", "mem2chunk_check", "munmap_chunk", "ptmalloc_init",
];
/// Functions of the C library that the allocator calls for memory of the system's.
const MAPPINGS: [&str; 8] = ["brk", "sbrk", "mmap", "mmap64", "munmap", "mremap", "madvise", "mprotect"];
/// Libraries from which a program calls the allocator, or that are one.
const LIBRARIES: [&str; 3] = ["/libc.so", "/libstdc++.so", "/libjemalloc.so"];

/// Runs a program under `perf record` with these options, and returns what `perf script` prints: a frame a line, the
/// innermost first (`1ab70 _start (/usr/lib/ld-linux.so.2)`), an empty line after each sample.
pub(crate) fn record(command: &CommandLine, file: &Path, options: &[&str]) -> Result<String, String> {
    let front = ["perf", "record", "-q", "--call-graph", "dwarf,4096"].iter().chain(options).chain(&["-o"]);
    command.under(front.map(AsRef::as_ref).chain([file.as_os_str(), "--".as_ref()])).measure()?;
    // With inlined functions, perf prints what is inlined in the C library instead of what calls it.
    let show = ["perf", "script", "--no-inline", "-F", "ip,sym,dso", "-i"].map(AsRef::as_ref);
    CommandLine::new(show.into_iter().chain([file.as_os_str()])).output()
}

/// The frames of each sample in the text of `perf script`.
pub(crate) fn each(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let samples = text.split("\n\n").filter(|sample| !sample.trim().is_empty());
    samples.map(|sample| sample.lines().map(str::trim).filter(|line| !line.is_empty()).collect())
}

/// Whether a frame is the kernel's.
pub(crate) fn is_kernels(frame: &str) -> bool {
    frame.contains("[kernel") || frame.contains(".ko")
}

/// Whether a frame is one of the C library's functions that call the kernel for a mapping.
pub(crate) fn is_mapping(frame: &str) -> bool {
    libc_function(frame).is_some_and(|name| MAPPINGS.contains(&name))
}

/// Whether a frame is the C library's memset, of whichever processor.
pub(crate) fn is_memset(frame: &str) -> bool {
    libc_function(frame).is_some_and(|name| name.starts_with("memset"))
}

/// Which frame is the outermost of an allocation: of the libraries' frames inside of the program's innermost one.
pub(crate) fn allocation(frames: &[&str]) -> Option<usize> {
    let within_libraries = frames.iter().position(|frame| is_programs(frame)).unwrap_or(frames.len());
    frames[..within_libraries].iter().rposition(|frame| is_allocation(frame))
}

/// Whether a frame is the program's: what stands outside of it has nothing to do with what happened.
pub(crate) fn is_programs(frame: &str) -> bool {
    !LIBRARIES.iter().any(|library| frame.contains(library))
}

/// Whether a frame is the recorder's.
pub(crate) fn is_recorders(frame: &str) -> bool {
    frame.contains("/libmemtoll.so")
}

/// Whether memtoll takes a frame for a part of the allocation, which its caller has made.
fn is_allocation(frame: &str) -> bool {
    libc_function(frame).is_some_and(|name| ALLOCATOR.contains(&name))
        // Its inner functions have no names. Asking for the size of a block is no call that memtoll times.
        || frame.contains("/libjemalloc.so") && !frame.contains(" malloc_usable_size")
        || frame.contains(" operator new")
        || frame.contains(" operator delete")
}

/// The function of the C library that a frame is in, without its prefixes. `98109 _int_malloc (FILE)`; names may end in
/// `@VERSION` or `.constprop.0`.
fn libc_function(frame: &str) -> Option<&str> {
    let is_libc = frame.contains("/libc.so") || frame.contains("/libc-");
    let name = frame.split_whitespace().nth(1).filter(|_| is_libc)?;
    let name = name.split(['@', '.']).next().unwrap_or_default();
    Some(if ALLOCATOR.contains(&name) { name } else { name.trim_start_matches("__GI_").trim_start_matches("__") })
}
