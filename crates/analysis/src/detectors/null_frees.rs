//! Null pointers that are freed.

const FEWEST: u64 = 1000;

/// Whether a line frees null pointers so often that a test in front of the call is worth it.
pub fn are_many_null_frees(calls: u64) -> bool {
    calls >= FEWEST
}
