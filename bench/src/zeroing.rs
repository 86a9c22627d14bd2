//! What zeroing a page takes inside a page fault, measured without memtoll and without samples.
//!
//! A page that `fallocate` gives to a file in memory is zeroed when it is first mapped, and not when another mapping of the
//! file gets it. The kernel does the same otherwise, so the difference is the zeroing. `MADV_POPULATE_WRITE` maps the pages
//! without touching them: a byte written into each would be in a cache after the zeroing, and in none the second time, which
//! costs as much.
//!
//! Samples do not tell it: the processor goes on after the instruction that zeroes a page while the zeroes are still on their
//! way, waits at the next locked instruction, and is sampled there. In `shmem_fault` after `fallocate`, one sample of seven
//! was in `clear_page_erms`, the others in the function that called it. Only zeroing a huge page takes so long that nearly
//! all samples are in the right place.

use std::ptr::null_mut;

const PAGE: usize = 4096;
/// Pages that a cache still holds when they are zeroed.
const CACHED: usize = 64;
/// Pages that no cache of a processor's own holds.
const UNCACHED: usize = 16 << 10;

/// What zeroing a page takes, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zeroing {
    /// Of a page that was freed just now.
    pub cached: f64,
    /// Of one that was not used for long.
    pub uncached: f64,
}

/// Measures it, in 0.5 s or so.
pub fn measure() -> Result<Zeroing, String> {
    Ok(Zeroing { cached: difference(CACHED, 400)?, uncached: difference(UNCACHED, 5)? })
}

/// The median of some rounds, ns a page.
fn difference(pages: usize, rounds: usize) -> Result<f64, String> {
    let failed = |what: &str| format!("{what}: {}", std::io::Error::last_os_error());
    // SAFETY: the name ends with a zero byte.
    let file = unsafe { libc::memfd_create(c"zeroing".as_ptr(), libc::MFD_CLOEXEC) };
    if file < 0 {
        return Err(failed("memfd_create"));
    }
    let bytes = (pages * PAGE) as libc::off_t;
    let round = || {
        // SAFETY: the file is open.
        if unsafe { libc::fallocate(file, 0, 0, bytes) } != 0 {
            return Err(failed("fallocate"));
        }
        let differ = bring(file, pages)? - bring(file, pages)?;
        // SAFETY: nothing maps the file any more.
        if unsafe { libc::ftruncate(file, 0) } != 0 {
            return Err(failed("ftruncate"));
        }
        Ok(differ / pages as f64)
    };
    let differences: Result<Vec<f64>, String> = (0..rounds).map(|_| round()).collect();
    // SAFETY: opened above, and not used again.
    unsafe { libc::close(file) };
    Ok(crate::run::median(differences?))
}

/// What it takes to bring all pages into a new mapping, ns of processor time.
fn bring(file: i32, pages: usize) -> Result<f64, String> {
    let bytes = pages * PAGE;
    // SAFETY: a new mapping, wherever the kernel finds room.
    let start = unsafe { libc::mmap(null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, file, 0) };
    if start == libc::MAP_FAILED {
        return Err(format!("mmap: {}", std::io::Error::last_os_error()));
    }
    let began = processor_time();
    // SAFETY: mapped above, and nobody else has it.
    let result = unsafe { libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) };
    let took = processor_time() - began;
    let error = std::io::Error::last_os_error();
    // SAFETY: mapped above, and not used again.
    unsafe { libc::munmap(start, bytes) };
    if result != 0 {
        return Err(format!("MADV_POPULATE_WRITE, which Linux has from 5.14 on: {error}"));
    }
    Ok(took)
}

/// Of this thread, ns.
fn processor_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `now`.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::Prices;

    #[test]
    fn the_machines_price_of_zeroing_is_what_it_takes_inside_a_fault() {
        // Other users of the caches make both dearer, and not at the same moment: rounds in turn, and of their ratios the medians.
        let rounds = (0..5).map(|_| (measure().unwrap(), memtoll_machine::prices().unwrap())).collect::<Vec<_>>();
        let ratio = |of: &dyn Fn(&(Zeroing, Prices)) -> f64| crate::run::median(rounds.iter().map(of));
        let inside = |prices: &Prices| prices.minor_fault.median - prices.minor_fault_unzeroed.median;
        let cached = ratio(&|(zeroing, prices)| inside(prices) / (zeroing.cached + 15.0));
        let (least, most) = (
            ratio(&|(zeroing, prices)| prices.zeroing.median / zeroing.cached),
            ratio(&|(zeroing, prices)| prices.zeroing.median / zeroing.uncached),
        );
        assert!(cached < 2.0 && least > 0.5 && most < 1.5, "{cached:.2}, {least:.2}, {most:.2}: {rounds:?}");
    }
}
