//! All threads of a process stand still while its code changes.

use super::allocator_exit::Allocator;
use super::threads::{self, Task};
use super::tracing::{self, Traced};
use crate::process_memory::ProcessMemory;
use crate::thread_priority;
use crate::wire::PlanFunction;
use rustc_hash::FxHashMap;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a process may take to stand still: a thread in the middle of a disk's answer does not stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// And for each of its threads.
const PATIENCE_EACH: Duration = Duration::from_millis(2);
/// How far up a stack is looked for the frame of a signal handler, bytes.
const LOOKED_AT: usize = 64 << 10;

/// Runs what stops a process: it goes ahead of others, because all threads of that wait until it is done.
pub fn urgently<T: Send>(what: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let run = || {
            thread_priority::at_once();
            what()
        };
        let thread = std::thread::Builder::new().name("memtoll-stop".to_owned()).spawn_scoped(scope, run)?;
        thread.join().map_err(|_| io::Error::other("a thread has panicked"))
    })
}

/// A process whose threads all stand still, until this is dropped.
pub struct Standstill {
    threads: Vec<Traced>,
    since: Instant,
}

impl Standstill {
    /// Stops all threads, those that begin meanwhile included.
    pub fn begin(pid: u32) -> io::Result<Standstill> {
        let since = Instant::now();
        let mut all: FxHashMap<i32, Traced> = FxHashMap::default();
        loop {
            let new = threads::others(pid, |tid| all.contains_key(&tid));
            if new.is_empty() {
                // Threads that stand still begin no others.
                break;
            }
            let mut stopping = Vec::new();
            for Task { tid, .. } in new {
                match Traced::seize(tid) {
                    Ok(traced) => {
                        let _ = traced.interrupt();
                        stopping.push(traced);
                    }
                    // It has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(_) if !threads::tasks(pid).iter().any(|task| task.tid == tid) => {}
                    Err(error) => return Err(error),
                }
            }
            let until = since + PATIENCE + PATIENCE_EACH * (all.len() + stopping.len()) as u32;
            tracing::wait_for_all(&mut stopping, until)?;
            all.extend(stopping.into_iter().map(|traced| (traced.tid(), traced)));
        }
        Ok(Standstill { threads: all.into_values().collect(), since })
    }

    /// How long it has lasted.
    pub fn lasted(&self) -> Duration {
        self.since.elapsed()
    }

    /// Lets threads that are inside the allocator leave it. False: one does not.
    pub fn leave(&mut self, allocator: &Allocator, memory: &ProcessMemory, locks: &[u64]) -> io::Result<bool> {
        allocator.leave(memory, &mut self.threads, locks)
    }

    /// Where each thread's own variables are.
    pub fn thread_pointers(&self) -> Vec<u64> {
        self.threads.iter().filter_map(|thread| thread.registers().ok()).map(|of| of.thread_pointer()).collect()
    }

    /// Writes jumps over the beginnings of functions. Threads in the middle of one go on in its copy. False: one has been
    /// interrupted there by a signal, and will come back.
    pub fn write_jumps(&self, memory: &ProcessMemory, jumps: &[PlanFunction]) -> io::Result<bool> {
        let mut in_order: Vec<&PlanFunction> = jumps.iter().collect();
        in_order.sort_by_key(|jump| jump.at);
        let inside = |address: u64| {
            let before = in_order.partition_point(|jump| jump.at < address).checked_sub(1)?;
            Some(in_order[before]).filter(|jump| address < jump.at + u64::from(jump.bytes))
        };
        let mut moved = Vec::new();
        let mut stack = vec![0; LOOKED_AT];
        for thread in &self.threads {
            let Ok(mut registers) = thread.registers() else { continue };
            // One that is at its first byte comes through the jump.
            if let Some(jump) = inside(registers.instruction()).filter(|jump| jump.at != registers.instruction()) {
                // The copy's instructions have the lengths of those that were moved as they are.
                let behind = registers.instruction() - jump.at;
                if !is_same_code(memory, jump, behind)? {
                    return Ok(false);
                }
                registers.set_instruction(jump.original + behind);
                moved.push((thread, registers.clone()));
            }
            let count = memory.read_some(registers.stack() & !7, &mut stack);
            let mut words =
                stack[..count].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
            if words.any(|word| inside(word).is_some_and(|jump| jump.at != word)) {
                return Ok(false);
            }
        }
        for jump in jumps {
            let mut now = vec![0; jump.bytes as usize];
            memory.read(jump.at, &mut now)?;
            if now != jump.before[..now.len()] {
                return Err(io::Error::other("another tool has changed its code meanwhile"));
            }
        }
        // First: the copies work with and without the jumps, and this process may be killed at any instant.
        for (thread, registers) in moved {
            thread.set_registers(&registers)?;
        }
        for jump in jumps {
            memory.write(jump.at, &jump.after[..jump.bytes as usize])?;
        }
        Ok(true)
    }

    /// Writes back what was there before. A thread at a jump is at its first byte, and executes what is there then.
    pub fn take_jumps_back(&self, memory: &ProcessMemory, jumps: &[PlanFunction]) -> io::Result<()> {
        for jump in jumps {
            let mut now = vec![0; jump.bytes as usize];
            if memory.read(jump.at, &mut now).is_ok() && now == jump.after[..now.len()] {
                memory.write(jump.at, &jump.before[..now.len()])?;
            }
        }
        Ok(())
    }
}

impl Standstill {
    /// Ends it, and waits until each thread that was about to enter a hook, or to leave one, has done so. No other can come: the
    /// jumps are gone.
    pub fn wait_until_outside(self, code: &[Range<u64>]) -> io::Result<()> {
        const PAUSE: Duration = Duration::from_micros(200);
        let is_inside = |thread: &Traced| {
            thread.registers().is_ok_and(|now| code.iter().any(|range| range.contains(&now.instruction())))
        };
        let inside: Vec<i32> = self.threads.iter().filter(|thread| is_inside(thread)).map(Traced::tid).collect();
        drop(self);
        for tid in inside {
            let until = Instant::now() + PATIENCE;
            while Traced::stopped(tid, until).is_some_and(|thread| is_inside(&thread)) {
                if Instant::now() > until {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "a thread does not leave the recorder"));
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

/// Whether the copy begins as the function does, up to there.
fn is_same_code(memory: &ProcessMemory, jump: &PlanFunction, bytes: u64) -> io::Result<bool> {
    let (mut here, mut there) = (vec![0; bytes as usize], vec![0; bytes as usize]);
    memory.read(jump.at, &mut here)?;
    memory.read(jump.original, &mut there)?;
    Ok(here == there)
}

impl Drop for Standstill {
    fn drop(&mut self) {
        self.threads.drain(..).for_each(Traced::let_go);
    }
}
