//! The blocks that a process had before memtoll came, as the headers of glibc's heap tell them.
//!
//! * `layout`: where the heap's variables are in the C library
//! * `copy`: what is read of the process while all its threads stand still
//! * `arena`, `mapped`: which memory that is
//! * `chunks`: the blocks in it, found when the process runs again
//! * `caches`: freed blocks that look used
//!
//! Nothing is believed that does not fit: each header must lead to the next, up to the heap's end; each freed block in a cache
//! must be one that looks used. Where something does not fit, nothing is known, and that is what is said.
//!
//! ```text
//! chunk   size of the one before, if that is free   u64
//!         own size, bytes | 1: the one before is used | 2: mapped by itself | 4: of another arena than the first   u64
//!         the block, up to and with the first word of the next chunk
//! ```

mod arena;
mod caches;
mod chunks;
mod copy;
mod layout;
mod mapped;

use super::code::Code;
use crate::blocks_before::HeapBlock as Block;
use arena::Arena;
pub use copy::Copy;
pub use layout::Layout;
use mapped::Mapped;

/// Bytes of a chunk before its block.
const HEADER: u64 = 16;
/// Chunks begin at multiples of this, bytes.
const ALIGNMENT: u64 = 16;
/// The smallest chunk, bytes.
const SMALLEST: u64 = 32;
/// Size field: the chunk before is used.
const PREVIOUS_IN_USE: u64 = 1;
/// Size field: a mapping of its own.
const IS_MAPPED: u64 = 2;
/// Size field: not of the main arena.
const OF_OTHER_ARENA: u64 = 4;
const FLAGS: u64 = 7;

/// A heap while its process stands still.
pub struct Heap {
    copy: Copy,
    arenas: Vec<Arena>,
    mapped: Mapped,
    threads: Vec<u64>,
}

/// Blocks from before.
#[derive(Debug, Default)]
pub struct Blocks {
    /// In the order of addresses.
    pub all: Vec<Block>,
    /// Blocks that are mappings of their own and were not found.
    pub missing: u64,
    /// Their bytes.
    pub missing_bytes: u64,
}

/// Bytes of headers that are read at the most: more would make the process stand still for too long.
pub const MOST: u64 = 2 << 30;

impl Heap {
    /// Reads the heap of a process that stands still. `threads`: their thread pointers.
    pub fn read(copy: Copy, layout: &Layout, threads: Vec<u64>) -> Result<Heap, String> {
        let mut copy = copy;
        copy.begin();
        let arenas = arena::read(&mut copy, layout, arena::Locked::Refuse)?;
        let mapped = mapped::read(&mut copy, layout, &arenas)?;
        for pointer in &threads {
            copy.add_below(*pointer, caches::LOOKED_AT);
        }
        Ok(Heap { copy, arenas, mapped, threads })
    }

    /// The blocks in it.
    pub fn blocks(&self) -> Result<Blocks, String> {
        let mut all = Vec::new();
        for arena in &self.arenas {
            chunks::walk(&self.copy, arena, &mut all)?;
        }
        all.sort_unstable();
        caches::take_out(&self.copy, &self.arenas, &self.threads, &mut all)?;
        all.extend(&self.mapped.blocks);
        all.sort_unstable();
        Ok(Blocks { all, missing: self.mapped.missing, missing_bytes: self.mapped.missing_bytes })
    }
}

/// Where the heap's variables are. An error: its blocks cannot be known, whatever its memory says.
pub fn layout(code: &Code, copy: &mut Copy) -> Result<Layout, String> {
    Layout::find(code, copy)
}

/// The locks of all arenas, as they are now.
pub fn locks(copy: &Copy, layout: &Layout) -> Vec<u64> {
    arena::all_now(copy, layout)
}

/// Reads a heap that may change meanwhile, so that there is memory for reading it again.
pub fn rehearse(mut copy: Copy, layout: &Layout) -> Copy {
    copy.begin();
    let _ = arena::read(&mut copy, layout, arena::Locked::Read);
    copy.begin();
    copy
}
