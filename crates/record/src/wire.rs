//! The layout of the memory shared with the recorder: a mirror of `recorder/src/wire.hpp`, which explains it.
//!
//! Structs, numbers and constants are declared through macros, which also tell the test in `wire/contract.rs` about them:
//! it compares all of them with the recorder's.

#[cfg(test)]
mod contract;

use memtoll_trace::ids::NodeId;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// Numbers with names. `as` tells the recorder's name of the enumeration; its `kReallocFrom` is `REALLOC_FROM` here.
macro_rules! numbers {
    ($($(#[$attribute:meta])* mod $module:ident: $type:ty as $cxx:literal { $($name:ident = $number:literal,)* })*) => {
        $(
            $(#[$attribute])*
            // The contract is complete, whether or not this side asks for a number by its name.
            #[allow(dead_code)]
            pub mod $module {
                $(pub const $name: $type = $number;)*
            }
        )*
        #[cfg(test)]
        const NUMBERS: &[contract::Numbers] = &[$(contract::Numbers {
            cxx: $cxx,
            names: &[$((stringify!($name), $module::$name as u64)),*],
        }),*];
    };
}

/// Constants; the recorder's `kChunkBytes` is `CHUNK_BYTES` here.
macro_rules! constants {
    ($($(#[$attribute:meta])* $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$attribute])* pub const $name: $type = $value;)*
        #[cfg(test)]
        const CONSTANTS: &[(&str, u64)] = &[$((stringify!($name), $name as u64)),*];
    };
}

/// Structs. Fields whose names begin with an underscore fill gaps and are no part of the contract.
macro_rules! structs {
    ($(#[align = $align:literal] $(#[$attribute:meta])* struct $name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            $(#[$attribute])*
            #[repr(C, align($align))]
            #[allow(dead_code)]
            pub struct $name {
                $(pub $field: $type,)*
            }
        )*
        #[cfg(test)]
        const STRUCTS: &[contract::Struct] = &[$(contract::Struct {
            name: stringify!($name),
            bytes: size_of::<$name>(),
            fields: &[$(contract::Field {
                name: stringify!($field),
                offset: std::mem::offset_of!($name, $field),
                bytes: size_of::<$type>(),
            }),*],
        }),*];
    };
}

constants! {
    MAGIC: u64 = 0x6c6c_6f74_6d65_6d01;
    VERSION: u32 = 11;
    CHUNK_BYTES: usize = 64 * 1024;
    RECORD_BYTES: usize = 32;
    RECORDS_PER_CHUNK: usize = CHUNK_BYTES / RECORD_BYTES - 1;
    NO_CHUNK: u32 = u32::MAX;
    MOST_OWN_RANGES: usize = 256;
    KEPT_CHUNKS: u32 = 20;
    KEPT_FOR_FURTHER_THREAD: u32 = 2;
    TICKS_SHIFT: u32 = 8;
    TICKS_MASK: u64 = (1 << 56) - 1;
    SIZE_MASK: u64 = (1 << 48) - 1;
    DETAIL_SHIFT: u32 = 48;
    DURATION_SHIFT: u32 = 32;
    MODULE_SHIFT: u32 = 48;
    NO_ARGUMENT: u8 = 255;
    MOST_PATCHED: usize = 16;
    ALLOCATOR_SHIFT: u32 = DETAIL_SHIFT + 8;
    ADDRESS_MASK: u64 = (1 << MODULE_SHIFT) - 1;
    WITHOUT_TABLES: u64 = 1 << 63;
}

/// Chunks that stay in the program's memory; those with higher numbers are for bursts.
pub fn kept_chunks(slots_used: u32) -> u32 {
    KEPT_CHUNKS.saturating_add(slots_used.saturating_sub(1).saturating_mul(KEPT_FOR_FURTHER_THREAD))
}

/// Below it, nodes of the stack tree are roots.
pub const FIRST_NODE: u32 = root::FIRST_NODE;

numbers! {
    /// Records that are not calls of a hooked function.
    mod kind: u8 as "Kind" {
        PADDING = 0,
        REALLOC_FROM = 128,
        LONG_DURATION = 129,
        THREAD_BEGIN = 130,
        THREAD_END = 131,
        MODULE = 132,
        THREAD_NAME = 133,
        MARK = 134,
        EXEC = 135,
        EXIT = 136,
        BREAK = 138,
        USAGE = 139,
        FILLED = 140,
        POOL_ALLOC = 141,
        POOL_FREE = 142,
        POOL_REALLOC_FROM = 143,
        POOL_REALLOC = 144,
        POOL_BEGIN = 145,
        POOL_END = 146,
        LATE_FILE = 147,
    }

    /// Why a process calls.
    mod purpose: u32 as "Purpose" {
        PROGRAM = 0,
        FORK = 1,
        FILE = 2,
        PLAN = 3,
    }

    /// A look at the memory of a process that waits at its end.
    mod at_end: u32 as "AtEnd" {
        AWAITED = 0,
        LOOKED_AT = 1,
        GIVEN_UP = 2,
    }

    /// A look at the pages before memory is given back.
    mod before_giving_back: u32 as "BeforeGivingBack" {
        NO_LOOK = 0,
        LOOK_ASKED = 1,
        LOOKING = 2,
    }

    /// Hooks for functions of any allocator.
    mod own_hook: u32 as "OwnHook" {
        OWN_ACQUIRE = 0,
        OWN_ACQUIRE_WIDE = 1,
        OWN_REALLOCATE = 2,
        OWN_RELEASE = 3,
        OWN_POSIX_MEMALIGN = 4,
        OWN_XALLOCX = 5,
        OWN_HOOKS = 6,
    }

    /// What became of a region of a plan.
    mod placed: u8 as "Placed" {
        PLACED = 0,
        PLACED_BEFORE = 1,
        OTHER_CODE = 2,
        NO_MEMORY = 3,
        NOT_WRITABLE = 4,
        SHADOW_STACK = 5,
    }

    /// How an order to attach ended.
    mod attach_result: u32 as "AttachResult" {
        ATTACHED = 0,
        UNREACHABLE = 1,
        NO_MEMORY_FOR_STACK = 2,
        BUSY = 3,
    }

    /// Bits of a slot's guard.
    mod guard: u64 as "GuardBits" {
        RECORDER_AT_WORK = 1,
        COUNTS_AT_END = 2,
    }

    /// What a slot's thread waits for.
    mod waiting: u64 as "Waiting" {
        NOT_WAITING = 0,
        WAITS_IN_EVENT = 1,
        WAITS_BETWEEN = 2,
    }

    /// How a stack ends.
    mod root: u32 as "Root" {
        NO_STACK = 0,
        ROOT_COMPLETE = 1,
        ROOT_NO_RULE = 2,
        ROOT_TOO_DEEP = 3,
        ROOT_BAD_FRAME = 4,
        ROOT_TREE_FULL = 5,
        FIRST_NODE = 8,
    }

    /// What a mark is.
    mod mark: u32 as "MarkBlob::Type" {
        INSTANT = 0,
        BEGIN = 1,
        END = 2,
    }

    /// What a process that is about to end waits for.
    mod look: u32 as "Look" {
        PAGES = 1,
        LOST_BLOCKS = 2,
    }

    /// Why a program that is started cannot be recorded.
    mod reason: u32 as "ExecBlob::Reason" {
        RECORDABLE = 0,
        STATIC = 1,
        FOREIGN_CLASS = 2,
        FOREIGN_LIBC = 3,
        SETUID = 4,
        NO_PRELOAD = 5,
        UNKNOWN = 6,
        SANITIZER = 7,
        NOT_STARTED = 8,
    }

    /// Whom a usage is about.
    mod scope: u32 as "UsageBlob::Scope" {
        THREAD = 0,
        PROCESS = 1,
    }

    /// Whether calls are recorded.
    mod start: u32 as "Start" {
        STARTED = 0,
        NOT_YET = 1,
        HELD = 2,
        TOO_LATE = 3,
    }

    /// What ticks are.
    mod clock: u32 as "Clock" {
        TSC = 0,
        MONOTONIC = 1,
    }
}

structs! {
    #[align = 8]
    #[derive(Clone, Copy)]
    struct Record {
        head: u64,
        address: u64,
        size: u64,
        tail: u64,
    }

    #[align = 8]
    struct Chunk {
        next: AtomicU32,
        next_free: AtomicU32,
        _unused: [u32; 6],
        records: [Record; RECORDS_PER_CHUNK],
    }

    #[align = 64]
    struct ThreadSlot {
        guard: AtomicU64,
        published: AtomicU64,
        first_chunk: AtomicU32,
        _unused: u32,
        waiting: AtomicU64,
        walks: AtomicU64,
        walked_frames: AtomicU64,
        full_walks: AtomicU32,
        rule_misses: AtomicU32,
        recorder_ticks: AtomicU64,
        overlap_pairs: AtomicU64,
        overlap_ticks: AtomicI64,
    }

    #[align = 8]
    struct StackNode {
        key: AtomicU64,
        parent: u32,
        _unused: u32,
    }

    #[align = 64]
    struct ArenaHeader {
        magic: u64,
        version: u32,
        max_slots: u32,
        arena_bytes: u64,
        slots_offset: u64,
        chunks_offset: u64,
        nodes_offset: u64,
        max_chunks: u32,
        max_nodes: u32,
        stack_depth: u32,
        clock: u32,
        image: u32,
        ticks_per_microsecond: u32,
        searches_leaks: u32,
        _to_recorder: [u8; 52],

        stop: AtomicU32,
        heartbeat: AtomicU32,
        chunk_limit: AtomicU32,
        supervisor_sleeps: AtomicU32,
        chunk_returned: AtomicU32,
        start: AtomicU32,
        allocator_begin: AtomicU64,
        allocator_end: AtomicU64,
        signal_return: AtomicU64,
        _to_supervisor: [u8; 16],

        free_chunks: AtomicU64,
        mapped_at: AtomicU64,
        chunks_used: AtomicU32,
        slots_used: AtomicU32,
        node_count: AtomicU32,
        doorbell: AtomicU32,
        threads_begun: AtomicU32,
        waits: AtomicU32,
        wait_ticks: AtomicU64,
        lost_forks: AtomicU32,
        nested: AtomicU32,
        dropped: AtomicU64,
        own_allocator: AtomicU32,
        imports_patched: AtomicU32,
        imports_not_patched: AtomicU32,
        namespaces_unknown: AtomicU32,
        unwind_checked: AtomicU64,
        unwind_disagreed: AtomicU64,
        burst_chunks: AtomicU64,
        filled_pages: AtomicU64,
        own_memory: AtomicU64,
        own_ranges: u64,
        malloc: u64,
        _to_time: [u8; 56],

        time: AtomicU64,
        counter_forbidden: AtomicU32,
        look_wanted: AtomicU32,
        look_at_end: AtomicU32,
        ending_thread: AtomicU32,
        ending_stack: AtomicU64,
        look_before_giving_back: AtomicU32,
        look_above_kib: AtomicU32,
    }

    #[align = 8]
    struct OwnRange {
        start: AtomicU64,
        bytes: AtomicU64,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct Hello {
        magic: u64,
        version: u32,
        purpose: u32,
        parent_image: u32,
        pid: u32,
        address_space_limit: u64,
        stamp_ticks: u64,
        token: [u64; 2],
        own_hooks: [u64; own_hook::OWN_HOOKS as usize],
        interposed: u64,
        interposed_count: u64,
        finder: u64,
        forked_at: u64,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct Interposed {
        function: u64,
        bytes: u64,
        hook: u64,
        kind: u32,
        _unused: u32,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct Welcome {
        magic: u64,
        version: u32,
        accepted: u32,
        arena_bytes: u64,
    }

    #[align = 4]
    struct AttachOrder {
        is_loaded: AtomicU32,
        is_busy: AtomicU32,
        is_given: AtomicU32,
        is_done: AtomicU32,
        result: u32,
        most_stack_depth: u32,
        directory: [u8; 248],
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct PlanHeader {
        magic: u64,
        regions: u32,
        functions: u32,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct PlanRegion {
        address: u64,
        offset: u64,
        bytes: u64,
        first_function: u32,
        functions: u32,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct PlanFunction {
        entry: u64,
        original: u64,
        at: u64,
        bytes: u32,
        pushes_return: u32,
        before: [u8; MOST_PATCHED],
        after: [u8; MOST_PATCHED],
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct Redirected {
        original: u64,
        kind: u8,
        allocator: u8,
        size: u8,
        count: u8,
        alignment: u8,
        flags: u8,
        block: u8,
        _unused: u8,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct ModuleBlob {
        start: u64,
        end: u64,
        bias: u64,
        number: u32,
        build_id_bytes: u32,
        build_id: [u8; 32],
        functions_hash: u64,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct ThreadNameBlob {
        handle: u64,
    }

    #[align = 4]
    #[derive(Clone, Copy)]
    struct MarkBlob {
        type_: u32,
        _unused: u32,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct PoolBlob {
        chunk: u64,
        bytes: u64,
        node: u32,
        _unused: u32,
    }

    #[align = 4]
    #[derive(Clone, Copy)]
    struct ExecBlob {
        pid: u32,
        reason: u32,
    }

    #[align = 8]
    #[derive(Clone, Copy)]
    struct UsageBlob {
        user_ns: u64,
        system_ns: u64,
        minor_faults: u64,
        major_faults: u64,
        voluntary_switches: u64,
        involuntary_switches: u64,
        program_rss_kib: u64,
        recorder_rss_kib: u64,
        rss_error_kib: u64,
        program_now_kib: u64,
        now_error_kib: u64,
        scope: u32,
        tid: u32,
    }
}

/// The head of a blob: numbers only, so that any bytes are one.
///
/// # Safety
///
/// Every pattern of bytes is a value of the type.
pub unsafe trait Blob: Copy {
    /// The head, and what follows it. `None` if there are too few bytes.
    fn split(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (head, rest) = payload.split_at_checked(size_of::<Self>())?;
        // SAFETY: `head` has as many bytes as the type, any of which make a value; they need not be aligned.
        Some((unsafe { head.as_ptr().cast::<Self>().read_unaligned() }, rest))
    }
}

// SAFETY: these are integers without gaps between them.
unsafe impl Blob for ModuleBlob {}
// SAFETY: as above.
unsafe impl Blob for ThreadNameBlob {}
// SAFETY: as above.
unsafe impl Blob for MarkBlob {}
// SAFETY: as above.
unsafe impl Blob for PoolBlob {}
// SAFETY: as above.
unsafe impl Blob for ExecBlob {}
// SAFETY: as above.
unsafe impl Blob for UsageBlob {}

impl Record {
    #[inline]
    pub fn kind(&self) -> u8 {
        self.head as u8
    }
    #[inline]
    pub fn ticks(&self) -> u64 {
        self.head >> TICKS_SHIFT
    }
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.size & SIZE_MASK
    }
    #[inline]
    pub fn detail(&self) -> u16 {
        (self.size >> DETAIL_SHIFT) as u16
    }
    /// Of an event of the heap: without the allocator's number.
    #[inline]
    pub fn heap_detail(&self) -> u16 {
        self.detail() & 0xff
    }
    /// Of an event of the heap: the number of the allocator that was called.
    #[inline]
    pub fn allocator(&self) -> u8 {
        (self.size >> ALLOCATOR_SHIFT) as u8
    }
    #[inline]
    pub fn duration(&self) -> u64 {
        self.tail >> DURATION_SHIFT
    }
    /// The stack of a call.
    #[inline]
    pub fn node(&self) -> Option<NodeId> {
        NodeId::new(self.tid())
    }
    /// The kernel's id of a thread that begins, in the place of a stack.
    #[inline]
    pub fn tid(&self) -> u32 {
        self.tail as u32
    }
}
