//! Keys that stay the same from one answer to the next, and from one recording of a program to the next as long as its
//! lines stay the same: digests of what rows and nodes are called.

use crate::stacks::Texts;
use memtoll_model::{FrameId, Frames};

/// A digest of texts (FNV-1a, 64 bits).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(u64);

impl Key {
    /// Of nothing: a tree's root.
    pub const EMPTY: Key = Key(0xcbf2_9ce4_8422_2325);

    /// With a further text. Texts do not run into each other.
    pub fn with(self, text: &str) -> Key {
        Key(step(text.bytes().fold(self.0, step), 0xff))
    }

    /// What a frame is called.
    pub fn of_frame(frames: &Frames, frame: FrameId) -> Key {
        let texts = Texts::of(frames, frame);
        let line = texts.line.map_or(String::new(), |line| line.to_string());
        Key::EMPTY.with(texts.function).with(texts.file.unwrap_or("")).with(&line).with(texts.module_name())
    }

    /// With a further key.
    pub fn with_key(self, other: Key) -> Key {
        Key(other.0.to_le_bytes().into_iter().fold(self.0, step))
    }

    /// From [`Key::text`].
    pub fn parse(text: &str) -> Option<Key> {
        u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16).map(Key)
    }

    /// As text: 16 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.0)
    }
}

fn step(digest: u64, byte: u8) -> u64 {
    (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_do_not_run_into_each_other() {
        assert_ne!(Key::EMPTY.with("ab").with("c"), Key::EMPTY.with("a").with("bc"));
        assert_eq!(Key::EMPTY.with("a").text(), Key::EMPTY.with("a").text());
        let key = Key::EMPTY.with("");
        assert_eq!((key.text().len(), Key::parse(&key.text())), (16, Some(key)));
        assert_eq!(Key::parse("a node"), None);
    }
}
