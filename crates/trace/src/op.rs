//! What an event is: which function was called, and what that means for memory.
//!
//! Numbers are part of the file format. They come from `recorder/src/hooks/hooks.def`; a test compares the two lists.

/// Set in an [`Op`] for the first half of a reallocation: the old block is given back.
const RELEASE_HALF: u8 = 0x80;

/// The function that an event is a call of.
///
/// A call of `realloc`, `reallocarray`, `mremap` or `memtoll_realloc` is two events: one of the release half, at the
/// instant the old block was given back, and one of the plain operation, at the instant the new one was there. A block
/// from a pool may also have an event before it: [`Op::LEND`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Op(pub u8);

/// What an event does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A block of the heap comes to life.
    Acquire,
    /// A block of the heap is given back (or nothing is, if the pointer was null).
    Release,
    /// A block lends a part of itself to the block that the thread acquires next.
    Lend,
    /// Anything else: mappings, threads.
    Other,
}

/// Effects by number: this is asked for every event, several times.
static EFFECTS: [Effect; 256] = {
    let mut effects = [Effect::Other; 256];
    let mut number = 0;
    while number < effects.len() {
        effects[number] = match number as u8 {
            1..=9 | 14..=21 | 42 | 44 => Effect::Acquire,
            10..=13 | 22..=33 | 43 | 45 => Effect::Release,
            n if n == Op::LEND.0 => Effect::Lend,
            n if n == Op::POOL_REALLOC.0 | RELEASE_HALF => Effect::Release,
            n if n == Op::REALLOC.0 | RELEASE_HALF || n == Op::REALLOCARRAY.0 | RELEASE_HALF => Effect::Release,
            _ => Effect::Other,
        };
        number += 1;
    }
    effects
};

/// Names by number; index 0 is unused.
const NAMES: [&str; 46] = [
    "",
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "valloc",
    "pvalloc",
    "free",
    "cfree",
    "free_sized",
    "free_aligned_sized",
    "_Znwm",
    "_Znam",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_ZdlPv",
    "_ZdaPv",
    "_ZdlPvm",
    "_ZdaPvm",
    "_ZdlPvRKSt9nothrow_t",
    "_ZdaPvRKSt9nothrow_t",
    "_ZdlPvSt11align_val_t",
    "_ZdaPvSt11align_val_t",
    "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
    "_ZdlPvSt11align_val_tRKSt9nothrow_t",
    "_ZdaPvSt11align_val_tRKSt9nothrow_t",
    "mmap",
    "mmap64",
    "munmap",
    "mremap",
    "madvise",
    "brk",
    "sbrk",
    "pthread_create",
    "memtoll_alloc",
    "memtoll_free",
    "memtoll_realloc",
    "memtoll_pool_end",
];

impl Op {
    /// `realloc`
    pub const REALLOC: Op = Op(3);
    /// `reallocarray`
    pub const REALLOCARRAY: Op = Op(4);
    /// `mmap`
    pub const MMAP: Op = Op(34);
    /// `mmap64`
    pub const MMAP64: Op = Op(35);
    /// `munmap`
    pub const MUNMAP: Op = Op(36);
    /// `mremap`
    pub const MREMAP: Op = Op(37);
    /// `pthread_create`
    pub const PTHREAD_CREATE: Op = Op(41);
    /// `memtoll_alloc`: the program's own allocator hands out a block.
    pub const POOL_ALLOC: Op = Op(42);
    /// `memtoll_free`
    pub const POOL_FREE: Op = Op(43);
    /// `memtoll_realloc`
    pub const POOL_REALLOC: Op = Op(44);
    /// A block was still handed out when its pool ended, by `memtoll_pool_end` or with the memory that it lay in.
    pub const POOL_END: Op = Op(45);
    /// The block that the event is about lends a part of itself to the one that the same thread acquires next: of as many
    /// bytes as that has. They come back when that is released.
    pub const LEND: Op = Op(Op::POOL_ALLOC.0 | RELEASE_HALF);

    /// The operation with this number, if the format knows it.
    pub fn from_number(number: u8) -> Option<Op> {
        let plain = number & !RELEASE_HALF;
        let known = plain >= 1 && (plain as usize) < NAMES.len();
        let op = Op(number);
        (known && (number & RELEASE_HALF == 0 || Op(plain).is_reallocation() || op == Op::LEND)).then_some(op)
    }

    /// The release half of a reallocation.
    pub fn release_half(self) -> Op {
        Op(self.0 | RELEASE_HALF)
    }

    /// Whether this is the release half of a reallocation, or [`Op::LEND`]: the call has another event.
    pub fn is_release_half(self) -> bool {
        self.0 & RELEASE_HALF != 0
    }

    /// `realloc`, `reallocarray`, `mremap` or `memtoll_realloc`, either half.
    pub fn is_reallocation(self) -> bool {
        matches!(Op(self.0 & !RELEASE_HALF), Op::REALLOC | Op::REALLOCARRAY | Op::MREMAP | Op::POOL_REALLOC)
    }

    /// Whether the program itself said so, of its own allocator: nothing is known of how long that took.
    #[inline]
    pub fn is_pooled(self) -> bool {
        (Op::POOL_ALLOC.0..=Op::POOL_END.0).contains(&(self.0 & !RELEASE_HALF))
    }

    /// Whether the function works on mappings or on the end of the heap.
    pub fn is_mapping(self) -> bool {
        (Op::MMAP.0..=40).contains(&(self.0 & !RELEASE_HALF))
    }

    /// Whether the event takes memory from the system that the program can use at once: a mapping that is nobody's file,
    /// or one that grows. `detail` is the event's.
    pub fn maps_memory(self, detail: u16) -> bool {
        const ANONYMOUS: u16 = 1 << 0;
        const NO_ACCESS: u16 = 1 << 7;
        match self {
            Op::MMAP | Op::MMAP64 => detail & (ANONYMOUS | NO_ACCESS) == ANONYMOUS,
            op => op == Op::MREMAP,
        }
    }

    /// What the event does to memory.
    #[inline]
    pub fn effect(self) -> Effect {
        EFFECTS[self.0 as usize]
    }

    /// The symbol of the function, as the linker knows it.
    pub fn symbol(self) -> &'static str {
        NAMES.get((self.0 & !RELEASE_HALF) as usize).copied().unwrap_or("")
    }

    /// The function as a programmer writes it: `operator new[]`, not `_Znam`.
    pub fn name(self) -> &'static str {
        match self.0 & !RELEASE_HALF {
            14 | 16 | 18 | 20 => "operator new",
            15 | 17 | 19 | 21 => "operator new[]",
            22 | 24 | 26 | 28 | 30 | 32 => "operator delete",
            23 | 25 | 27 | 29 | 31 | 33 => "operator delete[]",
            _ => self.symbol(),
        }
    }

    /// All operations that are not release halves, by number.
    pub fn all() -> impl Iterator<Item = Op> {
        (1..NAMES.len() as u8).map(Op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorder's list, read from its source.
    #[test]
    fn numbers_and_symbols_are_the_recorders() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recorder/src/hooks/hooks.def");
        let text = std::fs::read_to_string(path).unwrap();
        let mut seen = 0;
        for line in text.lines().filter(|line| line.starts_with("EVENT(")) {
            let parts: Vec<&str> = line["EVENT(".len()..].trim_end_matches(')').split(", ").collect();
            let number: u8 = parts[0].parse().unwrap();
            let symbol = parts[2].trim_matches('"');
            assert_eq!(Op(number).symbol(), symbol, "{line}");
            seen += 1;
        }
        let own = Op::all().filter(|op| op.is_pooled()).count(); // of memtoll.h
        assert_eq!(seen, Op::all().count() - own);
    }

    #[test]
    fn every_heap_function_acquires_or_releases() {
        for op in Op::all() {
            let expected = match op.name() {
                "malloc" | "calloc" | "realloc" | "reallocarray" | "posix_memalign" | "aligned_alloc" | "memalign"
                | "valloc" | "pvalloc" | "operator new" | "operator new[]" | "memtoll_alloc" | "memtoll_realloc" => {
                    Effect::Acquire
                }
                "free" | "cfree" | "free_sized" | "free_aligned_sized" | "operator delete" | "operator delete[]"
                | "memtoll_free" | "memtoll_pool_end" => Effect::Release,
                _ => Effect::Other,
            };
            assert_eq!(op.effect(), expected, "{}", op.symbol());
        }
        assert_eq!(Op::REALLOC.release_half().effect(), Effect::Release);
        assert_eq!(Op::POOL_REALLOC.release_half().effect(), Effect::Release);
        assert_eq!((Op::LEND.effect(), Op::from_number(Op::LEND.0)), (Effect::Lend, Some(Op::LEND)));
        assert_eq!(Op::from_number(0), None);
        assert_eq!(Op::from_number(46), None);
        assert_eq!(Op::from_number(Op::POOL_FREE.release_half().0), None);
        assert_eq!(Op::from_number(Op(1).release_half().0), None);
    }
}
