//! What is settled for a call site as a whole, so that what its parts cost adds up.

/// How the prices of a call site are divided among its parts: spans of time, threads, sizes.
///
/// Each page fault costs what faults cost on average. Where the faults inside calls were cheaper, the rest of the calls' time, which is
/// the allocator's, would be negative in some parts and too large in others. So the allocator's time is settled once, for all calls of
/// a site, and each part has its share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settled {
    /// Of the time in its calls, without waiting and work on mappings, the share that the allocator takes beyond its fastest calls.
    pub beyond: f64,
    /// The share of its small page faults that zeroed their pages.
    pub zeroed: f64,
}
