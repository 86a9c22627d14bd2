//! Looks at which pages of a process are in memory.
//!
//! The kernel tells in one pass which pages of a range are there (PAGEMAP_SCAN, Linux 6.7), at 3 ms a GiB of small pages; before,
//! it has a word for each page, at 10 ms. It holds up the process's calls for mappings meanwhile: so ranges are small.

use crate::arena::Arena;
use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use crate::wire;
use memtoll_trace::ids::Units;
use memtoll_trace::snapshot::{Cause, Mapping, Run, Snapshot};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering::Acquire;

/// Bytes that are looked at in one go: an mmap of the process waits for 4 to 18 ms instead of 50 in a process of 8 GiB.
const WINDOW: u64 = 64 << 20;

/// The pages of a process that records into `arena`. An error: the kernel does not say, or the process is gone.
pub fn take(pid: u32, arena: &Arena, cause: Cause, time: Units) -> io::Result<Snapshot> {
    let mut pages = Pages::of(pid)?;
    // A process that is gone has no memory.
    let resident = || proc_files::resident_set(pid).filter(|bytes| *bytes > 0).ok_or(io::ErrorKind::NotFound);
    let before = resident()?;
    let maps = by_address(proc_files::maps(pid));
    for line in maps.iter().filter(|line| line.path != "[vsyscall]") {
        pages.look(line.start, line.end)?;
    }
    let resident = (before, resident()?);
    let recorder = own_memory(pid, arena, &maps);
    let mappings = maps.into_iter().map(mapping).collect();
    let page = pages.page;
    Ok(Snapshot { time, cause, page, resident, mappings, runs: pages.runs, recorder, threads: Vec::new() })
}

/// The pages in these ranges of a process that are in memory or swapped out, from ranges' begins to their ends. An error: as for
/// [`take`].
pub fn there_are(pid: u32, ranges: impl IntoIterator<Item = Range<u64>>) -> io::Result<Vec<Run>> {
    let mut pages = Pages::of(pid)?;
    ranges.into_iter().try_for_each(|range| pages.look(range.start, range.end))?;
    Ok(pages.runs)
}

/// The lines in the order of their addresses, none of which overlaps the one before: the kernel lists mappings in several pieces,
/// and a mapping that grows between two of them is listed twice.
fn by_address(mut lines: Vec<MapLine>) -> Vec<MapLine> {
    lines.sort_by_key(|line| line.start);
    let mut end = 0u64;
    for line in &mut lines {
        let cut = end.saturating_sub(line.start);
        line.start += cut;
        line.offset += cut;
        end = end.max(line.end);
    }
    lines.retain(|line| line.start < line.end);
    lines
}

fn mapping(line: MapLine) -> Mapping {
    let MapLine { start, end, executable, writable, shared, offset, path } = line;
    Mapping { start, end, writable, executable, shared, offset, path }
}

/// How the names of the recorder's files begin.
pub const RECORDERS_FILES: &str = "/memfd:memtoll";

/// The recorder's memory: the arena, what it has mapped besides, its file, and what it has placed near redirected functions.
fn own_memory(pid: u32, arena: &Arena, maps: &[MapLine]) -> Vec<(u64, u64)> {
    let is_own = |line: &&MapLine| line.path.starts_with(RECORDERS_FILES);
    let placed = maps.iter().filter(is_own).map(|line| (line.start, line.end - line.start));
    let mut all: Vec<(u64, u64)> = placed.collect();
    let mut table = [0; wire::MOST_OWN_RANGES * size_of::<wire::OwnRange>()];
    let read = ProcessMemory::open(pid).and_then(|memory| memory.read(arena.header().own_ranges, &mut table));
    if read.is_ok() {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let ranges =
            table.chunks_exact(size_of::<wire::OwnRange>()).map(|range| (word(&range[..8]), word(&range[8..])));
        all.extend(ranges.filter(|(start, _)| *start != 0));
    }
    all.push((arena.header().mapped_at.load(Acquire), arena.bytes()));
    all.sort_unstable();
    all
}

struct Pages {
    pagemap: File,
    page: u64,
    /// Whether the kernel looks at whole ranges.
    scans: bool,
    runs: Vec<Run>,
    regions: Vec<Region>,
}

/// The kernel's `struct page_region` and `struct pm_scan_arg`, from linux/fs.h.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

#[repr(C)]
#[derive(Default)]
struct ScanArguments {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_count: u64,
    most_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    told: u64,
}

/// Of a page, from linux/fs.h.
mod is {
    pub const FILE: u64 = 1 << 2;
    pub const PRESENT: u64 = 1 << 3;
    pub const SWAPPED: u64 = 1 << 4;
    pub const ZERO: u64 = 1 << 5;
    pub const HUGE: u64 = 1 << 6;
}

impl Pages {
    fn of(pid: u32) -> io::Result<Pages> {
        let pagemap = File::open(format!("/proc/{pid}/pagemap"))?;
        let regions = vec![Region::default(); 1024];
        Ok(Pages { pagemap, page: proc_files::page(), scans: true, runs: Vec::new(), regions })
    }

    fn look(&mut self, mut start: u64, end: u64) -> io::Result<()> {
        while start < end {
            let behind = end.min((start + 1).next_multiple_of(WINDOW));
            if self.scans {
                match self.scan(start, behind) {
                    Ok(()) => {}
                    Err(error) if matches!(error.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL)) => {
                        self.scans = false;
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            } else {
                self.read(start, behind)?;
            }
            start = behind;
        }
        Ok(())
    }

    fn scan(&mut self, mut start: u64, end: u64) -> io::Result<()> {
        const SCAN: u64 = 0xc000_6610 | (size_of::<ScanArguments>() as u64) << 16;
        while start < end {
            let mut arguments = ScanArguments {
                size: size_of::<ScanArguments>() as u64,
                start,
                end,
                regions: self.regions.as_mut_ptr() as u64,
                regions_count: self.regions.len() as u64,
                any_of: is::PRESENT | is::SWAPPED,
                told: is::FILE | is::PRESENT | is::SWAPPED | is::ZERO | is::HUGE,
                ..ScanArguments::default()
            };
            // SAFETY: the request's number carries the size of the structure, and that has the size of the list.
            let count = unsafe { libc::ioctl(self.pagemap.as_raw_fd(), SCAN, &mut arguments) };
            if count < 0 {
                return Err(io::Error::last_os_error());
            }
            let regions = self.regions.get(..count as usize).unwrap_or_default().to_vec();
            // The walk's end may lie before that of the last region, which then comes a second time.
            let mut known = start;
            for region in &regions {
                let from = region.start.max(known);
                if from < region.end {
                    self.add(from, (region.end - from) / self.page, region.categories);
                }
                known = known.max(region.end);
            }
            let next = arguments.walk_end.max(known);
            if next <= start {
                return Ok(()); // nothing more there
            }
            start = next;
        }
        Ok(())
    }

    /// A word for each page: which of them is the page of zeros, it does not say.
    fn read(&mut self, start: u64, end: u64) -> io::Result<()> {
        let mut words = vec![0; ((end - start) / self.page) as usize * 8];
        let count = self.pagemap.read_at(&mut words, start / self.page * 8)?;
        for (index, word) in words[..count].chunks_exact(8).enumerate() {
            let word = word.try_into().map_or(0, u64::from_ne_bytes);
            let bit = |bit: u32, category: u64| if word >> bit & 1 == 1 { category } else { 0 };
            let categories = bit(63, is::PRESENT) | bit(62, is::SWAPPED) | bit(61, is::FILE);
            if categories & (is::PRESENT | is::SWAPPED) != 0 {
                self.add(start + index as u64 * self.page, 1, categories);
            }
        }
        Ok(())
    }

    fn add(&mut self, start: u64, pages: u64, categories: u64) {
        let has = |category| categories & category != 0;
        if has(is::ZERO) {
            return;
        }
        let run = Run { start, pages, is_files: has(is::FILE), is_huge: has(is::HUGE), is_swapped: !has(is::PRESENT) };
        match self.runs.last_mut() {
            Some(last)
                if last.start + last.pages * self.page == start
                    && (last.is_files, last.is_huge, last.is_swapped)
                        == (run.is_files, run.is_huge, run.is_swapped) =>
            {
                last.pages += pages;
            }
            _ => self.runs.push(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_that_change_meanwhile_are_listed_once() {
        let line = |start: u64, end: u64| MapLine {
            start,
            end,
            executable: false,
            writable: true,
            shared: false,
            offset: 0x100,
            path: String::new(),
        };
        let known =
            by_address(vec![line(0x5000, 0x9000), line(0x1000, 0x3000), line(0x6000, 0x7000), line(0x2000, 0x4000)]);
        let found: Vec<_> = known.iter().map(|line| (line.start, line.end, line.offset)).collect();
        assert_eq!(found, [(0x1000, 0x3000, 0x100), (0x3000, 0x4000, 0x1100), (0x5000, 0x9000, 0x100)]);
    }

    /// Both ways to ask, of this process: of 64 pages, every third is touched, and one is only read.
    #[test]
    fn touched_pages_are_found() {
        let page = proc_files::page();
        let bytes = 64 * page as usize;
        let memory = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice, in which this test writes.
        let start = unsafe {
            let start =
                rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, memory, rustix::mm::MapFlags::PRIVATE).unwrap();
            rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxNoHugepage).unwrap();
            for index in (0..64).step_by(3) {
                start.cast::<u8>().add(index * page as usize).write_volatile(1);
            }
            start.cast::<u8>().add(page as usize).read_volatile();
            start as u64
        };
        for scans in [true, false] {
            let pagemap = File::open("/proc/self/pagemap").unwrap();
            let mut pages = Pages { pagemap, page, scans, runs: Vec::new(), regions: vec![Region::default(); 5] };
            pages.look(start, start + bytes as u64).unwrap();
            let mut found: Vec<u64> = Vec::new();
            for run in &pages.runs {
                assert!(!run.is_files && !run.is_swapped);
                found.extend((0..run.pages).map(|index| (run.start - start) / page + index));
            }
            // Only the scan tells of the page of zeros.
            found.retain(|index| pages.scans || *index != 1);
            assert_eq!(found, (0..64).step_by(3).collect::<Vec<u64>>(), "scans: {scans}");
        }
    }
}
