//! Variable-length integers (LEB128) and the errors of reading them.

use crate::Damage;

/// Appends `value`, 7 bits a byte, least significant first.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Small magnitudes of either sign as small numbers: 0, -1, 1, -2 … become 0, 1, 2, 3 …
#[inline]
pub fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Reads from the front of a byte slice.
#[derive(Clone, Copy)]
pub struct Unread<'a> {
    rest: &'a [u8],
}

impl<'a> Unread<'a> {
    /// Starts at the front of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Unread { rest: bytes }
    }

    /// Bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Damage> {
        let (&first, rest) = self.rest.split_first().ok_or(Damage::Short)?;
        self.rest = rest;
        Ok(first)
    }

    /// Goes past some zeros; `false`, and nowhere, if the next integers are not all zeros.
    pub fn skip_zeros(&mut self, count: usize) -> bool {
        let zeros = self.rest.get(..count).filter(|next| next.iter().all(|byte| *byte == 0));
        self.rest = &self.rest[zeros.map_or(0, <[u8]>::len)..];
        zeros.is_some()
    }

    /// Skips variable-length integers.
    pub fn skip_varints(&mut self, count: usize) -> Result<(), Damage> {
        let mut left = count;
        let mut at = 0;
        while left > 0 {
            // No integer is shorter than a byte, so there are none too many among as many bytes as integers are left.
            let next = self.rest.get(at..).filter(|rest| rest.len() >= left).ok_or(Damage::Short)?;
            let ends = next[..left].iter().filter(|byte| **byte < 0x80).count();
            at += left;
            left -= ends;
        }
        self.rest = &self.rest[at..];
        Ok(())
    }

    /// Whether all that is left are variable-length integers of at most 64 bits.
    pub fn check_varints(&self) -> Result<(), Damage> {
        // Those that are too long have four bytes in a row that go on, wherever one begins to count. Hardly any has as many.
        const GO_ON: u32 = 0x8080_8080;
        let goes_on = |word: &[u8; 4]| u32::from_ne_bytes(*word) & GO_ON == GO_ON;
        let are_short = self.rest.as_chunks::<4>().0.iter().fold(true, |so_far, word| so_far & !goes_on(word));
        if are_short && self.rest.last().is_none_or(|last| *last < 0x80) {
            return Ok(());
        }
        let mut all = *self;
        while all.remaining() > 0 {
            all.varint()?;
        }
        Ok(())
    }

    /// The next variable-length integer.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Damage> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first as u64);
        }
        let mut value = (first & 0x7f) as u64;
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                return Err(Damage::Value("an integer of more than 64 bits"));
            }
            value |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    /// The next integer, which must fit 32 bits.
    #[inline]
    pub fn varint32(&mut self) -> Result<u32, Damage> {
        u32::try_from(self.varint()?).map_err(|_| Damage::Value("an integer of more than 32 bits"))
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Damage> {
        if count > self.rest.len() {
            return Err(Damage::Short);
        }
        let (front, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_passed_over() {
        let values = [0, 300, 1, u64::MAX, 127, 1 << 40, 9];
        let mut out = Vec::new();
        values.iter().for_each(|value| put_varint(&mut out, *value));
        for count in 0..=values.len() {
            let mut bytes = Unread::new(&out);
            bytes.skip_varints(count).unwrap();
            let left: Vec<u64> = std::iter::from_fn(|| bytes.varint().ok()).collect();
            assert_eq!(left, values[count..]);
        }
        assert!(Unread::new(&out).skip_varints(values.len() + 1).is_err());
        assert!(Unread::new(&[0x80, 0x80]).skip_varints(1).is_err());
    }

    #[test]
    fn integers_come_back() {
        for value in [0, 1, 127, 128, 300, u32::MAX as u64, 1 << 62, u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            let mut bytes = Unread::new(&out);
            assert_eq!(bytes.varint().unwrap(), value);
            assert_eq!(bytes.remaining(), 0);
        }
        for value in [0, -1, 1, i64::MIN, i64::MAX] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }

    #[test]
    fn damage_is_an_error() {
        assert!(matches!(Unread::new(&[0x80]).varint(), Err(Damage::Short)));
        assert!(matches!(Unread::new(&[0xff; 11]).varint(), Err(Damage::Value(_))));
        assert!(matches!(Unread::new(&[0xff, 0xff, 0xff, 0xff, 0x7f]).varint32(), Err(Damage::Value(_))));
    }
}
