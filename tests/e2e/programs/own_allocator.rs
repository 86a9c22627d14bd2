//! own_allocator: a Rust program whose blocks come from an allocator inside it, under the names that jemalloc has there.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Jemalloc;

static USED: AtomicUsize = AtomicUsize::new(0);
static mut MEMORY: [u64; 1 << 18] = [0; 1 << 18];

#[no_mangle]
#[inline(never)]
pub extern "C" fn _rjem_malloc(size: usize) -> *mut u8 {
    let at = USED.fetch_add((size + 15) / 16 * 2, Ordering::Relaxed);
    unsafe { (&raw mut MEMORY).cast::<u64>().add(at).cast() }
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn _rjem_sdallocx(block: *mut u8, _size: usize, _flags: i32) {
    std::hint::black_box(block);
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        _rjem_malloc(layout.size())
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        _rjem_sdallocx(block, layout.size(), 0);
    }
}

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() {
    let made: Vec<Box<u64>> = (0..1000).map(Box::new).collect();
    println!("{}", made.len());
}
