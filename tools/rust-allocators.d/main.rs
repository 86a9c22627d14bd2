//! Allocates with threads, and says at its end what it has asked its allocator for: `allocations bytes releases`. A reallocation is an
//! allocation and a release, as in memtoll's reports.
//!
//!   counted THREADS

use std::alloc::{GlobalAlloc, Layout};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[cfg(feature = "tikv-jemallocator")]
static INNER: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "jemallocator")]
static INNER: jemallocator::Jemalloc = jemallocator::Jemalloc;
#[cfg(feature = "mimalloc")]
static INNER: mimalloc::MiMalloc = mimalloc::MiMalloc;
#[cfg(feature = "snmalloc-rs")]
static INNER: snmalloc_rs::SnMalloc = snmalloc_rs::SnMalloc;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static RELEASES: AtomicU64 = AtomicU64::new(0);

struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

fn acquired(size: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    BYTES.fetch_add(size as u64, Relaxed);
}

// SAFETY: all of it is the allocator's, which is asked for the same.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        acquired(layout.size());
        unsafe { INNER.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        acquired(layout.size());
        unsafe { INNER.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        RELEASES.fetch_add(1, Relaxed);
        unsafe { INNER.dealloc(block, layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        acquired(size);
        RELEASES.fetch_add(1, Relaxed);
        unsafe { INNER.realloc(block, layout, size) }
    }
}

/// Aligned as vector instructions want it.
#[repr(align(64))]
struct Wide([u8; 192]);

fn work(thread: usize) -> usize {
    let mut words: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut wide: Vec<Box<Wide>> = Vec::new();
    for i in 0..2_000 {
        words.entry(format!("{} of {thread}", i % 700)).or_default().extend_from_slice(&[i as u8; 9]);
        let zeroes = vec![0u16; 1 + i % 300];
        if zeroes[i % zeroes.len()] == 0 && i % 3 == 0 {
            wide.push(Box::new(Wide([i as u8; 192])));
        }
        if i % 500 == 0 {
            wide.clear();
        }
    }
    words.values().map(Vec::len).sum::<usize>() + wide.iter().map(|one| usize::from(one.0[7])).sum::<usize>()
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn say() {
    let mut line = [0; 100];
    let mut rest = &mut line[..];
    let _ = writeln!(rest, "{} {} {}", ALLOCATIONS.load(Relaxed), BYTES.load(Relaxed), RELEASES.load(Relaxed));
    let left = rest.len();
    // Not through standard output, which has a buffer.
    use std::os::fd::FromRawFd;
    // SAFETY: the descriptor stays open until the process ends.
    let mut out = std::mem::ManuallyDrop::new(unsafe { std::fs::File::from_raw_fd(1) });
    let _ = out.write_all(&line[..100 - left]);
}

fn main() {
    // SAFETY: the function uses nothing that is gone by then.
    unsafe { atexit(say) };
    let threads: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(1);
    let all: Vec<_> = (0..threads).map(|thread| std::thread::spawn(move || work(thread))).collect();
    let done: usize = all.into_iter().map(|thread| thread.join().unwrap_or_default()).sum();
    assert!(done > 0);
}
