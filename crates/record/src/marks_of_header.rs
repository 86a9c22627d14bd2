//! Marks that a program sets with `memtoll.h`, where the recorder comes to it while it runs. The header has looked for the
//! recorder before, in vain; it looks again once it is told of a function that finds the recorder's.

use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use crate::redirection::mapped::{self, Mapped};
use crate::redirection::place_of;
use crate::wire::{Blob, MarkBlob};
use object::{Object, ObjectSection, ObjectSegment, ReadCache};
use std::fs::File;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Where the header keeps the function's address, a word for each file that was compiled with it.
const SECTION: &str = "memtoll_finder";

/// What is known of such marks in a run.
#[derive(Default)]
pub struct MarksOfHeader {
    /// The mark that ends the recording.
    awaited: OnceLock<String>,
    has_come: AtomicBool,
}

impl MarksOfHeader {
    /// The recording is to end with this mark.
    pub fn wait_for(&self, name: &str) {
        let _ = self.awaited.set(name.to_owned());
    }

    /// Whether that mark has come.
    pub fn has_come(&self) -> bool {
        self.has_come.load(Acquire)
    }

    /// A mark of any process.
    pub fn comes(&self, payload: &[u8]) {
        let Some(awaited) = self.awaited.get() else { return };
        if MarkBlob::split(payload).is_some_and(|(_, name)| name == awaited.as_bytes()) {
            self.has_come.store(true, Release);
        }
    }
}

/// Tells the header in all files that a process has loaded of `finder`.
pub fn tell(pid: u32, finder: u64) {
    let maps = proc_files::maps(pid);
    let Ok(memory) = ProcessMemory::open(pid) else { return };
    for at in words(pid, &maps) {
        // A word is written as a whole. Where that fails, the process has ended.
        let _ = memory.write(at, &finder.to_le_bytes());
    }
}

/// Where a process has such words.
fn words(pid: u32, maps: &[MapLine]) -> impl Iterator<Item = u64> {
    let found = move |file: Mapped| Some(section(pid, &file, maps)?.step_by(8));
    mapped::files(maps).into_iter().filter_map(found).flatten()
}

/// Whether a process could set marks, as far as the files tell that it has loaded.
pub fn could_set_marks(pid: u32) -> bool {
    words(pid, &proc_files::maps(pid)).next().is_some()
}

/// The section in memory.
fn section(pid: u32, mapped: &Mapped, maps: &[MapLine]) -> Option<Range<u64>> {
    let file = ReadCache::new(File::open(place_of(pid, mapped)?).ok()?);
    let file = object::File::parse(&file).ok()?;
    let section = file.section_by_name(SECTION)?;
    let line = maps.iter().find(|line| line.start == mapped.start)?;
    let page = proc_files::page();
    let segment = file.segments().find(|segment| segment.file_range().0 / page * page == line.offset)?;
    let bias = mapped.start.wrapping_sub(segment.address() / page * page);
    let start = bias.wrapping_add(section.address());
    let is_there = maps.iter().any(|line| line.writable && line.start <= start && start + section.size() <= line.end);
    is_there.then_some(start..start + section.size() / 8 * 8)
}
