//! Names of code made at run time.

use crate::Frame;
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

    /// The function there, with its line where the name tells that.
    pub fn frame(&self, address: u64) -> Option<Frame> {
        self.lookup(address).map(|name| of_v8(name).unwrap_or_else(|| Frame::without_line(name.to_owned())))
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

/// V8 (node, Chromium, deno) names a function `JS:*resize /srv/images.js:3:14`: kind, a mark for how it was compiled, the function's
/// own name, which may have spaces, or none, file, line and column. The same function compiled in another way is the same.
fn of_v8(name: &str) -> Option<Frame> {
    const KINDS: [&str; 6] = ["JS", "Eval", "Function", "LazyCompile", "Script", "Module"];
    const MARKS: [char; 4] = ['~', '^', '+', '*'];
    let (kind, rest) = name.split_once(':')?;
    let rest = rest.strip_prefix(MARKS).filter(|_| KINDS.contains(&kind))?;
    let (rest, column) = rest.rsplit_once(':')?;
    let (rest, line) = rest.rsplit_once(':')?;
    let line: u32 = line.parse().ok().filter(|_| column.bytes().all(|byte| byte.is_ascii_digit()))?;
    // A path may have spaces, too.
    let begins = [" /", " node:", " file:"].iter().filter_map(|begin| rest.find(begin)).min();
    let (function, file) = rest.split_at(begins.or_else(|| rest.rfind(' '))?);
    let file = file.trim_start();
    let function = if function.is_empty() { "<anonymous>" } else { function };
    let file = (!file.is_empty()).then(|| file.to_owned());
    Some(Frame { line: file.as_ref().map(|_| line), file, ..Frame::without_line(function.to_owned()) })
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

    /// Lines that node 20 wrote with `--perf-basic-prof --interpreted-frames-native-stack`, and Java's `jcmd PID Compiler.perfmap`.
    #[test]
    fn runtimes_names_are_functions_and_lines() {
        let lines = [
            ("JS:*deep /tmp/n.js:3:14", "deep", "/tmp/n.js:3"),
            ("JS:~deep /tmp/n.js:3:14", "deep", "/tmp/n.js:3"),
            ("JS:^ZlibBase._flush node:zlib:304:37", "ZlibBase._flush", "node:zlib:304"),
            ("JS:~ node:internal/crypto/hash:81:3", "<anonymous>", "node:internal/crypto/hash:81"),
            ("JS:^#one /tmp/n.js:2:117", "#one", "/tmp/n.js:2"),
            ("JS:~get size /tmp/n.js:2:203", "get size", "/tmp/n.js:2"),
            ("JS:~get(x) /tmp/my files/n.js:6:106", "get(x)", "/tmp/my files/n.js:6"),
            (
                "JS:~<instance_members_initializer> node:internal/crypto/x509:97:1",
                "<instance_members_initializer>",
                "node:internal/crypto/x509:97",
            ),
            ("Eval:~ node:internal/main/run_main_module:1:1", "<anonymous>", "node:internal/main/run_main_module:1"),
            ("Eval:~ :1:1", "<anonymous>", ""),
            ("LazyCompile:~add app.js:3:1", "add", "app.js:3"),
            ("Builtin:ArrayPrototypePush", "Builtin:ArrayPrototypePush", ""),
            ("BytecodeHandler:LdaZero", "BytecodeHandler:LdaZero", ""),
            ("JS:~damaged", "JS:~damaged", ""),
            (
                "boolean java.lang.String.equals(java.lang.Object)",
                "boolean java.lang.String.equals(java.lang.Object)",
                "",
            ),
            ("StubRoutines (1)", "StubRoutines (1)", ""),
        ];
        for (name, function, place) in lines {
            let frame = PerfMap::parse(&format!("7f00 10 {name}\n")).frame(0x7f08).unwrap();
            let line = frame.line.map(|line| format!(":{line}")).unwrap_or_default();
            assert_eq!((frame.function.as_str(), frame.file.unwrap_or_default() + &line), (function, place.to_owned()));
        }
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
