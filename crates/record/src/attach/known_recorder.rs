//! A recorder that an earlier memtoll has loaded into a process. It begins anew for each: the loader has room for the
//! thread-local variables of some twenty libraries only.

use super::code_of_memtoll;
use crate::proc_files::MapLine;
use crate::process_memory::ProcessMemory;
use crate::wire::AttachOrder;
use object::{Object, ObjectSymbol};
use std::io;
use std::mem::offset_of;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long an earlier memtoll's thread may still be at work in it.
const PATIENCE: Duration = Duration::from_secs(5);

/// A loaded recorder of this build.
#[derive(Debug, Clone, Copy)]
pub struct KnownRecorder {
    /// Its order, a `wire::AttachOrder`.
    order: u64,
    /// The function that carries it out.
    pub entry: u64,
}

/// The one that is loaded; `None`: there is none of this build, or none with room for such stacks.
pub fn find(maps: &[MapLine], memory: &ProcessMemory, library: &[u8], stack_depth: u32) -> Option<KnownRecorder> {
    let file = object::File::parse(library).ok()?;
    let symbol = |name: &str| file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name)).map(|it| it.address());
    let (order, entry) = (symbol("memtoll_recorder_order")?, symbol("memtoll_recorder_attach_again")?);
    let bases = maps.iter().filter(|line| line.offset == 0 && code_of_memtoll::is_recorder(line));
    let is_usable = |known: &KnownRecorder| {
        known.word(memory, offset_of!(AttachOrder, most_stack_depth)).is_ok_and(|most| most == 0 || most >= stack_depth)
    };
    bases
        .filter(|line| is_this_build(line.start, maps, memory, library))
        .map(|line| KnownRecorder { order: line.start + order, entry: line.start + entry })
        .find(|known| known.is_idle(memory) && is_usable(known))
}

/// Whether all that is not written to is as in this file.
fn is_this_build(base: u64, maps: &[MapLine], memory: &ProcessMemory, library: &[u8]) -> bool {
    let inside = |line: &&MapLine| {
        code_of_memtoll::is_recorder(line) && line.start.wrapping_sub(base) < library.len() as u64 && line.executable
    };
    let is_equal = |line: &MapLine| {
        let Some(expected) = library.get(line.offset as usize..) else { return false };
        let expected = &expected[..expected.len().min((line.end - line.start) as usize)];
        let mut found = vec![0; expected.len()];
        memory.read(line.start, &mut found).is_ok() && found == expected
    };
    let mut code = maps.iter().filter(inside).peekable();
    code.peek().is_some() && code.all(is_equal)
}

impl KnownRecorder {
    fn word(&self, memory: &ProcessMemory, offset: usize) -> io::Result<u32> {
        memory.word(self.order + offset as u64).map(|word| word as u32)
    }

    /// Whether it is loaded and no thread is at work in it, or none is any more.
    fn is_idle(&self, memory: &ProcessMemory) -> bool {
        let until = Instant::now() + PATIENCE;
        loop {
            let loaded = self.word(memory, offset_of!(AttachOrder, is_loaded));
            let busy = self.word(memory, offset_of!(AttachOrder, is_busy));
            match (loaded, busy) {
                (Ok(1), Ok(0)) => return true,
                (Ok(_), Ok(_)) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
                _ => return false,
            }
        }
    }

    /// What the thread that comes to `entry` is to do: record for the run with this private directory.
    pub fn give_order(&self, memory: &ProcessMemory, directory: &Path) -> io::Result<()> {
        const ROOM: usize = size_of::<AttachOrder>() - offset_of!(AttachOrder, directory);
        let mut text = directory.as_os_str().as_encoded_bytes().to_vec();
        if text.len() >= ROOM {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        text.resize(ROOM, 0);
        memory.write(self.order + offset_of!(AttachOrder, directory) as u64, &text)?;
        memory.write(self.order + offset_of!(AttachOrder, is_done) as u64, &[0; 4])?;
        self.set_given(memory, true)
    }

    /// A thread that comes later finds nothing to do.
    pub fn withdraw_order(&self, memory: &ProcessMemory) {
        // If the process has ended, there is no such thread.
        let _ = self.set_given(memory, false);
    }

    fn set_given(&self, memory: &ProcessMemory, is_given: bool) -> io::Result<()> {
        memory.write(self.order + offset_of!(AttachOrder, is_given) as u64, &u32::from(is_given).to_le_bytes())
    }

    /// The result of the order, an `attach_result`; `None`: it is being carried out.
    pub fn result(&self, memory: &ProcessMemory) -> io::Result<Option<u32>> {
        let is_done = self.word(memory, offset_of!(AttachOrder, is_done))? != 0;
        let result = self.word(memory, offset_of!(AttachOrder, result))?;
        Ok(is_done.then_some(result))
    }
}
