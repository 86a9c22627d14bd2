//! Global variables and static locals from `.symtab` or `.dynsym`.

use std::path::Path;

use memtoll_trace::meta::{FileVariables, Variable};
use object::{Object, ObjectSection, ObjectSymbol, SectionIndex, SymbolKind};
use rustc_hash::FxHashSet;

use crate::build_id::bytes;
use crate::demangle::{demangle, is_mangled};
use crate::symbol_table::{is_label, preference, without_version};
use crate::{ModuleFile, Resolver};

/// Smaller variables are not kept one by one: most are vtables and flags, of which large programs have ten thousands. Bytes.
const SMALLEST: u64 = 256;
/// Between small variables that lie closer, there is nothing but padding. Bytes.
const PADDING: u64 = 64;

/// The variables in the writable memory of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Variables {
    /// By address; no two overlap.
    pub(crate) all: Vec<Variable>,
    /// First addresses and bytes of where those smaller than 256 bytes lie, those that follow each other together.
    pub(crate) small: Vec<(u64, u64)>,
}

/// A symbol of a variable.
struct Symbol<'data> {
    start: u64,
    end: u64,
    name: &'data str,
}

/// The variables of the first file that names any in its symbol table, or those that `own` exports.
pub(crate) fn find<'data>(own: Option<&object::File<'data>>, separate: Option<&object::File<'data>>) -> Variables {
    let full = own.into_iter().chain(separate).map(|file| symbols(file, file.symbols()));
    let exported = own.into_iter().map(|file| symbols(file, file.dynamic_symbols()));
    full.chain(exported).find(|symbols| !symbols.is_empty()).map(Variables::new).unwrap_or_default()
}

/// Sorted; where several overlap, each has what the ones before it leave.
fn symbols<'data, 'file>(
    file: &'file object::File<'data>,
    all: impl Iterator<Item = object::Symbol<'data, 'file>>,
) -> Vec<Symbol<'data>>
where
    'data: 'file,
{
    let writable = writable_sections(file);
    let mut found: Vec<_> = all
        .filter(|symbol| matches!(symbol.kind(), SymbolKind::Data | SymbolKind::Unknown) && symbol.size() > 0)
        .filter(|symbol| symbol.section_index().is_some_and(|section| writable.contains(&section)))
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !is_label(name))?;
            let name = without_version(name);
            let (start, end) = (symbol.address(), symbol.address().saturating_add(symbol.size()));
            Some((preference(&symbol, name), Symbol { start, end, name }))
        })
        .collect();
    found.sort_unstable_by(|(a, one), (b, other)| {
        (one.start, other.end, a).cmp(&(other.start, one.end, b)).then_with(|| one.name.cmp(other.name))
    });
    let mut covered = 0;
    let left = found.into_iter().filter_map(|(_, mut symbol)| {
        symbol.start = symbol.start.max(covered);
        covered = covered.max(symbol.end);
        (symbol.start < symbol.end).then_some(symbol)
    });
    left.collect()
}

/// In a file with only debug information the sections have lost their contents, but not their flags.
fn writable_sections(file: &object::File<'_>) -> FxHashSet<SectionIndex> {
    let is_writable = |section: &object::Section<'_, '_>| match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => {
            sh_flags.0 & object::elf::SHF_WRITE.0 != 0 && sh_flags.0 & object::elf::SHF_TLS.0 == 0
        }
        _ => false,
    };
    file.sections().filter(is_writable).map(|section| section.index()).collect()
}

impl Variables {
    fn new(symbols: Vec<Symbol<'_>>) -> Variables {
        let mut variables = Variables::default();
        for Symbol { start, end, name } in symbols {
            match (end - start, variables.small.last_mut()) {
                (bytes @ SMALLEST.., _) => {
                    variables.all.push(Variable { name: shown(name), start, bytes, file: None, line: None });
                }
                (_, Some((first, bytes)))
                    if start - (*first + *bytes) < PADDING
                        && variables.all.last().is_none_or(|last| last.start < *first) =>
                {
                    *bytes = end - *first;
                }
                (bytes, _) => variables.small.push((start, bytes)),
            }
        }
        variables
    }
}

/// Those of the file with this path and build id; `None` if nothing names any.
pub fn variables_of(resolver: &Resolver, path: &str, build_id: &str) -> Option<FileVariables> {
    let id = bytes(build_id);
    let Variables { all, small } = resolver.variables(&ModuleFile { path: Path::new(path), build_id: &id });
    let is_named = !all.is_empty() || !small.is_empty();
    is_named.then(|| FileVariables { path: path.to_owned(), build_id: build_id.to_owned(), variables: all, small })
}

/// A name as a programmer writes it: compilers number the static locals of C.
fn shown(name: &str) -> String {
    let plain = match name.rsplit_once('.') {
        Some((plain, number)) if !is_mangled(name) && number.bytes().all(|byte| byte.is_ascii_digit()) => plain,
        _ => name,
    };
    demangle(if plain.is_empty() { name } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(symbols: &[(u64, u64, &'static str)]) -> Variables {
        Variables::new(symbols.iter().map(|(start, end, name)| Symbol { start: *start, end: *end, name }).collect())
    }

    #[test]
    fn small_variables_are_ranges() {
        let found = found(&[
            (0, 8, "a"),
            (16, 24, "b"),
            (88, 90, "c"),
            (0x1000, 0x1100, "large"),
            (0x1100, 0x11ff, "d"),
            (0x11ff, 0x1200, "e"),
        ]);
        assert_eq!(found.small, [(0, 24), (88, 2), (0x1100, 0x100)]);
        assert_eq!(
            found.all.iter().map(|of| (of.name.as_str(), of.start, of.bytes)).collect::<Vec<_>>(),
            [("large", 0x1000, 256)]
        );
    }

    #[test]
    fn small_variables_on_both_sides_of_a_large_one_are_apart() {
        let found = found(&[(0, 8, "a"), (8, 8 + 256, "large"), (264, 272, "b")]);
        assert_eq!(found.small, [(0, 8), (264, 8)]);
    }

    #[test]
    fn names_are_those_of_the_source() {
        let names = [
            ("buffer.0", "buffer"),
            ("counter.2345", "counter"),
            ("table", "table"),
            ("a.b", "a.b"),
            (".0", ".0"),
            ("_ZN3app5tableE", "app::table"),
            ("_ZZ4fillvE6buffer", "fill()::buffer"),
            ("_ZN12_GLOBAL__N_15countE", "(anonymous namespace)::count"),
        ];
        for (symbol, name) in names {
            assert_eq!(shown(symbol), name);
        }
    }
}
