//! Chapters of events that have none in their file.

/// A chapter that was made when the events were read, because the file has none. What a file has in blocks, it has as
/// payloads.
pub struct Scanned {
    /// How many events blocks it has.
    pub blocks: usize,
    /// Time of the first and of the last event, units.
    pub times: (u64, u64),
    /// The sums.
    pub chapter: Vec<u8>,
    /// How they divide among threads and sizes, if these are not too many.
    pub parts: Option<Vec<u8>>,
    /// How call sites used memory.
    pub patterns: Vec<u8>,
    /// First and last time of the timeline's cells, units.
    pub cells: Option<(u64, u64)>,
    /// What happened when.
    pub timeline: Vec<u8>,
}
