//! What is settled for a call site as a whole, so that what its parts cost adds up.

/// How the prices of a call site are divided among its parts: spans of time, threads, sizes, processes.
///
/// Inside a call, page faults have the price that faults have in the mean. In a part whose faults were cheaper, that leaves less than
/// nothing for the allocator, and in another part too much. So it is settled once, for all calls of a site, and each part has its share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settled {
    /// The share of the time in its calls, without waiting and work on mappings, that the allocator took beyond its fastest calls.
    pub beyond: f64,
    /// The share of its small page faults that zeroed their pages.
    pub zeroed: f64,
}
