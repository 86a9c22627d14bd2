//! Amounts, each of a type of its own, so that two of them cannot be mixed up. They cost nothing. Counts stay plain numbers:
//! what they count is in their names, and sums and ratios of different ones are usual.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Sub, SubAssign};

/// An amount or a count, for what treats all of them alike.
pub trait Amount: Copy {
    /// In its unit.
    fn number(self) -> u64;
    /// The same, to be changed.
    fn number_mut(&mut self) -> &mut u64;
}

impl Amount for u64 {
    #[inline(always)]
    fn number(self) -> u64 {
        self
    }

    #[inline(always)]
    fn number_mut(&mut self) -> &mut u64 {
        self
    }
}

macro_rules! amount {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        #[repr(transparent)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// None at all.
            pub const ZERO: $name = $name(0);
            /// More than there ever is.
            pub const MAX: $name = $name(u64::MAX);

            /// The difference, or nothing.
            #[inline(always)]
            pub const fn saturating_sub(self, less: $name) -> $name {
                $name(self.0.saturating_sub(less.0))
            }

            /// The sum, or the largest value.
            #[inline(always)]
            pub const fn saturating_add(self, more: $name) -> $name {
                $name(self.0.saturating_add(more.0))
            }

            /// The sum; numbers of a damaged file may be beyond all sums.
            #[inline(always)]
            pub const fn wrapping_add(self, more: $name) -> $name {
                $name(self.0.wrapping_add(more.0))
            }

            /// The difference, which may be less than 0: it wraps around.
            #[inline(always)]
            pub const fn wrapping_sub(self, less: $name) -> $name {
                $name(self.0.wrapping_sub(less.0))
            }

            /// Multiplied by a factor, or the largest number.
            #[inline(always)]
            pub const fn times(self, count: u64) -> $name {
                $name(self.0.saturating_mul(count))
            }
        }

        impl Amount for $name {
            #[inline(always)]
            fn number(self) -> u64 {
                self.0
            }

            #[inline(always)]
            fn number_mut(&mut self) -> &mut u64 {
                &mut self.0
            }
        }

        impl Add for $name {
            type Output = $name;

            #[inline(always)]
            fn add(self, more: $name) -> $name {
                $name(self.0 + more.0)
            }
        }

        impl Sub for $name {
            type Output = $name;

            #[inline(always)]
            fn sub(self, less: $name) -> $name {
                $name(self.0 - less.0)
            }
        }

        impl AddAssign for $name {
            #[inline(always)]
            fn add_assign(&mut self, more: $name) {
                self.0 += more.0;
            }
        }

        impl Div<u64> for $name {
            type Output = $name;

            #[inline(always)]
            fn div(self, parts: u64) -> $name {
                $name(self.0 / parts)
            }
        }

        impl SubAssign for $name {
            #[inline(always)]
            fn sub_assign(&mut self, less: $name) {
                self.0 -= less.0;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = $name>>(all: I) -> $name {
                $name(all.map(|each| each.0).sum())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
                write!(to, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

amount! {
    /// An instant or a span, as the recorder's clock counts.
    Ticks
}
amount! {
    /// An instant since the recording began or a span, as the file counts.
    Units
}
amount! {
    /// A span.
    Nanoseconds
}
amount! {
    /// Bytes of memory.
    Bytes
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Bytes {
        Bytes(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_one_kind_add_up() {
        let all: Ticks = [Ticks(2), Ticks(3)].into_iter().sum();
        assert_eq!((all + Ticks(1), all - Ticks(1)), (Ticks(6), Ticks(4)));
        assert_eq!((Ticks(1).saturating_sub(all), Bytes(3).times(4)), (Ticks::ZERO, Bytes(12)));
        assert_eq!(Units::MAX.saturating_add(Units(1)), Units::MAX);
        assert_eq!(Units(1).wrapping_sub(Units(2)).wrapping_add(Units(2)), Units(1));
        assert_eq!(format!("{:?} {:?}", Units(5), Nanoseconds(6)), "Units(5) Nanoseconds(6)");
    }

    #[test]
    fn a_type_of_its_own_takes_no_more_room() {
        assert_eq!([size_of::<Ticks>(), size_of::<Units>(), size_of::<Nanoseconds>(), size_of::<Bytes>()], [8; 4]);
    }
}
