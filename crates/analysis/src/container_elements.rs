//! What containers are made of.

/// What is in the blocks of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Nothing but elements.
    Elements,
    /// Rust's `Rc<[T]>` and `Arc<[T]>`: two counters, then elements.
    BehindCounters,
    /// Rust's hash tables: buckets, a power of two of them, then a byte for each and 16 more.
    Buckets,
}

/// The elements of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element {
    /// Bytes.
    pub size: u64,
    /// How they lie in a block.
    pub layout: Layout,
}
