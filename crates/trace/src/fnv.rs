//! The hash FNV-1a: the same on each machine and in each version. `recorder/src/fnv.hpp` is the same.

/// In 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Fnv64(pub u64);

impl Fnv64 {
    /// Of nothing.
    pub const EMPTY: Fnv64 = Fnv64(0xcbf2_9ce4_8422_2325);

    /// With further bytes.
    pub fn with(self, bytes: impl IntoIterator<Item = u8>) -> Fnv64 {
        let step = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Fnv64(bytes.into_iter().fold(self.0, step))
    }
}

/// In 32 bits, of all bytes.
pub fn fnv32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!((fnv32(b""), fnv32(b"foobar")), (0x811c_9dc5, 0xbf9c_f968));
        assert_eq!(Fnv64::EMPTY.with(*b"foobar"), Fnv64(0x8594_4171_f739_67e8));
    }
}
