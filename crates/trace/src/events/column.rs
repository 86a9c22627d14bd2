//! Which columns an events block has.

/// Columns in the order of the file.
#[derive(Clone, Copy)]
pub(super) enum Column {
    /// Of every event: the flag byte.
    Flags,
    /// Of every event: time units since the event before, or [`EXCESS`].
    Time,
    /// Of every event: its duration in time units, or [`EXCESS`].
    Duration,
    /// Of a site that was not guessed: its number, bits 7..0. The next number that no site has yet: a new one.
    Site,
    /// Bits 15..8.
    SiteHigh,
    /// What of times and durations is above [`EXCESS`].
    Excess,
    /// Of a new site: operation, detail, distance of its node from that of the new site before.
    NewSite,
    /// Sizes that were not guessed.
    Size,
    /// Addresses that were not guessed.
    Address,
    /// Of a release: which block.
    Reference,
    /// Numbers of threads.
    Thread,
}

/// Columns with one byte for each event come first, then those with at most one.
pub(super) const EVENT_COLUMNS: usize = Column::Site as usize;
pub(super) const BYTE_COLUMNS: usize = Column::Excess as usize;
pub(super) const COLUMNS: usize = Column::Thread as usize + 1;
