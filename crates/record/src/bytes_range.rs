//! A number of bytes that is known within two bounds.

use memtoll_trace::meta::GiveOrTake;
use std::ops::Add;

/// From the least to the most that it may be.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct BytesRange {
    pub least: u64,
    pub most: u64,
}

impl BytesRange {
    pub fn middle(self) -> u64 {
        self.least + (self.most - self.least) / 2
    }

    /// By how much the middle may be wrong.
    pub fn error(self) -> u64 {
        (self.most - self.least).div_ceil(2)
    }

    /// `all` without a share that is itself only known within bounds.
    pub fn rest_of(all: u64, share: BytesRange) -> BytesRange {
        BytesRange { least: all.saturating_sub(share.most), most: all.saturating_sub(share.least) }
    }

    /// A figure and its error.
    pub fn around(middle: u64, error: u64) -> BytesRange {
        BytesRange { least: middle.saturating_sub(error), most: middle.saturating_add(error) }
    }
}

impl From<GiveOrTake> for BytesRange {
    fn from(of: GiveOrTake) -> BytesRange {
        BytesRange::around(of.bytes, of.error)
    }
}

impl From<BytesRange> for GiveOrTake {
    fn from(of: BytesRange) -> GiveOrTake {
        GiveOrTake { bytes: of.middle(), error: of.error() }
    }
}

impl Add for BytesRange {
    type Output = BytesRange;

    fn add(self, other: BytesRange) -> BytesRange {
        BytesRange { least: self.least.saturating_add(other.least), most: self.most.saturating_add(other.most) }
    }
}
