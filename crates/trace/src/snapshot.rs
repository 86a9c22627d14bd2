//! The payload of a snapshot block: which pages of a process were in memory at an instant.
//!
//! zstd over variable-length integers: time, cause and what belongs to it, size of a page, the kernel's resident set before and after
//! the look; then lists, each with its number of entries before it: mappings (their columns: start as the distance from the end before, bytes,
//! flags, offset in the file, bytes of the path and the path itself), runs of pages (start as the distance from the end before, in
//! pages; pages; flags), ranges of the recorder's memory (start, bytes), handles of threads.

use crate::Damage;
use crate::bytes::{Unread, put_varint};
use crate::ids::Units;
/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = 64 << 20;

/// Why it was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The resident set was larger than at any look before.
    Peak,
    /// The process was about to end.
    End,
    /// The program had set a mark, or ended a region.
    Mark {
        name: String,
        /// When it did: before the look.
        time: Units,
    },
    /// Somebody had asked for it, as with `memtoll snapshot`.
    Asked,
    /// The resident set had passed this size, bytes.
    Size(u64),
}

/// As they are stored.
mod number {
    pub const PEAK: u64 = 0;
    pub const END: u64 = 1;
    pub const MARK: u64 = 2;
    pub const ASKED: u64 = 3;
    pub const SIZE: u64 = 4;
}

impl Cause {
    /// As scripts know it.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Peak => "peak",
            Cause::End => "end",
            Cause::Mark { .. } => "mark",
            Cause::Asked => "asked",
            Cause::Size(_) => "size",
        }
    }

    fn encode(&self, plain: &mut Vec<u8>) {
        match self {
            Cause::Peak => put_varint(plain, number::PEAK),
            Cause::End => put_varint(plain, number::END),
            Cause::Mark { name, time } => {
                [number::MARK, time.0, name.len() as u64].into_iter().for_each(|value| put_varint(plain, value));
                plain.extend_from_slice(name.as_bytes());
            }
            Cause::Asked => put_varint(plain, number::ASKED),
            Cause::Size(bytes) => [number::SIZE, *bytes].into_iter().for_each(|value| put_varint(plain, value)),
        }
    }

    fn decode(bytes: &mut Unread<'_>) -> Result<Cause, Damage> {
        match bytes.varint()? {
            number::PEAK => Ok(Cause::Peak),
            number::END => Ok(Cause::End),
            number::MARK => {
                let time = Units(bytes.varint()?);
                let length = count(bytes)?;
                Ok(Cause::Mark { name: String::from_utf8_lossy(bytes.take(length)?).into_owned(), time })
            }
            number::ASKED => Ok(Cause::Asked),
            number::SIZE => Ok(Cause::Size(bytes.varint()?)),
            _ => Err(Damage::Value("a snapshot of an unknown cause")),
        }
    }
}

/// A mapping of the process, as the kernel lists them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address behind it.
    pub end: u64,
    pub writable: bool,
    pub executable: bool,
    /// Whether processes share it.
    pub shared: bool,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// The file, or a name in brackets, or nothing.
    pub path: String,
}

/// Pages that lie side by side, all of the same kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// First address.
    pub start: u64,
    /// How many.
    pub pages: u64,
    /// Whether they are a file's, or shared. Pages of a private mapping of a file that the process has written are not.
    pub is_files: bool,
    /// Whether they are parts of huge pages.
    pub is_huge: bool,
    /// Whether they are swapped out, and not in memory.
    pub is_swapped: bool,
}

/// The pages of a process at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// When the look began.
    pub time: Units,
    pub cause: Cause,
    /// Bytes of a page.
    pub page: u64,
    /// The resident set that the kernel told before the look and after it, bytes.
    pub resident: (u64, u64),
    /// By address.
    pub mappings: Vec<Mapping>,
    /// By address. The page of zeros, which is everybody's, is in none.
    pub runs: Vec<Run>,
    /// Start and bytes of the recorder's memory.
    pub recorder: Vec<(u64, u64)>,
    /// What the C library calls the threads that have recorded calls: addresses in their stacks' mappings.
    pub threads: Vec<u64>,
}

impl Snapshot {
    /// All pages in memory, bytes.
    pub fn resident_bytes(&self) -> u64 {
        self.runs
            .iter()
            .filter(|run| !run.is_swapped)
            .map(|run| run.pages.saturating_mul(self.page))
            .fold(0, u64::saturating_add)
    }

    /// Packs it.
    pub fn encode(&self) -> Vec<u8> {
        let mut plain = Vec::new();
        let put = |plain: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|value| put_varint(plain, *value));
        put(&mut plain, &[self.time.0]);
        self.cause.encode(&mut plain);
        put(&mut plain, &[self.page, self.resident.0, self.resident.1]);
        put(&mut plain, &[self.mappings.len() as u64]);
        let mut end = 0u64;
        for one in &self.mappings {
            let flags = one.writable as u64 | (one.executable as u64) << 1 | (one.shared as u64) << 2;
            put(&mut plain, &[one.start.wrapping_sub(end), one.end.wrapping_sub(one.start), flags, one.offset]);
            put(&mut plain, &[one.path.len() as u64]);
            plain.extend_from_slice(one.path.as_bytes());
            end = one.end;
        }
        put(&mut plain, &[self.runs.len() as u64]);
        let page = self.page.max(1);
        let mut end = 0u64;
        for run in &self.runs {
            let flags = run.is_files as u64 | (run.is_huge as u64) << 1 | (run.is_swapped as u64) << 2;
            put(&mut plain, &[(run.start / page).wrapping_sub(end), run.pages, flags]);
            end = run.start / page + run.pages;
        }
        put(&mut plain, &[self.recorder.len() as u64]);
        self.recorder.iter().for_each(|(start, bytes)| put(&mut plain, &[*start, *bytes]));
        put(&mut plain, &[self.threads.len() as u64]);
        put(&mut plain, &self.threads);
        crate::compress(&plain)
    }

    /// Unpacks a payload.
    pub fn decode(payload: &[u8]) -> Result<Snapshot, Damage> {
        let plain = crate::decompress(payload, MAX_BYTES)?;
        let mut bytes = Unread::new(&plain);
        let time = Units(bytes.varint()?);
        let cause = Cause::decode(&mut bytes)?;
        let page = bytes.varint()?;
        if !page.is_power_of_two() {
            return Err(Damage::Value("pages of a size that is no power of two"));
        }
        let resident = (bytes.varint()?, bytes.varint()?);
        let beyond = || Damage::Value("addresses beyond the address space");
        let mut mappings = Vec::new();
        let mut end = 0u64;
        for _ in 0..count(&mut bytes)? {
            let start = end.checked_add(bytes.varint()?).ok_or_else(beyond)?;
            end = start.checked_add(bytes.varint()?).ok_or_else(beyond)?;
            let flags = bytes.varint()?;
            let offset = bytes.varint()?;
            let length = count(&mut bytes)?;
            let path = String::from_utf8_lossy(bytes.take(length)?).into_owned();
            let (writable, executable, shared) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
            mappings.push(Mapping { start, end, writable, executable, shared, offset, path });
        }
        let mut runs = Vec::new();
        let mut end = 0u64;
        for _ in 0..count(&mut bytes)? {
            let first = end.checked_add(bytes.varint()?).ok_or_else(beyond)?;
            let pages = bytes.varint()?;
            end = first.checked_add(pages).ok_or_else(beyond)?;
            end.checked_mul(page).ok_or_else(beyond)?;
            let flags = bytes.varint()?;
            let (is_files, is_huge, is_swapped) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
            runs.push(Run { start: first * page, pages, is_files, is_huge, is_swapped });
        }
        let mut recorder = Vec::new();
        for _ in 0..count(&mut bytes)? {
            recorder.push((bytes.varint()?, bytes.varint()?));
        }
        let mut threads = Vec::new();
        for _ in 0..count(&mut bytes)? {
            threads.push(bytes.varint()?);
        }
        Ok(Snapshot { time, cause, page, resident, mappings, runs, recorder, threads })
    }
}

/// How many entries follow: of each there is at least a byte.
fn count(bytes: &mut Unread<'_>) -> Result<usize, Damage> {
    let count = bytes.varint()?;
    usize::try_from(count).ok().filter(|count| *count <= bytes.remaining()).ok_or(Damage::Short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Snapshot {
        let mapping =
            |start, end, path: &str| Mapping { start, end, path: path.into(), writable: true, ..Mapping::default() };
        Snapshot {
            time: Units(77),
            cause: Cause::End,
            page: 4096,
            resident: (12_288, 16_384),
            mappings: vec![mapping(0x1000, 0x5000, ""), mapping(0x7000, 0x9000, "/lib/libc.so.6")],
            runs: vec![
                Run { start: 0x1000, pages: 2, ..Run::default() },
                Run { start: 0x3000, pages: 1, is_swapped: true, ..Run::default() },
                Run { start: 0x7000, pages: 1, is_files: true, ..Run::default() },
            ],
            recorder: vec![(0x8000, 4096)],
            threads: vec![0x7000_0000],
        }
    }

    #[test]
    fn a_snapshot_comes_back() {
        let snapshot = example();
        assert_eq!(snapshot.resident_bytes(), 3 * 4096);
        assert_eq!(Snapshot::decode(&snapshot.encode()).unwrap(), snapshot);
        let mark = Cause::Mark { name: "geladen ✓".into(), time: Units(70) };
        for cause in [Cause::Peak, mark, Cause::Asked, Cause::Size(2 << 30)] {
            let snapshot = Snapshot { cause, ..example() };
            assert_eq!(Snapshot::decode(&snapshot.encode()).unwrap(), snapshot);
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mark = Cause::Mark { name: "loaded".into(), time: Units(70) };
        let good = Snapshot { cause: mark, ..example() }.encode();
        for cut in 0..good.len() {
            assert!(Snapshot::decode(&good[..cut]).is_err(), "{cut}");
        }
        let with = |at: usize, value: u64| {
            let mut plain = Vec::new();
            let mut values = [1, 1, 4096, 0, 0, 0, 0, 0, 0];
            values[at] = value;
            values.iter().for_each(|value| put_varint(&mut plain, *value));
            Snapshot::decode(&crate::compress(&plain))
        };
        assert!(with(0, 5).is_ok());
        assert!(with(1, 9).is_err(), "a cause that there is not");
        assert!(with(2, 4095).is_err(), "no page has such a size");
        assert!(with(5, 1 << 40).is_err(), "more mappings than there is room for");
    }
}
