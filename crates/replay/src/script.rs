//! The player's script: `machine/player/script.hpp` in Rust. A test compares both.

use std::io::{self, Write};

/// Begins a script.
pub const MAGIC: u64 = 0x3159_414c_504c_544d;
/// Marks a slot that several threads share.
pub const SHARED: u32 = 1 << 31;
/// Bits of a size; above them is the share of the pages that are touched.
pub const SIZE_BITS: u32 = 48;

/// What a step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "script.hpp says what each means")]
pub enum Do {
    Malloc,
    Calloc,
    Aligned,
    From,
    Realloc,
    Free,
    FreeNull,
    Start,
    Window,
    Pause,
    Arena,
    ArenaFree,
    Keep,
    KeepFree,
}

/// A step of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Bytes and touched share, or what else `what` needs.
    pub size: u64,
    /// Where the block's address is kept.
    pub slot: u32,
    /// What is done.
    pub what: Do,
    /// Of the alignment.
    pub log2_alignment: u8,
    /// The arena or store.
    pub pool: u16,
}

impl Step {
    /// Of so many bytes, of whose pages a share (0 to 1) is touched.
    pub fn sized(what: Do, slot: u32, size: u64, touched: f32) -> Step {
        let most = (1 << SIZE_BITS) - 1;
        let share = (f64::from(touched.clamp(0.0, 1.0)) * 65535.0).round() as u64;
        Step { size: size.min(most) | share << SIZE_BITS, slot, what, log2_alignment: 0, pool: 0 }
    }

    /// Of a block that is there.
    pub fn on(what: Do, slot: u32) -> Step {
        Step { size: 0, slot, what, log2_alignment: 0, pool: 0 }
    }

    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.slot.to_le_bytes());
        bytes[12] = self.what as u8;
        bytes[13] = self.log2_alignment;
        bytes[14..].copy_from_slice(&self.pool.to_le_bytes());
        bytes
    }
}

/// What a thread does.
#[derive(Default)]
pub struct Thread {
    /// Its steps.
    pub steps: Vec<Step>,
    /// Slots of its own.
    pub slots: u32,
}

/// A script.
#[derive(Default)]
pub struct Script {
    /// By number; the first one begins.
    pub threads: Vec<Thread>,
    /// Slots of blocks that go from one thread to another.
    pub shared_slots: u32,
    /// Arenas and stores.
    pub pools: u32,
    /// For each window of the recording, how many threads have a part in it.
    pub windows: Vec<u32>,
}

impl Script {
    /// Writes it as the player reads it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        to.write_all(&MAGIC.to_le_bytes())?;
        to.write_all(&(self.threads.len() as u32).to_le_bytes())?;
        to.write_all(&self.pools.to_le_bytes())?;
        to.write_all(&u64::from(self.shared_slots).to_le_bytes())?;
        to.write_all(&(self.windows.len() as u64).to_le_bytes())?;
        let mut first = 0u64;
        for thread in &self.threads {
            for number in [first, thread.steps.len() as u64, u64::from(thread.slots)] {
                to.write_all(&number.to_le_bytes())?;
            }
            first += thread.steps.len() as u64;
        }
        // Steps begin at a multiple of 8 bytes.
        let padding = (self.windows.len() % 2 == 1).then_some(&0);
        for participants in self.windows.iter().chain(padding) {
            to.write_all(&participants.to_le_bytes())?;
        }
        for step in self.threads.iter().flat_map(|thread| &thread.steps) {
            to.write_all(&step.bytes())?;
        }
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../../machine/player/script.hpp");

    #[test]
    fn both_sides_number_alike() {
        let list = HEADER.split("enum class Do : uint8_t {").nth(1).unwrap().split("};").next().unwrap();
        let names: Vec<&str> =
            list.lines().filter_map(|line| line.trim().strip_prefix('k')?.split(',').next()).collect();
        use Do::*;
        let all = [
            Malloc, Calloc, Aligned, From, Realloc, Free, FreeNull, Start, Window, Pause, Arena, ArenaFree, Keep,
            KeepFree,
        ];
        assert_eq!(names, all.map(|what| format!("{what:?}")));
        assert!(all.iter().enumerate().all(|(number, what)| *what as usize == number));
        assert!(HEADER.contains(&format!("kMagic = {MAGIC:#x}")));
        assert!(HEADER.contains(&format!("kSizeBits = {SIZE_BITS}")));
    }
}
