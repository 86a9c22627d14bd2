//! Threads that wait: for each other in the allocator, or for the disk.

/// Of the CPU time.
const LEAST_SHARE: f64 = 0.02;
/// Ns.
const LEAST: f64 = 1e6;

/// Whether a wait of all threads together is worth a word beside the CPU time, 0 where that is not known. Both in ns.
pub fn is_much_waiting(waiting: f64, processor: f64) -> bool {
    waiting >= (processor * LEAST_SHARE).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_much_beside_what_the_program_works() {
        assert!(is_much_waiting(1e6, 0.0) && !is_much_waiting(0.9e6, 0.0));
        assert!(is_much_waiting(3e6, 100e6) && !is_much_waiting(1.9e6, 100e6));
    }
}
