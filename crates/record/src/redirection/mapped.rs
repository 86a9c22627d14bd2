//! The files of code that a process has mapped, and where there is room beside them.

use crate::proc_files::{self, MapLine};
use std::ops::Range;

/// A loaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// As the kernel has it.
    pub path: String,
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
}

/// The files that are loaded as programs and libraries are: from their first byte on, with code.
pub fn files(maps: &[MapLine]) -> Vec<Mapped> {
    let mut found: Vec<(Mapped, bool)> = Vec::new();
    for line in maps.iter().filter(|line| line.path.starts_with('/')) {
        match found.last_mut() {
            Some((last, has_code)) if line.offset > 0 && last.path == line.path => {
                last.end = line.end;
                *has_code |= line.executable;
            }
            _ if line.offset == 0 => {
                let file = Mapped { path: line.path.clone(), start: line.start, end: line.end };
                found.push((file, line.executable));
            }
            _ => {}
        }
    }
    found.into_iter().filter(|(_, has_code)| *has_code).map(|(file, _)| file).collect()
}

/// Nobody may map what lies below (`vm.mmap_min_addr`).
const LOWEST: u64 = 64 << 10;
/// What stays free on both sides, so that a write out of bounds is still noticed.
const APART: u64 = 64 << 10;
/// What stays free below the stack, which grows.
const BELOW_STACK: u64 = 100 << 20;
/// How far a jump reaches, for sure.
const REACH: u64 = (1 << 31) - (1 << 20);

/// A free place of `bytes` bytes, near enough for jumps from all of `code`. The nearest below is best, because heaps grow
/// upwards; the nearest above is the second choice: below the libraries that a program starts with lies the recorder's arena.
pub fn room(maps: &[MapLine], taken: &[Range<u64>], code: &Range<u64>, bytes: u64) -> Option<u64> {
    let page = proc_files::page();
    let mut used: Vec<(Range<u64>, &str)> =
        maps.iter().map(|line| (line.start..line.end, line.path.as_str())).collect();
    used.extend(taken.iter().map(|range| (range.clone(), "")));
    used.sort_by_key(|(range, _)| range.start);
    let above = used.partition_point(|(range, _)| range.start < code.start);
    let below = (0..=above).rev().find_map(|index| {
        let end = used.get(index).map_or(code.start, |(range, _)| range.start).min(code.start);
        let start = index.checked_sub(1).map_or(LOWEST, |before| used[before].0.end + APART).max(LOWEST);
        let place = end.checked_sub(bytes + APART)? / page * page;
        (place >= start && code.end - place < REACH).then_some(place)
    });
    below.or_else(|| {
        // The program itself lies below its heap.
        let rest = used.get(above..)?;
        if rest.iter().any(|(_, path)| *path == "[heap]") {
            return None;
        }
        rest.windows(2).find_map(|pair| {
            let [(before, _), (after, path)] = pair else { return None };
            let place = (before.end + APART).next_multiple_of(page);
            let free = if *path == "[stack]" { BELOW_STACK } else { APART };
            (place + bytes + free <= after.start && place + bytes - code.start < REACH).then_some(place)
        })
    })
}

/// A place of so many bytes anywhere, far from code: what lies near it may be needed for jumps.
pub fn room_far(maps: &[MapLine], bytes: u64) -> Option<u64> {
    const LOWEST: u64 = 1 << 43;
    const APART: u64 = 1 << 30;
    let mut used: Vec<Range<u64>> = maps.iter().map(|line| line.start..line.end).collect();
    used.sort_by_key(|range| range.start);
    let place = used.iter().fold(LOWEST, |place, range| {
        let collides = range.start < place + bytes + APART && place < range.end + APART;
        if collides { (range.end + APART).next_multiple_of(APART) } else { place }
    });
    (place < 1 << 46).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(start: u64, end: u64, offset: u64, executable: bool, path: &str) -> MapLine {
        MapLine { start, end, executable, writable: false, shared: false, offset, path: path.into() }
    }

    #[test]
    fn files_with_code_are_found() {
        let maps = [
            line(0x40_0000, 0x40_1000, 0, false, "/a"),
            line(0x40_1000, 0x40_9000, 0x1000, true, "/a"),
            line(0x60_0000, 0x70_0000, 0, false, "[heap]"),
            line(0x7f00_0000_0000, 0x7f00_0010_0000, 0, false, "/data"),
            line(0x7f00_0020_0000, 0x7f00_0021_0000, 0, true, "/b.so"),
            line(0x7f00_0030_0000, 0x7f00_0031_0000, 0, true, "/b.so"),
        ];
        let found: Vec<(String, u64, u64)> =
            files(&maps).into_iter().map(|file| (file.path, file.start, file.end)).collect();
        assert_eq!(
            found,
            [
                ("/a".to_owned(), 0x40_0000, 0x40_9000),
                ("/b.so".to_owned(), 0x7f00_0020_0000, 0x7f00_0021_0000),
                ("/b.so".to_owned(), 0x7f00_0030_0000, 0x7f00_0031_0000),
            ],
            "twice, where it is in two namespaces"
        );
    }

    #[test]
    fn room_lies_near_and_rather_below() {
        let maps = [line(0x40_0000, 0x50_0000, 0, true, "/a"), line(0x50_0000, 0x70_0000, 0, false, "[heap]")];
        assert_eq!(room(&maps, &[], &(0x40_0000..0x50_0000), 4096), Some(0x3e_f000));
        let taken = 0x3e_f000..0x3f_0000;
        assert_eq!(room(&maps, std::slice::from_ref(&taken), &(0x40_0000..0x50_0000), 4096), Some(0x3d_e000));
        // No gap until far below.
        let full = [line(0x1_0000, 0x1_0000_0000, 0, false, ""), line(0x1_0000_0000, 0x1_0001_0000, 0, true, "/a")];
        assert_eq!(room(&full, &[], &(0x1_0000_0000..0x1_0001_0000), 4096), None);
        let far = [
            line(0x7f00_0000_0000, 0x7f00_8000_0000, 0, false, ""),
            line(0x7f00_8000_0000, 0x7f00_8001_0000, 0, true, "/a"),
        ];
        assert_eq!(room(&far, &[], &(0x7f00_8000_0000..0x7f00_8001_0000), 4096), None);
        let libraries = [
            line(0x7f00_0000_0000, 0x7f01_4000_0000, 0, false, "an arena"),
            line(0x7f01_4000_0000, 0x7f01_4010_0000, 0, true, "/a.so"),
            line(0x7f01_4010_0000, 0x7f01_4020_0000, 0, false, "/b.so"),
            line(0x7f01_9000_0000, 0x7f01_9010_0000, 0, false, "[stack]"),
        ];
        let code = 0x7f01_4000_0000..0x7f01_4010_0000;
        assert_eq!(room(&libraries, &[], &code, 4096), Some(0x7f01_4021_0000), "above the last one");
        let stack_is_near =
            [&libraries[..3], &[line(0x7f01_4400_0000, 0x7f01_4500_0000, 0, false, "[stack]")]].concat();
        assert_eq!(room(&stack_is_near, &[], &code, 4096), None);
    }
}
