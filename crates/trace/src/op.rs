//! What an event is: which function was called, and what that means for memory.
//!
//! Numbers are part of the file format. They, the names and what the functions do come from `recorder/src/hooks/hooks.def`
//! (see `build.rs`).

use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// Set in an [`Op`] for the first half of a reallocation: the old block is given back.
const RELEASE_HALF: u8 = 0x80;

/// Details of events of mappings.
const ANONYMOUS: u16 = 1 << 0;
const POPULATE: u16 = 1 << 3;
const NO_ACCESS: u16 = 1 << 7;

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

/// What a function of the recorder's list does, in the list's words. An [`Effect`] is what of it concerns blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    /// There is no such function.
    Nothing,
    Acquire,
    Release,
    Reallocate,
    Map,
    Unmap,
    Remap,
    Advise,
    Protect,
    Break,
    Thread,
}

/// An entry of the recorder's list.
struct Function {
    symbol: &'static str,
    name: &'static str,
    does: Does,
}

// FUNCTIONS, by number from 1 on, and a constant of `Op` for each.
include!(concat!(env!("OUT_DIR"), "/operations.rs"));

/// What functions do, by number: this is asked for every event, several times.
static DOES: [Does; 128] = {
    let mut does = [Does::Nothing; 128];
    let mut index = 0;
    while index < FUNCTIONS.len() {
        does[index + 1] = FUNCTIONS[index].does;
        index += 1;
    }
    does
};

/// Effects by number, as often.
static EFFECTS: [Effect; 256] = {
    let mut effects = [Effect::Other; 256];
    let mut number = 0;
    while number < DOES.len() {
        effects[number] = match DOES[number] {
            Does::Acquire | Does::Reallocate => Effect::Acquire,
            Does::Release => Effect::Release,
            _ => Effect::Other,
        };
        if matches!(DOES[number], Does::Reallocate) {
            effects[number | RELEASE_HALF as usize] = Effect::Release;
        }
        number += 1;
    }
    effects[Op::LEND.0 as usize] = Effect::Lend;
    effects[Op::BEFORE.0 as usize] = Effect::Acquire;
    effects
};

// One more hook than sets and packed numbers have room for does not compile.
const _: () = assert!(FUNCTIONS.len() < 1 << Op::BITS && 1 << Op::BITS <= u64::BITS);

impl Op {
    /// Bits of a number without the mark of a release half, where it is packed.
    pub const BITS: u32 = 6;

    /// In a set of operations, such as [`Metrics::operations`](crate::metrics::Metrics::operations).
    #[inline]
    pub const fn bit(self) -> u64 {
        1 << self.0
    }

    /// The operations of a set.
    pub fn of_bits(bits: u64) -> impl Iterator<Item = Op> {
        Op::all().filter(move |op| bits & op.bit() != 0)
    }

    /// The block that the event is about lends a part of itself to the one that the same thread acquires next: of as many
    /// bytes as that has. They come back when that is released.
    pub const LEND: Op = Op(Op::POOL_ALLOC.0 | RELEASE_HALF);

    /// No call: pages of mappings that the program made itself are in use from now on, because they were touched or filled. The
    /// stack is that of the call that made the mapping. Detail 1: this many, from about there on, as far as samples tell.
    pub const TOUCHED: Op = Op(Op::MMAP.0 | RELEASE_HALF);

    /// No call: a block that the process had when memtoll was attached to it, of as many bytes as are usable. It counts as live
    /// from here on, and not as an allocation.
    pub const BEFORE: Op = Op(Op::MALLOC.0 | RELEASE_HALF);

    /// The operation with this number, if the format knows it.
    pub fn from_number(number: u8) -> Option<Op> {
        let op = Op(number);
        let known = op.function().is_some();
        let is_whole = number & RELEASE_HALF == 0;
        (known && (is_whole || op.is_reallocation() || [Op::LEND, Op::TOUCHED, Op::BEFORE].contains(&op))).then_some(op)
    }

    /// A call of a function that the recorder hooks, with this number; not what the program says of its own allocators.
    #[inline]
    pub fn from_hook(number: u8) -> Option<Op> {
        let op = Op(number);
        (number & RELEASE_HALF == 0 && op.does() != Does::Nothing && !op.is_pooled()).then_some(op)
    }

    fn function(self) -> Option<&'static Function> {
        FUNCTIONS.get(usize::from(self.0 & !RELEASE_HALF).wrapping_sub(1))
    }

    #[inline]
    const fn does(self) -> Does {
        DOES[(self.0 & !RELEASE_HALF) as usize]
    }

    /// The release half of a reallocation.
    pub fn release_half(self) -> Op {
        Op(self.0 | RELEASE_HALF)
    }

    /// The function's operation, whichever half this is.
    pub const fn whole(self) -> Op {
        Op(self.0 & !RELEASE_HALF)
    }

    /// Whether this is the release half of a reallocation, or [`Op::LEND`], where the call has another event; or
    /// [`Op::TOUCHED`] or [`Op::BEFORE`], which are none.
    pub const fn is_release_half(self) -> bool {
        self.0 & RELEASE_HALF != 0
    }

    /// `realloc`, `reallocarray`, `mremap` or `memtoll_realloc`, either half.
    #[inline]
    pub fn is_reallocation(self) -> bool {
        matches!(self.does(), Does::Reallocate | Does::Remap)
    }

    /// Whether the program reported it with memtoll.h, of its own allocator: how long it took is not known.
    #[inline]
    pub const fn is_pooled(self) -> bool {
        let number = self.0 & !RELEASE_HALF;
        Op::POOL_ALLOC.0 <= number && number <= Op::POOL_END.0
    }

    /// Whether the function is an allocator's.
    #[inline]
    pub fn is_heap(self) -> bool {
        matches!(self.does(), Does::Acquire | Does::Release | Does::Reallocate)
            && !self.is_pooled()
            && self.0 != Op::BEFORE.0
    }

    /// The set of operations whose blocks read as zeroes.
    pub const ZEROED: u64 = Op::CALLOC.bit() | Op::ZALLOC.bit() | Op::ZALLOC_ALIGNED.bit();

    /// Whether the block that the function returns reads as zeroes.
    pub fn zeroes(self) -> bool {
        !self.is_release_half() && self.bit() & Op::ZEROED != 0
    }

    /// Whether the function works on mappings or on the end of the heap.
    #[inline]
    pub fn is_mapping(self) -> bool {
        matches!(self.does(), Does::Map | Does::Unmap | Does::Remap | Does::Advise | Does::Protect | Does::Break)
    }

    /// Whether the event counts from the return of the real function, and not from before its call: what it acquires is
    /// there only then. The release half of a reallocation counts from before.
    pub const fn counts_at_end(self) -> bool {
        let at_begin =
            matches!(self.does(), Does::Nothing | Does::Release | Does::Unmap | Does::Advise | Does::Protect);
        !at_begin && !self.is_release_half()
    }

    /// Whether the event takes memory from the system that the program can use at once: a mapping of no file,
    /// or one that grows. `detail` is the event's.
    pub fn maps_memory(self, detail: u16) -> bool {
        match self.does() {
            Does::Map => !self.is_release_half() && detail & (ANONYMOUS | NO_ACCESS) == ANONYMOUS,
            Does::Remap => !self.is_release_half(),
            _ => false,
        }
    }

    /// Whether the event reserves address space that the program cannot use yet. `detail` is the event's.
    pub fn reserves(self, detail: u16) -> bool {
        self.does() == Does::Map && detail & (ANONYMOUS | NO_ACCESS) == ANONYMOUS | NO_ACCESS
    }

    /// Whether the event opens pages of a mapping to the program, or closes them. `None`: it does neither. `detail` is the
    /// event's.
    pub fn opens(self, detail: u16) -> Option<bool> {
        (self.does() == Does::Protect).then_some(detail & NO_ACCESS == 0)
    }

    /// Whether the event brings pages of a mapping into memory, or gives them back while the mapping stays. `None`: it does
    /// neither. `detail` is the event's.
    pub fn fills(self, detail: u16) -> Option<bool> {
        const DONT_NEED: u16 = 4;
        const REMOVE: u16 = 9;
        const POPULATE_READ: u16 = 22;
        const POPULATE_WRITE: u16 = 23;
        match (self.does(), detail) {
            _ if self == Op::TOUCHED => Some(true),
            (Does::Advise, POPULATE_READ | POPULATE_WRITE) => Some(true),
            (Does::Advise, DONT_NEED | REMOVE) => Some(false),
            _ => None,
        }
    }

    /// Whether the call that the event tells of maps memory that is filled at once. `detail` is the event's.
    pub fn populates(self, detail: u16) -> bool {
        self.maps_memory(detail) && self.does() == Does::Map && detail & POPULATE != 0
    }

    /// What the event does to memory.
    #[inline]
    pub fn effect(self) -> Effect {
        EFFECTS[self.0 as usize]
    }

    /// The symbol of the function, as the linker knows it.
    pub fn symbol(self) -> &'static str {
        if self == Op::TOUCHED || self == Op::BEFORE {
            return "";
        }
        self.function().map_or("", |function| function.symbol)
    }

    /// The operation of the function with this symbol. A file may have a million symbols.
    pub fn of_symbol(symbol: &str) -> Option<Op> {
        static OPS: LazyLock<FxHashMap<&str, Op>> = LazyLock::new(|| Op::all().map(|op| (op.symbol(), op)).collect());
        OPS.get(symbol).copied()
    }

    /// The function as a programmer writes it: `operator new[]`, not `_Znam`.
    pub fn name(self) -> &'static str {
        match self {
            Op::TOUCHED => return "(touched)",
            Op::BEFORE => return "(before attach)",
            _ => {}
        }
        self.function().map_or("", |function| function.name)
    }

    /// All operations that are not release halves, by number.
    pub fn all() -> impl Iterator<Item = Op> {
        (1..=FUNCTIONS.len() as u8).map(Op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_heap_function_acquires_or_releases() {
        for op in Op::all() {
            let expected = match op.name() {
                "malloc" | "calloc" | "realloc" | "reallocarray" | "posix_memalign" | "aligned_alloc" | "memalign"
                | "valloc" | "pvalloc" | "operator new" | "operator new[]" | "memtoll_alloc" | "memtoll_realloc"
                | "mallocx" | "rallocx" | "xallocx" | "malloc_aligned" | "zalloc" | "zalloc_aligned"
                | "realloc_aligned" => Effect::Acquire,
                "free" | "cfree" | "free_sized" | "free_aligned_sized" | "operator delete" | "operator delete[]"
                | "memtoll_free" | "memtoll_pool_end" | "dallocx" | "sdallocx" => Effect::Release,
                _ => Effect::Other,
            };
            assert_eq!(op.effect(), expected, "{}", op.symbol());
        }
        assert_eq!(Op::REALLOC.release_half().effect(), Effect::Release);
        assert_eq!(Op::POOL_REALLOC.release_half().effect(), Effect::Release);
        assert_eq!((Op::LEND.effect(), Op::from_number(Op::LEND.0)), (Effect::Lend, Some(Op::LEND)));
        assert_eq!((Op::TOUCHED.effect(), Op::from_number(Op::TOUCHED.0)), (Effect::Other, Some(Op::TOUCHED)));
        assert!(!Op::TOUCHED.maps_memory(ANONYMOUS) && Op::TOUCHED.is_release_half());
        assert_eq!(Op::from_number(0), None);
        assert_eq!(Op::from_number(Op::all().count() as u8 + 1), None);
        assert_eq!(Op::from_number(Op::POOL_FREE.release_half().0), None);
        assert_eq!(Op::from_number(Op::CALLOC.release_half().0), None);
        assert_eq!((Op::BEFORE.effect(), Op::from_number(Op::BEFORE.0)), (Effect::Acquire, Some(Op::BEFORE)));
    }

    #[test]
    fn a_symbol_is_of_one_operation() {
        assert!(Op::all().all(|op| Op::of_symbol(op.symbol()) == Some(op)));
        assert_eq!(Op::of_symbol("strdup"), None);
    }

    #[test]
    fn mapping_functions_are_those_with_such_an_effect() {
        let mappings = [Op::MMAP, Op::MUNMAP, Op::MREMAP, Op::MADVISE, Op::MPROTECT, Op::SBRK];
        assert!(mappings.into_iter().all(Op::is_mapping));
        let others = [Op::MALLOC, Op::FREE, Op::REALLOC, Op::PTHREAD_CREATE, Op::POOL_END, Op::LEND];
        assert!(!others.into_iter().any(Op::is_mapping));
        assert!(Op::MREMAP.maps_memory(0) && !Op::MREMAP.release_half().maps_memory(0));
        assert!(Op::MMAP.maps_memory(ANONYMOUS) && !Op::MMAP.maps_memory(ANONYMOUS | NO_ACCESS));
        assert!(!Op::MMAP.reserves(ANONYMOUS) && Op::MMAP.reserves(ANONYMOUS | NO_ACCESS));
        assert!(!Op::MMAP.reserves(NO_ACCESS), "a file");
        let opens = |op: Op| [op.opens(0), op.opens(NO_ACCESS)];
        assert_eq!(opens(Op::PKEY_MPROTECT), [Some(true), Some(false)]);
        assert_eq!(opens(Op::MMAP), [None, None]);
        assert!([Op::REALLOC, Op::MREMAP, Op::POOL_REALLOC].into_iter().all(Op::is_reallocation));
        assert!(![Op::MALLOC, Op::FREE, Op::MMAP, Op::POOL_FREE].into_iter().any(Op::is_reallocation));
    }
}
