use serde::{Deserialize, Serialize};

/// A process that was running before it was recorded, and what it had then.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Attached {
    /// When its calls began to be recorded, units.
    pub time: u64,
    /// Blocks that it had then, as the headers of its heap tell.
    pub blocks: u64,
    /// Their usable bytes.
    pub bytes: u64,
    /// How many of them were released; null: the recording was cut off.
    pub freed: Option<u64>,
    /// Why that is not known, or not all of it; null: it is.
    pub unknown: Option<String>,
    /// Frees and reallocations of blocks that are not among these and whose allocation was not recorded.
    pub unknown_frees: u64,
    /// The stack node of these blocks; 0: there are none.
    pub node: u32,
}
