//! Rows as ClickHouse reads them fastest: its format RowBinary.

use crate::identity::Id;

/// Rows as the server reads them fastest.
pub(crate) struct RowBinary {
    pub bytes: Vec<u8>,
}

impl RowBinary {
    /// No rows.
    pub const fn new() -> RowBinary {
        RowBinary { bytes: Vec::new() }
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut RowBinary {
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn length(&mut self, mut length: usize) -> &mut RowBinary {
        while length >= 0x80 {
            self.bytes.push(length as u8 | 0x80);
            length >>= 7;
        }
        self.bytes.push(length as u8);
        self
    }

    pub fn text(&mut self, text: &str) -> &mut RowBinary {
        self.length(text.len()).raw(text.as_bytes())
    }

    /// 128 bits.
    pub fn id(&mut self, id: &Id) -> &mut RowBinary {
        self.raw(id)
    }

    /// A key or a time.
    pub fn int(&mut self, value: i64) -> &mut RowBinary {
        self.raw(&value.to_le_bytes())
    }

    /// Several of them.
    pub fn ints(&mut self, values: &[i64]) -> &mut RowBinary {
        self.length(values.len());
        values.iter().for_each(|value| {
            self.int(*value);
        });
        self
    }

    pub fn count(&mut self, value: u64) -> &mut RowBinary {
        self.raw(&value.to_le_bytes())
    }

    pub fn small(&mut self, value: u32) -> &mut RowBinary {
        self.raw(&value.to_le_bytes())
    }

    /// Any number.
    pub fn number(&mut self, value: f64) -> &mut RowBinary {
        self.raw(&value.to_le_bytes())
    }

    /// Days since 1970.
    pub fn day(&mut self, day: u16) -> &mut RowBinary {
        self.raw(&day.to_le_bytes())
    }
}

/// Days since 1970.
pub(crate) fn days(start_ns: i64) -> u16 {
    const DAY: i64 = 86_400_000_000_000;
    (start_ns / DAY).clamp(0, u16::MAX.into()) as u16
}
