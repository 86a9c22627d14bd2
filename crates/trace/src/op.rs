//! What an event is: which function was called, and what that means for memory.
//!
//! Numbers are part of the file format. They come from `recorder/src/hooks/hooks.def`; a test compares the two lists.

/// Set in an [`Op`] for the first half of a reallocation: the old block is given back.
const RELEASE_HALF: u8 = 0x80;

/// The function that an event is a call of.
///
/// A call of `realloc`, `reallocarray` or `mremap` is two events: one of the release half, at the instant the old block
/// was given back, and one of the plain operation, at the instant the new one was there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Op(pub u8);

/// What an event does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// A block of the heap comes to life.
    Acquire,
    /// A block of the heap is given back (or nothing is, if the pointer was null).
    Release,
    /// Anything else: mappings, threads.
    Other,
}

/// Effects by number: this is asked for every event, several times.
static EFFECTS: [Effect; 256] = {
    let mut effects = [Effect::Other; 256];
    let mut number = 0;
    while number < effects.len() {
        effects[number] = match number as u8 {
            1..=9 | 14..=21 => Effect::Acquire,
            10..=13 | 22..=33 => Effect::Release,
            n if n == Op::REALLOC.0 | RELEASE_HALF || n == Op::REALLOCARRAY.0 | RELEASE_HALF => Effect::Release,
            _ => Effect::Other,
        };
        number += 1;
    }
    effects
};

/// Names by number; index 0 is unused.
const NAMES: [&str; 42] = [
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

    /// The operation with this number, if the format knows it.
    pub fn from_number(number: u8) -> Option<Op> {
        let plain = number & !RELEASE_HALF;
        let known = plain >= 1 && (plain as usize) < NAMES.len();
        let op = Op(number);
        (known && (number & RELEASE_HALF == 0 || Op(plain).is_reallocation())).then_some(op)
    }

    /// The release half of a reallocation.
    pub fn release_half(self) -> Op {
        Op(self.0 | RELEASE_HALF)
    }

    /// Whether this is the release half of a reallocation.
    pub fn is_release_half(self) -> bool {
        self.0 & RELEASE_HALF != 0
    }

    /// `realloc`, `reallocarray` or `mremap`, either half.
    pub fn is_reallocation(self) -> bool {
        matches!(Op(self.0 & !RELEASE_HALF), Op::REALLOC | Op::REALLOCARRAY | Op::MREMAP)
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
        assert_eq!(seen, Op::all().count());
    }

    #[test]
    fn every_heap_function_acquires_or_releases() {
        for op in Op::all() {
            let expected = match op.name() {
                "malloc" | "calloc" | "realloc" | "reallocarray" | "posix_memalign" | "aligned_alloc" | "memalign"
                | "valloc" | "pvalloc" | "operator new" | "operator new[]" => Effect::Acquire,
                "free" | "cfree" | "free_sized" | "free_aligned_sized" | "operator delete" | "operator delete[]" => {
                    Effect::Release
                }
                _ => Effect::Other,
            };
            assert_eq!(op.effect(), expected, "{}", op.symbol());
        }
        assert_eq!(Op::REALLOC.release_half().effect(), Effect::Release);
        assert_eq!(Op::from_number(0), None);
        assert_eq!(Op::from_number(42), None);
        assert_eq!(Op::from_number(Op(1).release_half().0), None);
    }
}
