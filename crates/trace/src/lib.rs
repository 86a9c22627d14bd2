//! The `.memtoll` file format, described in `format/FORMAT.md`: writing and reading.

pub mod bytes;
pub mod event;
pub mod events;
pub mod op;

/// What is wrong with a piece of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// The data end before what they announce.
    #[error("the data end too early")]
    Short,
    /// A value that no writer produces.
    #[error("{0}")]
    Value(&'static str),
    /// The compressed data do not decompress to what they should.
    #[error("compressed data are corrupt")]
    Compression,
}
