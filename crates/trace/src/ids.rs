//! Ids, each of a type of its own, so that two of them cannot be mixed up, and the amounts that events have. They cost nothing: a [`NodeId`] is
//! a number that is never 0, and `Option<NodeId>` is as long, with `None` as the file's 0.

use crate::Damage;
pub use memtoll_text::amounts::{Bytes, Ticks, Units};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::num::NonZeroU32;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $nobody:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(transparent)]
        #[serde(transparent)]
        pub struct $name(NonZeroU32);

        impl $name {
            /// The one with this number; 0 is none.
            #[inline(always)]
            pub const fn new(number: u32) -> Option<$name> {
                match NonZeroU32::new(number) {
                    Some(number) => Some($name(number)),
                    None => None,
                }
            }

            /// Its number.
            #[inline(always)]
            pub const fn get(self) -> u32 {
                self.0.get()
            }

            /// The one that comes `by` later.
            #[inline(always)]
            pub const fn later(self, by: u32) -> $name {
                $name(self.0.saturating_add(by))
            }

            /// The number in the file: 0 for none.
            #[inline(always)]
            pub const fn or_zero(id: Option<$name>) -> u32 {
                match id {
                    Some(id) => id.get(),
                    None => 0,
                }
            }

            /// The one with this number, which is not 0.
            #[inline(always)]
            pub fn somebody(number: u32) -> Result<$name, Damage> {
                $name::new(number).ok_or(Damage::Value($nobody))
            }

            /// Its place in a table by number.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.get() as usize
            }

            /// The same where 0 has a place, too: the first one.
            #[inline(always)]
            pub const fn index_of(id: Option<$name>) -> usize {
                $name::or_zero(id) as usize
            }

            /// For serde: as it stands in the file, with 0 for none.
            pub fn write_or_zero<S: Serializer>(id: &Option<$name>, to: S) -> Result<S::Ok, S::Error> {
                $name::or_zero(*id).serialize(to)
            }

            /// For serde: the inverse of [`Self::write_or_zero`].
            pub fn read_or_zero<'de, D: Deserializer<'de>>(from: D) -> Result<Option<$name>, D::Error> {
                u32::deserialize(from).map($name::new)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
                write!(to, "{}({})", stringify!($name), self.get())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
                self.0.fmt(to)
            }
        }
    };
}

/// Ids of things in a table: their places, from 0.
#[macro_export]
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u32);

        impl $name {
            /// The one at this place.
            #[inline(always)]
            pub const fn new(place: u32) -> $name {
                $name(place)
            }

            /// Its place.
            #[inline(always)]
            pub const fn get(self) -> u32 {
                self.0
            }

            /// Its place, for slices.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(to, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

id! {
    /// A node of a process image's stack tree: a call stack.
    NodeId, "a stack with the number 0"
}
id! {
    /// A thread of a process image, by the order in which they began to record.
    ThreadNo, "a thread with the number 0"
}

impl ThreadNo {
    /// The one that began first.
    pub const FIRST: ThreadNo = ThreadNo(NonZeroU32::MIN);
}

impl ImageNo {
    /// The one that began first.
    pub const FIRST: ImageNo = ImageNo(NonZeroU32::MIN);
}

id! {
    /// A process image of a recording, by the order in which they began.
    ImageNo, "an image with the number 0"
}

/// A block of memory of a process image, by the order of acquisitions, from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct BlockNo(pub u64);

/// An address in the program's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct Address(pub u64);

impl Address {
    /// What a failed acquisition returns.
    pub const NULL: Address = Address(0);

    /// Whether it is none.
    #[inline(always)]
    pub const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The one so many bytes on, or the last one.
    #[inline(always)]
    pub const fn saturating_add(self, bytes: Bytes) -> Address {
        Address(self.0.saturating_add(bytes.0))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        write!(to, "Address({:#x})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_no_room() {
        assert_eq!(size_of::<Option<NodeId>>(), size_of::<u32>());
        assert_eq!(NodeId::or_zero(NodeId::new(7)), 7);
        assert_eq!((ThreadNo::new(0), ThreadNo::or_zero(None)), (None, 0));
        assert_eq!((NodeId::index_of(NodeId::new(7)), NodeId::index_of(None)), (7, 0));
        assert_eq!(ThreadNo::FIRST.later(4), ThreadNo::new(5).unwrap());
        assert!(ThreadNo::somebody(1).is_ok() && ThreadNo::somebody(0).is_err());
    }

    #[test]
    fn ids_say_what_they_are() {
        assert_eq!(format!("{:?} {:?}", BlockNo(6), Address(31)), "BlockNo(6) Address(0x1f)");
    }

    #[test]
    fn bytes_lead_from_one_address_to_another() {
        assert_eq!(Address(0x1000).saturating_add(Bytes(16)), Address(0x1010));
        assert_eq!(Address(u64::MAX).saturating_add(Bytes(1)), Address(u64::MAX));
        assert!(Address::NULL.is_null() && !Address(1).is_null());
    }

    #[test]
    fn a_type_of_its_own_takes_no_more_room() {
        assert_eq!([size_of::<Address>(), size_of::<BlockNo>()], [8; 2]);
    }
}
