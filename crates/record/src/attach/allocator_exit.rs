//! Threads that a stop has caught inside malloc or free go on until a stop meets them outside: then the heap is consistent, and
//! whatever they got or gave back is in it. None comes back meanwhile: the jumps are written, and calls are held.
//!
//! Single steps would be quicker, and are not allowed: like a breakpoint, they outlive a tracer that is killed, and then they kill the
//! process.

use super::code::Code;
use super::tracing::Traced;
use crate::process_memory::ProcessMemory;
use crate::wire::PlanFunction;
use memtoll_processor::injection::{self, Registers};
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
/// How long a thread goes on before it is stopped again, in µs; then each time for as long as the last time. It may have to wait for a
/// processor.
const RUNS: [u64; 5] = [20, 50, 200, 500, 2000];
/// While a lock of the heap is held, a thread goes on for this long at the most.
const LOCKED_FOR: Duration = Duration::from_millis(10);
/// How far up a stack a function's caller is looked for, bytes.
const LOOKED_AT: usize = 4 << 10;
/// The same from the recorder's code, which a call of the allocator's own has just entered.
const LOOKED_AT_IN_RECORDER: usize = 1 << 10;
/// The same where a signal handler runs.
const LOOKED_AT_IN_HANDLERS: usize = 32 << 10;
/// Code behind the instructions that a jump has taken the place of, which goes back to the function, bytes.
const WAY_BACK: u64 = 16;

/// The code of glibc's allocator.
pub struct Allocator {
    code: Range<u64>,
    /// The first instructions of its functions, where jumps have taken their place.
    moved: Vec<Range<u64>>,
    libc: Range<u64>,
    /// Code that memtoll has brought.
    recorder: Vec<Range<u64>>,
    /// Where signal handlers return to.
    restorer: u64,
}

/// What a thread does, or did when a signal handler interrupted it.
struct Position {
    instruction: u64,
    stack: u64,
    call: Call,
}

/// The system call that a thread is in.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    None,
    /// One that an allocator makes, or perhaps such a one.
    Allocators,
    /// It starts a process: a fork holds all locks of the heap.
    Forks,
    Other,
}

fn holds(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

impl Allocator {
    /// None: the C library has no such functions. `recorder`: code that memtoll has brought.
    pub fn of(code: &Code, jumps: &[PlanFunction], recorder: Vec<Range<u64>>) -> Option<Allocator> {
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
        let moved = jumps.iter().filter(|jump| range.contains(&jump.at));
        let moved = moved.map(|jump| jump.original..jump.original + u64::from(jump.bytes) + WAY_BACK).collect();
        Some(Allocator { code: range, moved, libc: code.libc.start..code.libc.end, recorder, restorer: code.restorer })
    }

    pub fn code(&self) -> Range<u64> {
        self.code.clone()
    }

    /// Whether a thread is inside the allocator, or holds its locks. `locks`: those of the heap.
    fn has_inside(&self, memory: &ProcessMemory, registers: &Registers, locks: &[u64]) -> bool {
        let call = match registers.futex() {
            Some(futex) if locks.contains(&futex) => Call::Allocators,
            _ if registers.is_in_call_for_memory() => Call::Allocators,
            _ if registers.is_in_fork() => Call::Forks,
            _ if registers.is_in_call() => Call::Other,
            _ => Call::None,
        };
        let now = Position { instruction: registers.instruction(), stack: registers.stack(), call };
        if now.call == Call::Forks {
            return is_locked(memory, locks);
        }
        let stack = words(memory, now.stack, LOOKED_AT_IN_HANDLERS);
        let interrupted = (0..stack.len()).filter(|at| stack[*at] == self.restorer).find_map(|at| {
            let (instruction, stack) = injection::interrupted(&stack[at..])?;
            Some(Position { instruction, stack, call: Call::Allocators })
        });
        self.is_inside(memory, &now) || interrupted.is_some_and(|position| self.is_inside(memory, &position))
    }

    fn is_inside(&self, memory: &ProcessMemory, position: &Position) -> bool {
        let at = position.instruction;
        let has_caller =
            |looked_at| words(memory, position.stack, looked_at).iter().any(|word| self.code.contains(word));
        if self.code.contains(&at) || holds(&self.moved, at) {
            return true;
        }
        if holds(&self.recorder, at) {
            // One that waits is between two calls.
            return position.call == Call::None && has_caller(LOOKED_AT_IN_RECORDER);
        }
        self.libc.contains(&at) && position.call != Call::Other && has_caller(LOOKED_AT)
    }

    /// Lets all threads leave the allocator. False: not all of them did, in time. Those that are out stand still meanwhile, so that
    /// each has to be met outside only once.
    pub fn leave(&self, memory: &ProcessMemory, threads: &mut [Traced], locks: &[u64]) -> io::Result<bool> {
        let until = Instant::now() + PATIENCE;
        let is_inside =
            |traced: &Traced| traced.registers().is_ok_and(|registers| self.has_inside(memory, &registers, locks));
        let mut inside: Vec<&mut Traced> = threads.iter_mut().filter(|traced| is_inside(traced)).collect();
        let last = RUNS[RUNS.len() - 1];
        for run in RUNS.into_iter().chain(std::iter::repeat(last)) {
            if inside.is_empty() || Instant::now() > until {
                break;
            }
            // Together: one may wait for a lock that another one has.
            for traced in &mut inside {
                traced.go_on()?;
            }
            // Asleep: they may need this processor.
            let since = Instant::now();
            std::thread::sleep(Duration::from_micros(run));
            // A stop interrupts a fork, which the kernel then restarts.
            while is_locked(memory, locks) && since.elapsed() < LOCKED_FOR {
                std::thread::sleep(Duration::from_micros(run));
            }
            for traced in &inside {
                let _ = traced.interrupt();
            }
            for traced in &mut inside {
                traced.wait(Instant::now() + STOPPING)?;
            }
            inside.retain(|traced| is_inside(traced));
        }
        Ok(inside.is_empty() && !is_locked(memory, locks))
    }
}

/// Whether one of these locks is held, or cannot be read.
fn is_locked(memory: &ProcessMemory, locks: &[u64]) -> bool {
    const LOCK: u64 = 0xffff_ffff;
    locks.iter().any(|lock| memory.word(*lock).map_or(true, |word| word & LOCK != 0))
}

/// Words of a stack, from its end in use on.
fn words(memory: &ProcessMemory, stack: u64, most: usize) -> Vec<u64> {
    let mut bytes = vec![0; most];
    let count = memory.read_some(stack & !7, &mut bytes);
    bytes[..count].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
}
