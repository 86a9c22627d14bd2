//! Which code of a file is the allocator's: what a sample of the instruction pointer needs to know.
//!
//! The allocator is the functions that the recorder interposes, and what they call inside their own file. Of those only
//! the former are named in a file without symbols. What is between them is known for two kinds of files:
//! * An allocator's library is the allocator as a whole.
//! * In a C library, the allocator comes from object files of its own, whose functions stay together when they are linked.
//!   It reaches from where the function exported before it ends to where the one exported after it begins.
//!
//! ```text
//!   glibc:   timer_settime | static functions | __default_morecore … malloc … malloc_info | mcheck_check_all
//!                           ^-------------------- the allocator --------------------------^
//! ```
//! In any other file, it is the functions that the symbol table names, and static ones between them.

use std::ops::Range;

use memtoll_trace::op::{Effect, Op};
use object::{Object, ObjectSegment, ObjectSymbol};
use rustc_hash::FxHashMap;

use crate::address_ranges::merged;
use crate::own_allocator::C_LIBRARY;
use crate::symbol_table::{code_sections, without_version};

/// Libraries that are allocators. Others are known by what they export.
const LIBRARIES: &[&str] = &[
    "libjemalloc", "libtcmalloc", "libmimalloc", "libtbbmalloc", "libsnmalloc", "librpmalloc", "libhoard", "libscudo",
    "libclang_rt.scudo", "libhardened_malloc",
];

/// Functions of allocators that the recorder does not interpose.
const OTHERS: &[&str] = &[
    "__default_morecore", "__posix_memalign", "mallinfo", "mallinfo2", "mallopt", "malloc_get_state", "malloc_info",
    "malloc_set_state", "malloc_stats", "malloc_trim", "malloc_usable_size",
];
/// What begins the names of such functions in jemalloc (with the prefix of Rust's crates, too), mimalloc, snmalloc and tcmalloc.
const PREFIXES: &[&str] = &[
    "je_", "_rjem_", "mi_", "_mi_", "sn_rust_", "_ZN8snmalloc", "_ZNK8snmalloc", "tc_", "_ZN8tcmalloc",
    "_ZNK8tcmalloc", "MallocExtension_",
];
/// Functions through which a program maps memory, beside those that the recorder interposes.
const MAPPING: &[&str] = &["remap_file_pages"];
/// What glibc puts before the names of its own: `__libc_malloc`.
const GLIBC: &str = "__libc_";

/// The code of a file that is the allocator's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllocatorCode {
    addresses: Vec<Range<u64>>,
    offsets: Vec<Range<u64>>,
    /// Functions that are system calls for mappings; where they are in the file.
    mapping: Vec<Range<u64>>,
    is_partial: bool,
}

impl AllocatorCode {
    /// Where it is loaded: addresses as the file has them, without the bias. Sorted and apart.
    pub fn addresses(&self) -> &[Range<u64>] {
        &self.addresses
    }

    /// Where it is in the file, in bytes. Sorted and apart.
    pub fn offsets(&self) -> &[Range<u64>] {
        &self.offsets
    }

    /// Whether code at an address, as the file has them, is the allocator's.
    pub fn has_address(&self, address: u64) -> bool {
        contains(&self.addresses, address)
    }

    /// Whether code at this place in the file, in bytes, is the allocator's.
    pub fn has_offset(&self, offset: u64) -> bool {
        contains(&self.offsets, offset)
    }

    /// Whether code at this place in the file, in bytes, is a function that is a system call for mappings: `mmap`, `brk`,
    /// `madvise`.
    pub fn maps_at_offset(&self, offset: u64) -> bool {
        contains(&self.mapping, offset)
    }

    /// Whether the file has no allocator.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// Whether there is a `malloc` in the file, but the names of the functions that it calls were stripped.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// `name` is that of the file, without its folder. `symbols` is the file with the symbol table, if there is one.
    pub(crate) fn of(file: &object::File<'_>, symbols: Option<&object::File<'_>>, name: &str) -> AllocatorCode {
        let exported = functions(file, file.dynamic_symbols());
        let named = |functions: &[Function<'_>], name: &str| functions.iter().any(|function| function.name == name);
        let is_c_library = |functions: &[Function<'_>]| named(functions, C_LIBRARY);
        let is_library = named(&exported, "malloc")
            && !named(&exported, "main")
            && !is_c_library(&exported)
            && (LIBRARIES.iter().any(|library| name.starts_with(library)) || most_allocate(&exported));
        let mut is_partial = false;
        let ranges = if is_library {
            code_sections(file).into_values().collect()
        } else if is_c_library(&exported) {
            runs(&exported, Between::All)
        } else if let Some(symbols) = symbols {
            let all = functions(symbols, symbols.symbols());
            runs(&all, if is_c_library(&all) { Between::All } else { Between::Runs })
        } else {
            is_partial = named(&exported, "malloc");
            runs(&exported, Between::Nothing)
        };
        let addresses = merged(ranges);
        let offsets = |addresses: &[Range<u64>]| -> Vec<Range<u64>> {
            merged(addresses.iter().flat_map(|range| in_file(file, range)).collect())
        };
        let maps = |function: &&Function<'_>| {
            MAPPING.contains(&function.name) || Op::of_symbol(function.name).is_some_and(Op::is_mapping)
        };
        let mapping: Vec<Range<u64>> = exported.iter().filter(maps).map(|own| own.start..own.end).collect();
        AllocatorCode { offsets: offsets(&addresses), mapping: offsets(&merged(mapping)), addresses, is_partial }
    }
}

fn contains(ranges: &[Range<u64>], at: u64) -> bool {
    let after = ranges.partition_point(|range| range.start <= at);
    after > 0 && at < ranges[after - 1].end
}

/// A function that other files can name.
struct Function<'a> {
    start: u64,
    end: u64,
    name: &'a str,
    /// It is the allocator's.
    allocates: bool,
}

/// The global functions of a symbol table, by address.
fn functions<'data: 'file, 'file>(
    file: &object::File<'data>,
    symbols: impl Iterator<Item = object::Symbol<'data, 'file>>,
) -> Vec<Function<'data>> {
    let code = code_sections(file);
    let mut functions: Vec<Function<'data>> = symbols
        .filter(|symbol| !symbol.is_local() && symbol.section_index().is_some_and(|index| code.contains_key(&index)))
        .filter_map(|symbol| {
            let name = without_version(symbol.name().ok()?);
            let start = symbol.address();
            Some(Function { start, end: start.saturating_add(symbol.size()), name, allocates: allocates(name) })
        })
        .collect();
    functions.sort_by_key(|function| function.start);
    // Of several names of one function, one is enough to know that it is the allocator's.
    let mut by_start: FxHashMap<u64, bool> = FxHashMap::default();
    for function in &functions {
        *by_start.entry(function.start).or_default() |= function.allocates;
    }
    for function in &mut functions {
        function.allocates = by_start[&function.start];
    }
    functions
}

/// Whether a function of this name is an allocator's.
pub(crate) fn allocates(name: &str) -> bool {
    let name = name.strip_prefix(GLIBC).unwrap_or(name);
    let interposed = |op: Op| !op.is_pooled() && matches!(op.effect(), Effect::Acquire | Effect::Release);
    Op::of_symbol(name).is_some_and(interposed)
        || OTHERS.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether this is what a file exports above all.
fn most_allocate(exported: &[Function<'_>]) -> bool {
    exported.iter().filter(|function| function.allocates).count() * 2 > exported.len()
}

/// How much of what no global name covers is the allocator's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    /// None: too much of the file has no name.
    Nothing,
    /// What is between two functions of the allocator with nothing else of a name in between.
    Runs,
    /// That, and what is before and after, up to the next functions.
    All,
}

/// The functions of the allocator, and what is between them.
fn runs(functions: &[Function<'_>], between: Between) -> Vec<Range<u64>> {
    if between == Between::Nothing {
        return functions.iter().filter(|function| function.allocates).map(|own| own.start..own.end).collect();
    }
    let end = |run: &[Function<'_>]| run.iter().map(|function| function.end).max();
    let mut ranges = Vec::new();
    let mut before = None;
    let chunks: Vec<&[Function<'_>]> = functions.chunk_by(|a, b| a.allocates == b.allocates).collect();
    for (index, run) in chunks.iter().enumerate() {
        let own = run[0].start..end(run).unwrap_or_default();
        if run[0].allocates {
            let next = chunks.get(index + 1).map_or(own.end, |next| next[0].start);
            ranges.push(match between {
                Between::All => before.unwrap_or(own.start).min(own.start)..next.max(own.end),
                _ => own.clone(),
            });
        }
        before = Some(own.end);
    }
    ranges
}

fn in_file<'a>(file: &'a object::File<'_>, addresses: &Range<u64>) -> impl Iterator<Item = Range<u64>> + use<'a> {
    let addresses = addresses.clone();
    file.segments().filter_map(move |segment| {
        let (offset, length) = segment.file_range();
        let base = segment.address();
        let from = addresses.start.max(base);
        let to = addresses.end.min(base.saturating_add(length));
        (from < to).then(|| offset.saturating_add(from - base)..offset.saturating_add(to - base))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(start: u64, end: u64, allocates: bool) -> Function<'static> {
        Function { start, end, name: "", allocates }
    }

    #[test]
    fn names_of_allocators() {
        let yes = ["malloc", "__libc_free", "_ZnwmSt11align_val_t", "_ZdlPv", "malloc_info", "mi_heap_new", "cfree"];
        let no = ["mcheck", "obstack_free", "munmap", "strdup", "memtoll_alloc", "main", "_ZN8tcmallo1E", "freelocale"];
        assert!(yes.into_iter().all(allocates));
        assert!(!no.into_iter().any(allocates));
    }

    #[test]
    fn what_is_between_functions() {
        let all = [
            function(10, 20, false),
            function(30, 40, true),
            function(50, 60, true),
            function(70, 80, false),
            function(90, 95, true),
        ];
        assert_eq!(runs(&all, Between::Nothing), [30..40, 50..60, 90..95]);
        assert_eq!(runs(&all, Between::Runs), [30..60, 90..95]);
        assert_eq!(runs(&all, Between::All), [20..70, 80..95]);
    }

    #[test]
    fn addresses_lie_in_ranges_or_between() {
        let code = AllocatorCode { addresses: vec![1..4, 5..9], ..AllocatorCode::default() };
        let found: Vec<u64> = (0..11).filter(|at| code.has_address(*at)).collect();
        assert_eq!(found, [1, 2, 3, 5, 6, 7, 8]);
    }
}
