//! Names of code made at run time.

use std::collections::BTreeMap;

/// The names that a runtime with a just-in-time compiler writes to `/tmp/perf-PID.map`.
///
/// Each line is `START SIZE NAME`, the numbers in hexadecimal: START an address in the process, SIZE in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PerfMap {
    /// Ranges that do not overlap, by their start.
    ranges: BTreeMap<u64, Range>,
    names: Vec<Box<str>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    /// First address after the range.
    end: u64,
    /// Index into `names`.
    name: usize,
}

impl PerfMap {
    /// Reads the text of a map file. Lines that cannot be understood are skipped: the process may have been killed while
    /// it wrote one.
    pub fn parse(text: &str) -> PerfMap {
        let mut map = PerfMap::default();
        for (start, end, name) in text.lines().filter_map(parse_line) {
            let index = map.names.len();
            map.names.push(name.into());
            map.insert(start, Range { end, name: index });
        }
        map
    }

    /// Name of the code at an address of the process.
    pub fn lookup(&self, address: u64) -> Option<&str> {
        let (_, range) = self.ranges.range(..=address).next_back()?;
        if address >= range.end {
            return None;
        }
        self.names.get(range.name).map(|name| &**name)
    }

    /// Adds a range over those there already: a runtime reuses the memory of code which it has thrown away, and appends
    /// the new name.
    fn insert(&mut self, start: u64, new: Range) {
        if let Some((_, before)) = self.ranges.range_mut(..start).next_back() {
            let old = *before;
            if old.end > start {
                before.end = start;
            }
            if old.end > new.end {
                self.ranges.insert(new.end, old);
            }
        }
        while let Some((&covered, &old)) = self.ranges.range(start..new.end).next() {
            self.ranges.remove(&covered);
            if old.end > new.end {
                self.ranges.insert(new.end, old);
            }
        }
        self.ranges.insert(start, new);
    }
}

fn parse_line(line: &str) -> Option<(u64, u64, &str)> {
    let (start, rest) = line.trim().split_once(char::is_whitespace)?;
    let (size, name) = rest.trim_start().split_once(char::is_whitespace)?;
    let start = parse_hex(start)?;
    let end = start.checked_add(parse_hex(size)?)?;
    let name = name.trim();
    (end > start && !name.is_empty()).then_some((start, end, name))
}

fn parse_hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    // `from_str_radix` would accept a sign.
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::PerfMap;

    #[test]
    fn finds_names_with_spaces_by_address() {
        let map = PerfMap::parse("7f00 10 LazyCompile:*add app.js:3\n0x7f20 0x8 other\n");
        assert_eq!(map.lookup(0x7eff), None);
        assert_eq!(map.lookup(0x7f00), Some("LazyCompile:*add app.js:3"));
        assert_eq!(map.lookup(0x7f0f), Some("LazyCompile:*add app.js:3"));
        assert_eq!(map.lookup(0x7f10), None);
        assert_eq!(map.lookup(0x7f27), Some("other"));
        assert_eq!(map.lookup(u64::MAX), None);
    }

    #[test]
    fn later_lines_replace_earlier_ones() {
        let map = PerfMap::parse("100 100 old\n140 20 new\n1f0 20 tail\n");
        assert_eq!(map.lookup(0x13f), Some("old"));
        assert_eq!(map.lookup(0x140), Some("new"));
        assert_eq!(map.lookup(0x15f), Some("new"));
        assert_eq!(map.lookup(0x160), Some("old"));
        assert_eq!(map.lookup(0x1ef), Some("old"));
        assert_eq!(map.lookup(0x1f0), Some("tail"));
        let covered = PerfMap::parse("110 10 a\n130 10 b\n100 100 all\n");
        assert_eq!(covered.lookup(0x118), Some("all"));
        assert_eq!(covered.lookup(0x138), Some("all"));
        assert_eq!(covered.lookup(0x1ff), Some("all"));
    }

    #[test]
    fn damaged_lines_are_skipped() {
        let text = "\n \nzz 10 bad\n100\n100 10\n100 10 \n+100 10 sign\nffffffffffffffff 10 overflow\n\
                    11111111111111111 1 long\n100 0 empty\n200 10 good\r\n300 10 cut o";
        let map = PerfMap::parse(text);
        assert_eq!(map.lookup(0x100), None);
        assert_eq!(map.lookup(0x205), Some("good"));
        assert_eq!(map.lookup(0x305), Some("cut o"));
        assert_eq!(PerfMap::parse("").lookup(0), None);
    }
}
