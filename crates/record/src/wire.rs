//! The layout of the memory shared with the recorder: a mirror of `recorder/src/wire.hpp`, which explains it.

use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

pub const MAGIC: u64 = 0x6c6c_6f74_6d65_6d01;
pub const VERSION: u32 = 5;

pub const CHUNK_BYTES: usize = 64 * 1024;
pub const RECORD_BYTES: usize = 32;
pub const RECORDS_PER_CHUNK: usize = CHUNK_BYTES / RECORD_BYTES - 1;
pub const NO_CHUNK: u32 = u32::MAX;

pub mod kind {
    //! Records that are not calls of a hooked function.
    pub const PADDING: u8 = 0;
    pub const REALLOC_FROM: u8 = 128;
    pub const LONG_DURATION: u8 = 129;
    pub const THREAD_BEGIN: u8 = 130;
    pub const THREAD_END: u8 = 131;
    pub const MODULE: u8 = 132;
    pub const THREAD_NAME: u8 = 133;
    pub const MARK: u8 = 134;
    pub const EXEC: u8 = 135;
    pub const EXIT: u8 = 136;
    pub const BREAK: u8 = 138;
    pub const USAGE: u8 = 139;
    pub const FILLED: u8 = 140;
    pub const POOL_ALLOC: u8 = 141;
    pub const POOL_FREE: u8 = 142;
    pub const POOL_REALLOC_FROM: u8 = 143;
    pub const POOL_REALLOC: u8 = 144;
    pub const POOL_BEGIN: u8 = 145;
    pub const POOL_END: u8 = 146;
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Record {
    pub head: u64,
    pub address: u64,
    pub size: u64,
    pub tail: u64,
}

pub const TICKS_MASK: u64 = (1 << 56) - 1;

impl Record {
    #[inline]
    pub fn kind(&self) -> u8 {
        self.head as u8
    }
    #[inline]
    pub fn ticks(&self) -> u64 {
        self.head >> 8
    }
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.size & ((1 << 48) - 1)
    }
    #[inline]
    pub fn detail(&self) -> u16 {
        (self.size >> 48) as u16
    }
    #[inline]
    pub fn duration(&self) -> u64 {
        self.tail >> 32
    }
    #[inline]
    pub fn node(&self) -> u32 {
        self.tail as u32
    }
}

#[repr(C)]
pub struct Chunk {
    pub next: AtomicU32,
    pub next_free: AtomicU32,
    unused: [u32; 6],
    pub records: [Record; RECORDS_PER_CHUNK],
}

#[repr(C, align(64))]
pub struct ThreadSlot {
    pub guard: AtomicU64,
    pub published: AtomicU64,
    pub first_chunk: AtomicU32,
    unused: u32,
    pub waiting: AtomicU64,
    pub walks: AtomicU64,
    pub walked_frames: AtomicU64,
    pub full_walks: AtomicU32,
    pub rule_misses: AtomicU32,
    pub recorder_ticks: AtomicU64,
    pub overlap_pairs: AtomicU64,
    pub overlap_ticks: AtomicI64,
}

/// In a guard: the recorder is at work, and not the real function.
pub const RECORDER_AT_WORK: u64 = 1;
/// In a guard: the real function is at work, and its event counts from its end.
pub const COUNTS_AT_END: u64 = 2;
/// The thread waits for a chunk, and no event has begun.
pub const WAITS_BETWEEN: u64 = 2;

pub const FIRST_NODE: u32 = 8;

#[repr(C)]
pub struct StackNode {
    pub key: AtomicU64,
    pub parent: u32,
    unused: u32,
}

pub const MODULE_SHIFT: u32 = 48;
pub const ADDRESS_MASK: u64 = (1 << MODULE_SHIFT) - 1;

pub const MODULE_BLOB_BYTES: usize = 64;
pub const MARK_BLOB_BYTES: usize = 8;
pub const POOL_BLOB_BYTES: usize = 24;
pub const EXEC_BLOB_BYTES: usize = 8;
pub const USAGE_BLOB_BYTES: usize = 64;
/// Scope of a usage blob.
pub const USAGE_OF_PROCESS: u32 = 1;

pub const CLOCK_TSC: u32 = 0;
pub const CLOCK_MONOTONIC: u32 = 1;

#[repr(C, align(64))]
pub struct ArenaHeader {
    pub magic: u64,
    pub version: u32,
    pub max_slots: u32,
    pub arena_bytes: u64,
    pub slots_offset: u64,
    pub chunks_offset: u64,
    pub nodes_offset: u64,
    pub max_chunks: u32,
    pub max_nodes: u32,
    pub stack_depth: u32,
    pub clock: u32,
    pub image: u32,
    unused0: u32,
    to_recorder: [u8; 56],

    pub stop: AtomicU32,
    pub heartbeat: AtomicU32,
    pub chunk_limit: AtomicU32,
    pub supervisor_sleeps: AtomicU32,
    pub chunk_returned: AtomicU32,
    to_supervisor: [u8; 44],

    pub free_chunks: AtomicU64,
    pub mapped_at: AtomicU64,
    pub chunks_used: AtomicU32,
    pub slots_used: AtomicU32,
    pub node_count: AtomicU32,
    pub doorbell: AtomicU32,
    pub threads_begun: AtomicU32,
    pub waits: AtomicU32,
    pub wait_ticks: AtomicU64,
    pub lost_forks: AtomicU32,
    pub nested: AtomicU32,
    pub dropped: AtomicU64,
    pub own_allocator: AtomicU32,
    pub imports_patched: AtomicU32,
    pub unwind_checked: AtomicU64,
    pub unwind_disagreed: AtomicU64,
    to_both: [u8; 40],

    pub time: AtomicU64,
    pub counter_forbidden: AtomicU32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Hello {
    pub magic: u64,
    pub version: u32,
    pub forked: u32,
    pub parent_image: u32,
    pub pid: u32,
    pub address_space_limit: u64,
    pub stamp_ticks: u64,
    pub token: [u64; 2],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub struct Welcome {
    pub magic: u64,
    pub version: u32,
    pub accepted: u32,
    pub arena_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    /// Compiles a list of the recorder's sizes and offsets and compares it with this file's.
    #[test]
    fn layout_is_the_recorders() {
        let mut source =
            String::from("#include \"wire.hpp\"\n#include <cstdio>\nusing namespace memtoll::wire;\nint main() {\n");
        let mut expected = String::new();
        macro_rules! same {
            ($type:ident { $($field:ident),* }) => {
                let name = stringify!($type);
                source += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
                expected += &format!("{name} {}\n", size_of::<$type>());
                $(
                    let field = stringify!($field);
                    source += &format!("printf(\"{field} %zu\\n\", __builtin_offsetof({name}, {field}));\n");
                    expected += &format!("{field} {}\n", offset_of!($type, $field));
                )*
            };
        }
        same!(Record { head, address, size, tail });
        same!(Chunk { next, next_free, records });
        same!(ThreadSlot {
            guard,
            published,
            first_chunk,
            waiting,
            walks,
            walked_frames,
            full_walks,
            rule_misses,
            recorder_ticks,
            overlap_pairs,
            overlap_ticks
        });
        same!(StackNode { key, parent });
        same!(ArenaHeader {
            magic,
            version,
            max_slots,
            arena_bytes,
            slots_offset,
            chunks_offset,
            nodes_offset,
            max_chunks,
            max_nodes,
            stack_depth,
            clock,
            image,
            stop,
            heartbeat,
            chunk_limit,
            supervisor_sleeps,
            chunk_returned,
            free_chunks,
            mapped_at,
            chunks_used,
            slots_used,
            node_count,
            doorbell,
            threads_begun,
            waits,
            wait_ticks,
            lost_forks,
            nested,
            dropped,
            own_allocator,
            imports_patched,
            unwind_checked,
            unwind_disagreed,
            time,
            counter_forbidden
        });
        same!(Hello { magic, version, forked, parent_image, pid, address_space_limit, stamp_ticks, token });
        same!(Welcome { magic, version, accepted, arena_bytes });
        for (name, bytes) in [
            ("ModuleBlob", MODULE_BLOB_BYTES),
            ("MarkBlob", MARK_BLOB_BYTES),
            ("PoolBlob", POOL_BLOB_BYTES),
            ("ExecBlob", EXEC_BLOB_BYTES),
            ("UsageBlob", USAGE_BLOB_BYTES),
        ] {
            source += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
            expected += &format!("{name} {bytes}\n");
        }
        for (name, number) in [
            ("kRecorderAtWork", RECORDER_AT_WORK as u8),
            ("kCountsAtEnd", COUNTS_AT_END as u8),
            ("kWaitsBetween", WAITS_BETWEEN as u8),
            ("kPadding", kind::PADDING),
            ("kReallocFrom", kind::REALLOC_FROM),
            ("kLongDuration", kind::LONG_DURATION),
            ("kThreadBegin", kind::THREAD_BEGIN),
            ("kThreadEnd", kind::THREAD_END),
            ("kModule", kind::MODULE),
            ("kThreadName", kind::THREAD_NAME),
            ("kMark", kind::MARK),
            ("kExec", kind::EXEC),
            ("kExit", kind::EXIT),
            ("kBreak", kind::BREAK),
            ("kUsage", kind::USAGE),
            ("kFilled", kind::FILLED),
            ("kPoolAlloc", kind::POOL_ALLOC),
            ("kPoolFree", kind::POOL_FREE),
            ("kPoolReallocFrom", kind::POOL_REALLOC_FROM),
            ("kPoolRealloc", kind::POOL_REALLOC),
            ("kPoolBegin", kind::POOL_BEGIN),
            ("kPoolEnd", kind::POOL_END),
        ] {
            source += &format!("printf(\"{name} %d\\n\", {name});\n");
            expected += &format!("{name} {number}\n");
        }
        source += "}\n";

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("layout.cpp");
        std::fs::write(&file, source).unwrap();
        let program = folder.path().join("layout");
        let recorder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recorder/src");
        let compiled = Command::new("c++")
            .args(["-std=c++20", "-Wno-invalid-offsetof", "-I", recorder, "-o"])
            .arg(&program)
            .arg(&file)
            .status();
        assert!(compiled.unwrap().success());
        let printed = Command::new(&program).output().unwrap().stdout;
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }
}
