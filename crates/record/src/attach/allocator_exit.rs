//! Threads that a stop has caught inside malloc or free go on until a stop meets them outside: then the heap is consistent, and
//! whatever they got or gave back is in it.
//!
//! Single steps would be quicker, and are not allowed: like a breakpoint, they outlive a tracer that is killed, and then they kill the
//! process.

use super::code::Code;
use super::tracing::Traced;
use crate::process_memory::ProcessMemory;
use memtoll_processor::injection::Registers;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Functions of the C library's file for allocation. Others of that file lie between and beside them.
const ALLOCATION: [&str; 15] = [
    "__default_morecore", "malloc", "free", "calloc", "realloc", "memalign", "aligned_alloc", "posix_memalign",
    "valloc", "pvalloc", "malloc_usable_size", "malloc_trim", "mallinfo2", "mallinfo", "malloc_stats",
];

/// Longest time for getting all threads out, so that those that stand still already do not wait for longer.
const PATIENCE: Duration = Duration::from_millis(30);
/// A thread that is told to stop does so within this time.
const STOPPING: Duration = Duration::from_secs(2);
/// How long a thread goes on before it is stopped again, in µs: each time another one of these, so that threads that do the same
/// again and again are not met at the same place.
const RUNS: [u64; 5] = [5, 40, 15, 90, 25];
/// How far up a stack a function's caller is looked for, bytes.
const LOOKED_AT: usize = 4 << 10;
/// The same where a signal handler runs.
const LOOKED_AT_IN_HANDLERS: usize = 32 << 10;

/// The code of glibc's allocator.
pub struct Allocator {
    code: Range<u64>,
    libc: Range<u64>,
    /// Where signal handlers return to.
    restorer: u64,
}

impl Allocator {
    /// None: the C library has no such functions.
    pub fn of(code: &Code) -> Option<Allocator> {
        let all = code.libc_functions();
        let of_allocator = |name: &str| ALLOCATION.contains(&name);
        let mine = all.iter().filter(|(name, ..)| of_allocator(name));
        let first = mine.clone().map(|(_, at, _)| *at).min()?;
        let last = mine.map(|(_, at, size)| at + size).max()?;
        // Functions without a name for others lie up to the neighbours.
        let before =
            all.iter().filter(|(_, at, size)| at + size <= first && *size > 0).map(|(_, at, size)| at + size).max();
        let behind = all.iter().filter(|(_, at, _)| *at >= last).map(|(_, at, _)| *at).min();
        let range = before.unwrap_or(first)..behind.unwrap_or(last);
        Some(Allocator { code: range, libc: code.libc.start..code.libc.end, restorer: code.restorer })
    }

    /// Whether a thread is inside the allocator. `locks`: those of the heap.
    fn has_inside(&self, memory: &ProcessMemory, registers: &Registers, locks: &[u64]) -> bool {
        let at = registers.instruction();
        let mut stack = [0; LOOKED_AT_IN_HANDLERS];
        let count = memory.read_some(registers.stack() & !7, &mut stack);
        let words = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
        };
        let all = words(&stack[..count]);
        let has_caller = |words: &[u64]| words.iter().any(|word| self.code.contains(word));
        if let Some(handler) = all.iter().position(|word| *word == self.restorer) {
            // What the handler interrupted, whatever that was.
            return self.code.contains(&at) || has_caller(&all[handler..]);
        }
        if self.code.contains(&at) {
            return true;
        }
        if !self.libc.contains(&at) {
            return false;
        }
        let waits_for_heap = registers.futex().is_some_and(|futex| locks.contains(&futex));
        if registers.is_in_call() && !waits_for_heap && !registers.is_in_call_for_memory() {
            return false;
        }
        has_caller(&all[..all.len().min(LOOKED_AT / 8)])
    }

    /// Lets all threads leave the allocator. False: not all of them did, in time. Those that are out stand still meanwhile, so that
    /// each has to be met outside only once.
    pub fn leave(&self, memory: &ProcessMemory, threads: &mut [Traced], locks: &[u64]) -> io::Result<bool> {
        let until = Instant::now() + PATIENCE;
        let is_inside =
            |traced: &Traced| traced.registers().is_ok_and(|registers| self.has_inside(memory, &registers, locks));
        let mut inside: Vec<&mut Traced> = threads.iter_mut().filter(|traced| is_inside(traced)).collect();
        for run in RUNS.into_iter().cycle() {
            if inside.is_empty() || Instant::now() > until {
                break;
            }
            // Together: one may wait for a lock that another one has.
            for traced in &mut inside {
                traced.go_on()?;
            }
            // Asleep: they may need this processor.
            std::thread::sleep(Duration::from_micros(run));
            for traced in &inside {
                let _ = traced.interrupt();
            }
            for traced in &mut inside {
                traced.wait(Instant::now() + STOPPING)?;
            }
            inside.retain(|traced| is_inside(traced));
        }
        Ok(inside.is_empty())
    }
}
