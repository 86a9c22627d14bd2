//! Function names from `.symtab` and `.dynsym`.

use std::ops::Range;

use object::{Object, ObjectSection, ObjectSymbol, SectionIndex, SectionKind, SymbolKind};
use rustc_hash::FxHashMap;

/// How many symbols before an address are looked at to find the one around it. More than one is needed only where
/// functions lie within functions, as in hand-written assembly.
const NESTED_SYMBOLS: usize = 16;

/// Functions of a file by address.
#[derive(Debug, Default)]
pub(crate) struct SymbolTable<'data> {
    /// Sorted by `start`, one entry for each start.
    symbols: Vec<Symbol<'data>>,
}

#[derive(Debug)]
pub(crate) struct Symbol<'data> {
    pub(crate) start: u64,
    /// First address after the function.
    end: u64,
    /// Whether the file says where it ends.
    pub(crate) has_size: bool,
    pub(crate) name: &'data str,
    preference: Preference,
}

/// Which of several names at one address is the one to show comes first: by binding, leading underscores, length.
pub(crate) type Preference = (Binding, usize, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Binding {
    Global,
    Weak,
    Local,
}

impl<'data> SymbolTable<'data> {
    /// The functions of `.symtab`.
    pub(crate) fn full(file: &object::File<'data>) -> Self {
        Self::new(file, file.symbols())
    }

    /// The functions of `.dynsym`: those that other files can call.
    pub(crate) fn dynamic(file: &object::File<'data>) -> Self {
        Self::new(file, file.dynamic_symbols())
    }

    /// Whether the table names no function at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The function around an address, named as it stands in the file.
    pub(crate) fn lookup(&self, address: u64) -> Option<&Symbol<'data>> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        self.symbols[..after].iter().rev().take(NESTED_SYMBOLS).find(|symbol| address < symbol.end)
    }

    fn new<'file>(file: &'file object::File<'data>, all: impl Iterator<Item = object::Symbol<'data, 'file>>) -> Self
    where
        'data: 'file,
    {
        let code = code_sections(file);
        let mut symbols: Vec<Symbol<'data>> = Vec::new();
        let mut section_ends: Vec<u64> = Vec::new();
        for symbol in all {
            let section_end = symbol.section_index().and_then(|index| code.get(&index)).map(|section| section.end);
            let is_function = match symbol.kind() {
                SymbolKind::Text => symbol.is_definition(),
                // Functions in assembly often have no type.
                SymbolKind::Unknown => section_end.is_some(),
                _ => false,
            };
            let Ok(name) = symbol.name() else { continue };
            if !is_function || is_label(name) {
                continue;
            }
            let start = symbol.address();
            let name = without_version(name);
            let end = start.saturating_add(symbol.size());
            symbols.push(Symbol { start, end, has_size: end > start, name, preference: preference(&symbol, name) });
            if symbol.size() == 0 {
                section_ends.push(section_end.unwrap_or(start));
            }
        }
        section_ends.sort_unstable();
        section_ends.dedup();
        symbols.sort_unstable_by(|a, b| {
            let key = |s: &Symbol<'data>| (s.start, s.end == s.start, s.preference);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(b.name))
        });
        symbols.dedup_by_key(|symbol| symbol.start);
        give_sizes(&mut symbols, &section_ends);
        SymbolTable { symbols }
    }
}

/// Symbols without a size reach to the next symbol, or to the end of their section. Those inside another function are
/// labels and are dropped.
fn give_sizes(symbols: &mut Vec<Symbol<'_>>, section_ends: &[u64]) {
    let mut covered_to = 0;
    symbols.retain(|symbol| {
        let is_label = symbol.end == symbol.start && symbol.start < covered_to;
        covered_to = covered_to.max(symbol.end);
        !is_label
    });
    let mut next_start = u64::MAX;
    for symbol in symbols.iter_mut().rev() {
        if symbol.end == symbol.start {
            let at = section_ends.partition_point(|end| *end <= symbol.start);
            let section_end = section_ends.get(at).copied().unwrap_or(symbol.start);
            symbol.end = next_start.min(section_end);
        }
        next_start = symbol.start;
    }
}

/// The addresses of each section that holds code. In a file with only debug information the sections have lost their
/// contents, but not their flags.
pub(crate) fn code_sections(file: &object::File<'_>) -> FxHashMap<SectionIndex, Range<u64>> {
    file.sections()
        .filter(is_code)
        .map(|section| (section.index(), section.address()..section.address().saturating_add(section.size())))
        .collect()
}

fn is_code(section: &object::Section<'_, '_>) -> bool {
    if section.kind() == SectionKind::Text {
        return true;
    }
    match section.flags() {
        object::SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & object::elf::SHF_EXECINSTR.0 != 0,
        _ => false,
    }
}

/// Names that mark places, such as `$x` and `.L1`, or nothing.
pub(crate) fn is_label(name: &str) -> bool {
    name.is_empty() || name.starts_with(['$', '.'])
}

pub(crate) fn preference(symbol: &object::Symbol<'_, '_>, name: &str) -> Preference {
    let binding = match symbol.is_local() {
        true => Binding::Local,
        false if symbol.is_weak() => Binding::Weak,
        false => Binding::Global,
    };
    (binding, underscores(name), name.len())
}

/// `memcpy@@GLIBC_2.14` is `memcpy`.
pub(crate) fn without_version(name: &str) -> &str {
    match name.find('@') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    }
}

/// Of `malloc` and `__libc_malloc` the one without underscores is the one that programs call.
fn underscores(name: &str) -> usize {
    name.bytes().take_while(|b| *b == b'_').count()
}
