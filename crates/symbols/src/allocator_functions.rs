//! What functions of allocators do, and which of their arguments say what: by name, without the prefix of the allocator.

use memtoll_trace::op::Op;
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// How a function is called, and what it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Returns a block.
    Acquires,
    /// Returns a block, and gives back another one.
    Reallocates,
    /// Gives back a block.
    Releases,
    /// Leaves a block where its first argument points.
    PosixMemalign,
    /// jemalloc's `xallocx`: the block stays where it is.
    Xallocx,
}

/// A function of an allocator. Arguments are numbered from 0 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The operation that its calls are.
    pub op: Op,
    /// What it returns.
    pub form: Form,
    /// How many arguments it has.
    pub arguments: u8,
    /// The argument that says how many bytes are wanted.
    pub size: Option<u8>,
    /// What that is multiplied with.
    pub count: Option<u8>,
    /// The alignment, bytes.
    pub alignment: Option<u8>,
    /// jemalloc's flags.
    pub flags: Option<u8>,
    /// The block that is given back.
    pub block: Option<u8>,
}

/// What a letter of a signature says of an argument: `b`lock, `c`ount, `s`ize, `a`lignment, jemalloc's `f`lags, anything else.
fn signature(op: Op, form: Form, letters: &str) -> Signature {
    let find = |letter| letters.find(letter).and_then(|at| u8::try_from(at).ok());
    Signature {
        op,
        form,
        arguments: letters.len() as u8,
        size: find('s'),
        count: find('c'),
        alignment: find('a'),
        flags: find('f'),
        block: find('b'),
    }
}

use Form::{Acquires, PosixMemalign, Reallocates, Releases, Xallocx};

/// What C and C++ call them. Where there are several names, the first one is the operation's.
const OF_C: &[(Op, Form, &str)] = &[
    (Op::MALLOC, Acquires, "s"),
    (Op::CALLOC, Acquires, "cs"),
    (Op::REALLOC, Reallocates, "bs"),
    (Op::REALLOCARRAY, Reallocates, "bcs"),
    (Op::POSIX_MEMALIGN, PosixMemalign, "pas"),
    (Op::ALIGNED_ALLOC, Acquires, "as"),
    (Op::MEMALIGN, Acquires, "as"),
    (Op::VALLOC, Acquires, "s"),
    (Op::PVALLOC, Acquires, "s"),
    (Op::FREE, Releases, "b"),
    (Op::CFREE, Releases, "b"),
    (Op::FREE_SIZED, Releases, "bs"),
    (Op::FREE_ALIGNED_SIZED, Releases, "bas"),
    (Op::NEW, Acquires, "s"),
    (Op::NEW_ARRAY, Acquires, "s"),
    (Op::NEW_NOTHROW, Acquires, "st"),
    (Op::NEW_ARRAY_NOTHROW, Acquires, "st"),
    (Op::NEW_ALIGNED, Acquires, "sa"),
    (Op::NEW_ARRAY_ALIGNED, Acquires, "sa"),
    (Op::NEW_ALIGNED_NOTHROW, Acquires, "sat"),
    (Op::NEW_ARRAY_ALIGNED_NOTHROW, Acquires, "sat"),
    (Op::DELETE, Releases, "b"),
    (Op::DELETE_ARRAY, Releases, "b"),
    (Op::DELETE_SIZED, Releases, "bs"),
    (Op::DELETE_ARRAY_SIZED, Releases, "bs"),
    (Op::DELETE_NOTHROW, Releases, "bt"),
    (Op::DELETE_ARRAY_NOTHROW, Releases, "bt"),
    (Op::DELETE_ALIGNED, Releases, "ba"),
    (Op::DELETE_ARRAY_ALIGNED, Releases, "ba"),
    (Op::DELETE_SIZED_ALIGNED, Releases, "bsa"),
    (Op::DELETE_ARRAY_SIZED_ALIGNED, Releases, "bsa"),
    (Op::DELETE_ALIGNED_NOTHROW, Releases, "bat"),
    (Op::DELETE_ARRAY_ALIGNED_NOTHROW, Releases, "bat"),
];

/// What jemalloc has beside these, with and without a prefix.
const OF_JEMALLOC: &[(&str, Op, Form, &str)] = &[
    ("mallocx", Op::MALLOCX, Acquires, "sf"),
    ("rallocx", Op::RALLOCX, Reallocates, "bsf"),
    ("xallocx", Op::XALLOCX, Xallocx, "bsef"),
    ("dallocx", Op::DALLOCX, Releases, "bf"),
    ("sdallocx", Op::SDALLOCX, Releases, "bsf"),
];

/// What others have behind their prefixes.
const PREFIXED: &[(&str, Op, Form, &str)] = &[
    // mimalloc
    ("malloc_small", Op::MALLOC, Acquires, "s"),
    ("mallocn", Op::MALLOC, Acquires, "cs"),
    ("zalloc", Op::ZALLOC, Acquires, "s"),
    ("zalloc_small", Op::ZALLOC, Acquires, "s"),
    ("malloc_aligned", Op::MALLOC_ALIGNED, Acquires, "sa"),
    ("malloc_aligned_at", Op::MALLOC_ALIGNED, Acquires, "sao"),
    ("zalloc_aligned", Op::ZALLOC_ALIGNED, Acquires, "sa"),
    ("zalloc_aligned_at", Op::ZALLOC_ALIGNED, Acquires, "sao"),
    ("calloc_aligned", Op::ZALLOC_ALIGNED, Acquires, "csa"),
    ("calloc_aligned_at", Op::ZALLOC_ALIGNED, Acquires, "csao"),
    ("reallocn", Op::REALLOCARRAY, Reallocates, "bcs"),
    ("reallocf", Op::REALLOC, Reallocates, "bs"),
    ("rezalloc", Op::REALLOC, Reallocates, "bs"),
    ("recalloc", Op::REALLOCARRAY, Reallocates, "bcs"),
    ("realloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "bsa"),
    ("realloc_aligned_at", Op::REALLOC_ALIGNED, Reallocates, "bsao"),
    ("rezalloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "bsa"),
    ("rezalloc_aligned_at", Op::REALLOC_ALIGNED, Reallocates, "bsao"),
    ("recalloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "bcsa"),
    ("recalloc_aligned_at", Op::REALLOC_ALIGNED, Reallocates, "bcsao"),
    ("new", Op::NEW, Acquires, "s"),
    ("new_n", Op::NEW_ARRAY, Acquires, "cs"),
    ("new_nothrow", Op::NEW_NOTHROW, Acquires, "s"),
    ("new_aligned", Op::NEW_ALIGNED, Acquires, "sa"),
    ("new_aligned_nothrow", Op::NEW_ALIGNED_NOTHROW, Acquires, "sa"),
    ("new_realloc", Op::REALLOC, Reallocates, "bs"),
    ("new_reallocn", Op::REALLOCARRAY, Reallocates, "bcs"),
    ("free_size", Op::FREE_SIZED, Releases, "bs"),
    ("free_aligned", Op::FREE, Releases, "ba"),
    ("free_size_aligned", Op::FREE_ALIGNED_SIZED, Releases, "bsa"),
    // The same of a heap, which is the first argument.
    ("heap_malloc", Op::MALLOC, Acquires, "hs"),
    ("heap_malloc_small", Op::MALLOC, Acquires, "hs"),
    ("heap_mallocn", Op::MALLOC, Acquires, "hcs"),
    ("heap_calloc", Op::CALLOC, Acquires, "hcs"),
    ("heap_zalloc", Op::ZALLOC, Acquires, "hs"),
    ("heap_malloc_aligned", Op::MALLOC_ALIGNED, Acquires, "hsa"),
    ("heap_malloc_aligned_at", Op::MALLOC_ALIGNED, Acquires, "hsao"),
    ("heap_zalloc_aligned", Op::ZALLOC_ALIGNED, Acquires, "hsa"),
    ("heap_zalloc_aligned_at", Op::ZALLOC_ALIGNED, Acquires, "hsao"),
    ("heap_calloc_aligned", Op::ZALLOC_ALIGNED, Acquires, "hcsa"),
    ("heap_calloc_aligned_at", Op::ZALLOC_ALIGNED, Acquires, "hcsao"),
    ("heap_realloc", Op::REALLOC, Reallocates, "hbs"),
    ("heap_reallocn", Op::REALLOCARRAY, Reallocates, "hbcs"),
    ("heap_reallocf", Op::REALLOC, Reallocates, "hbs"),
    ("heap_rezalloc", Op::REALLOC, Reallocates, "hbs"),
    ("heap_recalloc", Op::REALLOCARRAY, Reallocates, "hbcs"),
    ("heap_realloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "hbsa"),
    ("heap_realloc_aligned_at", Op::REALLOC_ALIGNED, Reallocates, "hbsao"),
    ("heap_rezalloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "hbsa"),
    ("heap_recalloc_aligned", Op::REALLOC_ALIGNED, Reallocates, "hbcsa"),
    ("heap_alloc_new", Op::NEW, Acquires, "hs"),
    ("heap_alloc_new_n", Op::NEW_ARRAY, Acquires, "hcs"),
    // tcmalloc
    ("malloc_skip_new_handler", Op::MALLOC, Acquires, "s"),
    ("newarray", Op::NEW_ARRAY, Acquires, "s"),
    ("newarray_nothrow", Op::NEW_ARRAY_NOTHROW, Acquires, "st"),
    ("newarray_aligned", Op::NEW_ARRAY_ALIGNED, Acquires, "sa"),
    ("newarray_aligned_nothrow", Op::NEW_ARRAY_ALIGNED_NOTHROW, Acquires, "sat"),
    ("delete", Op::DELETE, Releases, "b"),
    ("delete_sized", Op::DELETE_SIZED, Releases, "bs"),
    ("delete_nothrow", Op::DELETE_NOTHROW, Releases, "bt"),
    ("delete_aligned", Op::DELETE_ALIGNED, Releases, "ba"),
    ("delete_sized_aligned", Op::DELETE_SIZED_ALIGNED, Releases, "bsa"),
    ("delete_aligned_nothrow", Op::DELETE_ALIGNED_NOTHROW, Releases, "bat"),
    ("deletearray", Op::DELETE_ARRAY, Releases, "b"),
    ("deletearray_sized", Op::DELETE_ARRAY_SIZED, Releases, "bs"),
    ("deletearray_nothrow", Op::DELETE_ARRAY_NOTHROW, Releases, "bt"),
    ("deletearray_aligned", Op::DELETE_ARRAY_ALIGNED, Releases, "ba"),
    ("deletearray_sized_aligned", Op::DELETE_ARRAY_SIZED_ALIGNED, Releases, "bsa"),
    ("deletearray_aligned_nothrow", Op::DELETE_ARRAY_ALIGNED_NOTHROW, Releases, "bat"),
    // snmalloc for Rust
    ("rust_alloc", Op::MALLOC_ALIGNED, Acquires, "as"),
    ("rust_alloc_zeroed", Op::ZALLOC_ALIGNED, Acquires, "as"),
    ("rust_dealloc", Op::FREE_ALIGNED_SIZED, Releases, "bas"),
    ("rust_realloc", Op::REALLOC_ALIGNED, Reallocates, "baos"),
    // mozjemalloc: the same of an arena
    ("arena_malloc", Op::MALLOC, Acquires, "hs"),
    ("arena_calloc", Op::CALLOC, Acquires, "hcs"),
    ("arena_memalign", Op::MEMALIGN, Acquires, "has"),
    ("arena_realloc", Op::REALLOC, Reallocates, "hbs"),
    ("arena_free", Op::FREE, Releases, "hb"),
];

struct Known {
    of_c: FxHashMap<&'static str, Signature>,
    of_jemalloc: FxHashMap<&'static str, Signature>,
    prefixed: FxHashMap<&'static str, Signature>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let named = |all: &[(&'static str, Op, Form, &str)]| {
        all.iter().map(|(name, op, form, letters)| (*name, signature(*op, *form, letters))).collect()
    };
    Known {
        of_c: OF_C.iter().map(|(op, form, letters)| (op.symbol(), signature(*op, *form, letters))).collect(),
        of_jemalloc: named(OF_JEMALLOC),
        prefixed: named(PREFIXED),
    }
});

/// The function that C or C++ call so, by its symbol.
pub(crate) fn of_c(symbol: &str) -> Option<Signature> {
    KNOWN.of_c.get(symbol).copied()
}

/// The function that only jemalloc has, without its prefix.
pub(crate) fn of_jemalloc(stem: &str) -> Option<Signature> {
    KNOWN.of_jemalloc.get(stem).copied()
}

/// The function that has this name behind the prefix of its allocator.
pub(crate) fn of_stem(stem: &str) -> Option<Signature> {
    KNOWN.prefixed.get(stem).copied().or_else(|| of_jemalloc(stem)).or_else(|| of_c(stem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::op::Effect;

    #[test]
    fn forms_are_what_the_operations_do() {
        let all = || KNOWN.of_c.values().chain(KNOWN.of_jemalloc.values()).chain(KNOWN.prefixed.values());
        for one in all() {
            let effect = match one.form {
                Form::Releases => Effect::Release,
                _ => Effect::Acquire,
            };
            assert_eq!(one.op.effect(), effect, "{one:?}");
            let reallocates = matches!(one.form, Form::Reallocates | Form::Xallocx);
            assert_eq!(one.op.is_reallocation(), reallocates, "{one:?}");
            assert_eq!(one.size.is_none(), one.form == Form::Releases && one.size.is_none(), "{one:?}");
            assert!(one.arguments <= 5, "{one:?}");
            assert!(one.form != Form::Releases || one.block.is_some_and(|block| block < 3), "{one:?}");
        }
    }

    #[test]
    fn every_function_of_c_is_known() {
        let heap = |op: &Op| !op.is_pooled() && matches!(op.effect(), Effect::Acquire | Effect::Release);
        let of_own = Op::MALLOCX.0..=Op::REALLOC_ALIGNED.0;
        for op in Op::all().filter(heap).filter(|op| !of_own.contains(&op.0)) {
            assert!(of_c(op.symbol()).is_some_and(|known| known.op == op), "{}", op.symbol());
        }
    }
}
