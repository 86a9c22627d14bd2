//! Where a program spends processor time, by samples of its stacks: an estimate that owes nothing to memtoll.

use crate::run::CommandLine;
use crate::stacks::{self, allocation, is_kernels, is_mapping, is_recorders};
use std::path::Path;

/// Samples a second.
const FREQUENCY: u32 = 8000;

/// Samples as milliseconds of processor time.
pub fn milliseconds(samples: u64) -> f64 {
    samples as f64 * 1e3 / f64::from(FREQUENCY)
}

/// How many samples there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// All.
    pub all: u64,
    /// In the kernel, for a page fault.
    pub faults: u64,
    /// In the allocator or what it calls (realloc copies), outside of page faults.
    pub allocator: u64,
    /// In calls for mappings.
    pub mappings: u64,
    /// In calls of the allocator, outside of page faults, and not in the kernel.
    pub allocator_itself: u64,
    /// In the recorder's own code.
    pub recorder: u64,
}

/// Runs a program under `perf record` and sorts its samples.
pub fn sample(command: &CommandLine, folder: &Path) -> Result<Samples, String> {
    Ok(sort(&stacks::record(
        command,
        &folder.join("samples.data"),
        &["-F", &FREQUENCY.to_string(), "-e", "cpu-clock"],
    )?))
}

fn sort(text: &str) -> Samples {
    let mut samples = Samples::default();
    for frames in stacks::each(text) {
        samples.all += 1;
        let user = frames.iter().position(|frame| !is_kernels(frame)).unwrap_or(frames.len());
        let (kernel, user) = frames.split_at(user);
        if kernel.iter().any(|frame| frame.contains("page_fault")) {
            samples.faults += 1;
        } else if frames.first().is_some_and(|frame| is_recorders(frame)) {
            samples.recorder += 1;
        } else if user.first().is_some_and(|frame| is_mapping(frame)) {
            samples.mappings += 1;
        } else if allocation(user).is_some() {
            samples.allocator += 1;
            samples.allocator_itself += u64::from(kernel.is_empty());
        }
    }
    samples
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
             \t 30b45 free (/usr/lib/libother.so)\n\n\t 9 cfree@GLIBC_2.2.5 {libc}\n\n\
             \t 1 __memmove_evex {libc}\n\t 2 _int_realloc {libc}\n\t 3 realloc {libc}\n\t 4 work (/opt/program)\n\n\
             \t 1 __memmove_evex {libc}\n\t 4 work (/opt/program)\n\t 5 malloc {libc}\n\n\
             \t 1 hook_malloc (/run/libmemtoll.so)\n\t 4 work (/opt/program)\n\n\
             \t 1 malloc {libc}\n\t 1 hook_malloc (/run/libmemtoll.so)\n\t 4 work (/opt/program)\n\n\
             \t 1 malloc_usable_size (/usr/lib/libjemalloc.so.2)\n"
        );
        assert_eq!(
            sort(&text),
            Samples { all: 11, faults: 2, allocator: 4, mappings: 1, allocator_itself: 4, recorder: 1 }
        );
    }
}
