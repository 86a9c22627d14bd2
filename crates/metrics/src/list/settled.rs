//! What is settled for a call site as a whole, so that what its parts cost adds up.

/// How the prices of a call site are divided among its parts: spans of time, threads, sizes.
///
/// Each page fault costs what faults cost on average. Where the faults inside calls were cheaper, the rest of the calls' time, which is
/// the allocator's, would be negative in some parts and too large in others. So the allocator's time is settled once, for all calls of
/// a site, and each part has its share.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Settled {
    /// Of the time in its calls, without waiting and work on mappings, what the allocator takes beyond its fastest calls.
    pub beyond: Ratio,
    /// Of its small page faults, those that zeroed their pages.
    pub zeroed: Ratio,
}

impl Settled {
    /// The same with `share` of what the allocator takes beyond its fastest calls.
    #[must_use]
    pub fn with_share_beyond(self, share: f64) -> Settled {
        Settled { beyond: Ratio { part: self.beyond.part * share, ..self.beyond }, ..self }
    }

    /// Of this site and another one, which are divided as one group.
    #[must_use]
    pub fn with(self, other: Settled) -> Settled {
        Settled { beyond: self.beyond.with(other.beyond), zeroed: self.zeroed.with(other.zeroed) }
    }
}

/// A part of something.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ratio {
    pub part: f64,
    pub whole: f64,
}

impl Ratio {
    /// Of something without amount, nothing.
    pub fn share(self) -> f64 {
        if self.whole > 0.0 { self.part / self.whole } else { 0.0 }
    }

    fn with(self, other: Ratio) -> Ratio {
        Ratio { part: self.part + other.part, whole: self.whole + other.whole }
    }
}
