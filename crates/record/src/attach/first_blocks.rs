//! Reads the heap of a process at the instant from which on its calls are recorded.

use super::allocator_exit::Allocator;
use super::code::Code;
use super::code_of_memtoll;
use super::heap::{self, Heap, Layout};
use super::standstill::Standstill;
use crate::blocks_before::BlocksBefore;
use crate::process_memory::ProcessMemory;
use crate::wire::PlanFunction;
use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::Usage;
use std::ops::Range;

const NOT_GLIBC: &str = "its malloc is not glibc's, whose heap alone memtoll can read";
const BUSY: &str = "a thread did not leave malloc in time";

/// What reading the heap takes, found before the process has to stand still.
pub struct HeapReader {
    ready: Result<Ready, String>,
}

struct Ready {
    allocator: Allocator,
    layout: Layout,
    copy: Option<heap::Copy>,
    heap: Option<Heap>,
}

impl HeapReader {
    /// `jumps` say whose functions are called.
    pub fn prepare(pid: u32, code: &Code, jumps: &[PlanFunction]) -> HeapReader {
        HeapReader { ready: ready(pid, code, jumps) }
    }

    /// The code of the allocator whose heap is read.
    pub fn allocator_code(&self) -> Option<Range<u64>> {
        self.ready.as_ref().ok().map(|ready| ready.allocator.code())
    }

    /// The process stands still: lets threads leave malloc. False: one does not, or holds a lock of the heap.
    pub fn settle(&mut self, still: &mut Standstill, memory: &ProcessMemory) -> bool {
        let Ok(Ready { allocator, layout, copy: Some(copy), .. }) = &self.ready else { return true };
        let locks = heap::locks(copy, layout);
        still.leave(allocator, memory, &locks).unwrap_or(false)
    }

    /// A thread did not leave malloc however often it was tried.
    pub fn give_up(&mut self) {
        self.ready = Err(BUSY.to_owned());
    }

    /// The process stands still, with no thread inside malloc: reads its heap.
    pub fn read(&mut self, still: &Standstill) {
        let Ok(ready) = &mut self.ready else { return };
        let Some(copy) = ready.copy.take() else { return };
        match Heap::read(copy, &ready.layout, still.thread_pointers()) {
            Ok(heap) => ready.heap = Some(heap),
            Err(why) => self.ready = Err(why),
        }
    }

    /// The process goes on. What it had at that time.
    pub fn finish(self, at: Ticks, usage: Usage) -> BlocksBefore {
        let blocks = self.ready.and_then(|ready| ready.heap.ok_or_else(|| BUSY.to_owned())?.blocks());
        match blocks {
            Ok(blocks) => {
                let unknown = (blocks.missing > 0).then(|| {
                    format!(
                        "{} of {} that are mappings of their own were not found",
                        memtoll_text::format::counted(blocks.missing, "block"),
                        memtoll_text::format::bytes(blocks.missing_bytes)
                    )
                });
                BlocksBefore { at, blocks: blocks.all, unknown, usage }
            }
            Err(why) => BlocksBefore { at, blocks: Vec::new(), unknown: Some(why), usage },
        }
    }
}

fn ready(pid: u32, code: &Code, jumps: &[PlanFunction]) -> Result<Ready, String> {
    let malloc = code.libc_functions().iter().find(|(name, ..)| name == "malloc").map(|(_, at, _)| *at);
    if !jumps.iter().any(|jump| Some(jump.at) == malloc) {
        return Err(NOT_GLIBC.to_owned());
    }
    let allocator = Allocator::of(code, jumps, code_of_memtoll::ranges(pid)).ok_or(NOT_GLIBC)?;
    let mut copy = heap::Copy::of(pid);
    let layout = heap::layout(code, &mut copy)?;
    // Once for nothing: then the memory for it is there, which takes as long as the reading.
    copy = heap::rehearse(copy, &layout);
    Ok(Ready { allocator, layout, copy: Some(copy), heap: None })
}
