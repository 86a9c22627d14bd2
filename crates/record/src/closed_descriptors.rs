//! Which of the standard descriptors were closed when this process started.
//!
//! Rust's runtime opens /dev/null in place of closed ones before `main`, and the target would inherit that. So they are
//! looked at before, and closed again in the target.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

static CLOSED: AtomicU8 = AtomicU8::new(0);

extern "C" fn look() {
    for descriptor in 0..3 {
        // SAFETY: asks for the flags of a descriptor, which may be any number.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

// SAFETY: the loader calls the functions of this section before main; this one needs nothing that is not there yet.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Closes in this process what was closed when memtoll started.
pub fn close_again() {
    for descriptor in (0..3).filter(|descriptor| CLOSED.load(Relaxed) >> descriptor & 1 == 1) {
        // SAFETY: what the runtime put there has no owner.
        unsafe { libc::close(descriptor) };
    }
}
