//! Which global variables are in memory, by symbol.

use memtoll_model::Recording;
use memtoll_trace::meta::{FileVariables, Module, Variable};
use memtoll_trace::symbols::path_of;
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// Memory of a file's variables at consecutive addresses, and the file that is mapped there.
pub type Written = (Range<u64>, String);

/// What is in the writable memory of a file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Symbol {
    Variable {
        name: String,
        /// Source file and line, if they are known.
        file: Option<String>,
        line: Option<u32>,
        /// First address in the file: two may have one name.
        start: u64,
    },
    /// All variables that are not kept one by one.
    Small,
    /// No symbol covers it.
    Nothing,
}

/// A global variable in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalVariable {
    pub symbol: Symbol,
    /// Path of the program or library.
    pub module: String,
    /// How much of it is in memory, bytes.
    pub bytes: u64,
    /// Bytes; `None` where no symbol says it.
    pub size: Option<u64>,
}

/// Divides written memory of image number `index` among the variables that lie there: each has the bytes that its symbol covers.
/// Most first.
pub fn by_symbol(recording: &Recording, index: usize, written: &[Written]) -> Result<Vec<GlobalVariable>, Unreadable> {
    if written.is_empty() {
        return Ok(Vec::new());
    }
    Ok(divide(written, &recording.loaded(index)?, &recording.variables(index)?))
}

fn divide(written: &[Written], modules: &[Module], variables: &[FileVariables]) -> Vec<GlobalVariable> {
    let of_files = variables.iter().map(|of| ((of.path.as_str(), of.build_id.as_str()), of));
    let of_files: FxHashMap<(&str, &str), &FileVariables> = of_files.collect();
    let mut files: FxHashMap<&str, OfFile<'_>> = FxHashMap::default();
    for (range, path) in written {
        let module = module_at(modules, range.start, path);
        let known = module.and_then(|module| of_files.get(&(module.path.as_str(), module.build_id.as_str())).copied());
        let name = module.map_or(path.as_str(), |module| module.path.as_str());
        let bias = module.map_or(0, |module| module.bias);
        files.entry(name).or_insert_with(|| OfFile::new(known)).add(range, bias);
    }
    let mut rows: Vec<GlobalVariable> = files.into_iter().flat_map(|(path, of)| of.rows(path)).collect();
    rows.sort_unstable_by(|a, b| {
        (Reverse(a.bytes), &a.module, &a.symbol).cmp(&(Reverse(b.bytes), &b.module, &b.symbol))
    });
    rows
}

/// The file that was loaded there, the last one if it was several. Its path may lead over other links than the mapping's.
fn module_at<'m>(modules: &'m [Module], address: u64, path: &str) -> Option<&'m Module> {
    let mut there = modules.iter().rev().filter(|module| (module.start..module.end).contains(&address));
    there.clone().find(|module| path_of(&module.path) == path_of(path)).or_else(|| there.next())
}

/// The memory of a file, bytes.
struct OfFile<'v> {
    known: Option<&'v FileVariables>,
    /// By index in `known.variables`.
    variables: FxHashMap<usize, u64>,
    small: u64,
    rest: u64,
}

impl<'v> OfFile<'v> {
    fn new(known: Option<&'v FileVariables>) -> OfFile<'v> {
        OfFile { known, variables: FxHashMap::default(), small: 0, rest: 0 }
    }

    fn add(&mut self, range: &Range<u64>, bias: u64) {
        let (start, end) = (range.start.wrapping_sub(bias), range.end.wrapping_sub(bias));
        let mut rest = end.saturating_sub(start);
        // In a damaged file, variables may overlap.
        let mut take = |bytes: u64| {
            let taken = bytes.min(rest);
            rest -= taken;
            taken
        };
        if let Some(known) = self.known {
            let covered = overlaps(&known.variables, start..end, |Variable { start, bytes, .. }| (*start, *bytes));
            for (index, bytes) in covered {
                *self.variables.entry(index).or_default() += take(bytes);
            }
            self.small += overlaps(&known.small, start..end, |small| *small).map(|(_, bytes)| take(bytes)).sum::<u64>();
        }
        self.rest += rest;
    }

    fn rows(self, module: &str) -> Vec<GlobalVariable> {
        let row = |symbol, bytes, size| GlobalVariable { symbol, module: module.to_owned(), bytes, size };
        let mut rows = Vec::new();
        if let Some(known) = self.known {
            for (index, bytes) in self.variables {
                let Variable { name, start, bytes: size, file, line } = known.variables[index].clone();
                rows.push(row(Symbol::Variable { name, file, line, start }, bytes, Some(size)));
            }
            let size = known.small.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
            rows.extend((self.small > 0).then(|| row(Symbol::Small, self.small, Some(size))));
        }
        rows.extend((self.rest > 0).then(|| row(Symbol::Nothing, self.rest, None)));
        rows
    }
}

/// Those of sorted ranges that share bytes with a range, by index, with how many.
fn overlaps<T>(
    all: &[T],
    range: Range<u64>,
    start_and_bytes: impl Fn(&T) -> (u64, u64),
) -> impl Iterator<Item = (usize, u64)> {
    let of = move |one: &T| {
        let (start, bytes) = start_and_bytes(one);
        start..start.saturating_add(bytes)
    };
    let first = all.partition_point(|one| of(one).end <= range.start);
    let (from, to) = (range.start, range.end);
    all[first..]
        .iter()
        .enumerate()
        .map(move |(at, one)| (first + at, of(one)))
        .take_while(move |(_, of)| of.start < to)
        .map(move |(index, of)| (index, of.end.min(to).saturating_sub(of.start.max(from))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str, start: u64, end: u64, bias: u64) -> Module {
        Module { number: 1, start, end, bias, path: path.into(), build_id: String::new() }
    }

    fn variables(path: &str, all: &[(&str, u64, u64)], small: &[(u64, u64)]) -> FileVariables {
        let all = all.iter().map(|(name, start, bytes)| Variable {
            name: (*name).into(),
            start: *start,
            bytes: *bytes,
            ..Variable::default()
        });
        FileVariables { path: path.into(), build_id: String::new(), variables: all.collect(), small: small.into() }
    }

    fn rows(of: &[GlobalVariable]) -> Vec<(&str, &str, u64, Option<u64>)> {
        let name = |symbol: &'_ Symbol| match symbol {
            Symbol::Variable { name, .. } => name.clone().leak(),
            Symbol::Small => "small",
            Symbol::Nothing => "nothing",
        };
        of.iter().map(|row| (name(&row.symbol), row.module.as_str(), row.bytes, row.size)).collect()
    }

    #[test]
    fn each_variable_has_the_bytes_that_it_covers() {
        // Pages 0x10000, 0x11000 and 0x13000 are in memory.
        let written = [(0x10000..0x12000, "/a".into()), (0x13000..0x14000, "/a".into())];
        let modules = [module("/a", 0x8000, 0x14000, 0x8000)];
        let known = [variables(
            "/a",
            &[("half", 0x8800, 0x2000), ("table", 0xa800, 0x1000), ("out", 0xc000, 0x100)],
            &[(0x8000, 0x20)],
        )];
        let found = divide(&written, &modules, &known);
        // 0x10800..0x12800 without what is above 0x12000; 0x12800..0x13800 from 0x13000 on.
        let expected = [
            ("half", "/a", 0x1800, Some(0x2000)),
            ("nothing", "/a", 0x800 - 0x20 + 0x800, None),
            ("table", "/a", 0x800, Some(0x1000)),
            ("small", "/a", 0x20, Some(0x20)),
        ];
        assert_eq!(rows(&found), {
            let mut expected = expected.to_vec();
            expected.sort_by_key(|(.., bytes, _)| Reverse(*bytes));
            expected
        });
        assert_eq!(found.iter().map(|row| row.bytes).sum::<u64>(), 0x3000);
    }

    #[test]
    fn damaged_variables_have_no_more_than_there_is() {
        let known = [variables(
            "/a",
            &[("b", 0x100, 0x5000), ("a", 0, u64::MAX), ("c", 0x10, 0x20)],
            &[(0, u64::MAX), (9, u64::MAX)],
        )];
        let found = divide(&[(0x10000..0x11000, "/a".into())], &[module("/a", 0x10000, 0x20000, 0x10000)], &known);
        assert_eq!(found.iter().map(|row| row.bytes).sum::<u64>(), 0x1000);
    }

    #[test]
    fn memory_outside_loaded_files_has_no_symbol() {
        let written = [(0x10000..0x11000, "/data".into()), (0x20000..0x21000, "/b".into())];
        let modules = [module("/old", 0x20000, 0x21000, 0x20000), module("/b", 0x20000, 0x21000, 0x20000)];
        let known = [variables("/old", &[("gone", 0, 0x1000)], &[]), variables("/b", &[("there", 0, 0x1000)], &[])];
        let found = divide(&written, &modules, &known);
        assert_eq!(rows(&found), [("there", "/b", 0x1000, Some(0x1000)), ("nothing", "/data", 0x1000, None)]);
    }
}
