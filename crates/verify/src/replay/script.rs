//! The player's script: `machine/player/script.hpp` in Rust. A test compares both.

use std::io::{self, Write};

/// Ends a script.
pub const MAGIC: u64 = 0x3159_414c_504c_544d;
/// Steps of a chunk, at most.
pub const CHUNK: usize = 1024;
const STEP_BYTES: usize = 16;
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
    pub log2_alignment: u8,
    /// The arena or store.
    pub pool: u16,
}

impl Step {
    /// A block of `size` bytes, of whose pages a share (0 to 1) is touched.
    pub fn sized(what: Do, slot: u32, size: u64, touched: f32) -> Step {
        let most = (1 << SIZE_BITS) - 1;
        let share = (f64::from(touched.clamp(0.0, 1.0)) * 65535.0).round() as u64;
        Step { size: size.min(most) | share << SIZE_BITS, slot, what, log2_alignment: 0, pool: 0 }
    }

    /// Of a block that is there.
    pub fn on(what: Do, slot: u32) -> Step {
        Step { size: 0, slot, what, log2_alignment: 0, pool: 0 }
    }

    fn bytes(&self) -> [u8; STEP_BYTES] {
        let mut bytes = [0; STEP_BYTES];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.slot.to_le_bytes());
        bytes[12] = self.what as u8;
        bytes[13] = self.log2_alignment;
        bytes[14..].copy_from_slice(&self.pool.to_le_bytes());
        bytes
    }
}

/// A thread whose steps are being written.
#[derive(Default)]
struct Thread {
    /// Steps that do not fill a chunk yet.
    waiting: Vec<u8>,
    /// Where its chunks begin, and how many steps each has.
    chunks: Vec<(u64, u64)>,
    /// Slots of its own.
    slots: u32,
}

/// A script that is written while the recording is read: steps go into the file in chunks of one thread each, and what is
/// kept in memory is a chunk a living thread and a few bytes a chunk.
pub struct Script<W> {
    to: W,
    written: u64,
    /// By number; the first one begins.
    threads: Vec<Thread>,
    /// For each window of the recording, how many threads have a part in it.
    windows: Vec<u32>,
    shared_slots: u32,
}

impl<W: Write> Script<W> {
    /// Begins the script of a number of threads.
    pub fn new(to: W, threads: usize) -> Self {
        let threads = std::iter::repeat_with(Thread::default).take(threads).collect();
        Script { to, written: 0, threads, windows: Vec::new(), shared_slots: 0 }
    }

    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Adds a step of a thread.
    pub fn push(&mut self, thread: u32, step: Step) -> io::Result<()> {
        let waiting = &mut self.threads[thread as usize].waiting;
        waiting.extend_from_slice(&step.bytes());
        if waiting.len() == CHUNK * STEP_BYTES { self.end_chunk(thread) } else { Ok(()) }
    }

    fn end_chunk(&mut self, thread: u32) -> io::Result<()> {
        let thread = &mut self.threads[thread as usize];
        if thread.waiting.is_empty() {
            return Ok(());
        }
        self.to.write_all(&thread.waiting)?;
        thread.chunks.push((self.written, (thread.waiting.len() / STEP_BYTES) as u64));
        self.written += thread.waiting.len() as u64;
        thread.waiting.clear();
        Ok(())
    }

    /// A thread has no more steps.
    pub fn end_thread(&mut self, thread: u32) -> io::Result<()> {
        self.end_chunk(thread)?;
        self.threads[thread as usize].waiting = Vec::new();
        Ok(())
    }

    /// A new slot of a thread's own.
    pub fn slot(&mut self, thread: u32) -> u32 {
        let slots = &mut self.threads[thread as usize].slots;
        *slots += 1;
        *slots - 1
    }

    /// A new slot for blocks that go from one thread to another.
    pub fn shared_slot(&mut self) -> u32 {
        self.shared_slots += 1;
        SHARED | (self.shared_slots - 1)
    }

    /// A thread has a part in a window.
    pub fn takes_part(&mut self, window: u64) {
        let index = window as usize;
        if self.windows.len() <= index {
            self.windows.resize(index + 1, 0);
        }
        self.windows[index] += 1;
    }

    /// Ends the script; `pools`: how many arenas and stores it uses.
    pub fn finish(mut self, pools: u32) -> io::Result<()> {
        for thread in 0..self.threads.len() {
            self.end_thread(thread as u32)?;
        }
        let Script { mut to, written, threads, windows, shared_slots } = self;
        let chunks = || threads.iter().flat_map(|thread| &thread.chunks);
        for (at, steps) in chunks() {
            to.write_all(&at.to_le_bytes())?;
            to.write_all(&steps.to_le_bytes())?;
        }
        let mut first = 0u64;
        for thread in &threads {
            for number in [first, thread.chunks.len() as u64, u64::from(thread.slots)] {
                to.write_all(&number.to_le_bytes())?;
            }
            first += thread.chunks.len() as u64;
        }
        // The end begins at a multiple of 8 bytes.
        let padding = (windows.len() % 2 == 1).then_some(&0);
        for participants in windows.iter().chain(padding) {
            to.write_all(&participants.to_le_bytes())?;
        }
        for number in [written, first, windows.len() as u64, u64::from(shared_slots)] {
            to.write_all(&number.to_le_bytes())?;
        }
        to.write_all(&(threads.len() as u32).to_le_bytes())?;
        to.write_all(&pools.to_le_bytes())?;
        to.write_all(&MAGIC.to_le_bytes())?;
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../../../../machine/player/script.hpp");

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
        assert!(HEADER.contains(&format!("kChunk = {CHUNK}")));
    }

    #[test]
    fn steps_of_threads_are_found_by_their_chunks() {
        let mut file = Vec::new();
        let mut script = Script::new(&mut file, 2);
        let steps = [CHUNK as u32 * 2 + 5, 3];
        for number in 0..steps[0] {
            script.push(0, Step::on(Do::Free, number)).unwrap();
            if number < steps[1] {
                script.push(1, Step::on(Do::Free, number)).unwrap();
            }
        }
        script.end_thread(1).unwrap();
        script.takes_part(0);
        script.finish(0).unwrap();
        let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let end = file.len() - 48;
        let [tables, chunks, windows, shared] = [0, 8, 16, 24].map(|at| number(end + at));
        assert_eq!((chunks, windows, shared, number(file.len() - 8)), (4, 1, 0, MAGIC as usize));
        assert_eq!(end, tables + chunks * 16 + 2 * 24 + 8);
        for (thread, steps) in steps.into_iter().enumerate() {
            let at = tables + chunks * 16 + thread * 24;
            let (first, count) = (number(at), number(at + 8));
            let mut found = Vec::new();
            for chunk in first..first + count {
                let (at, steps) = (number(tables + chunk * 16), number(tables + chunk * 16 + 8));
                let slots = (0..steps).map(|step| number(at + step * STEP_BYTES + 8) as u32);
                found.extend(slots);
            }
            assert_eq!(found, (0..steps).collect::<Vec<_>>());
        }
    }
}
