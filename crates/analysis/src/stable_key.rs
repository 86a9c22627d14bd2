//! Keys that stay the same from one answer to the next, and from one recording of a program to the next as long as its
//! lines stay the same: digests of what rows and nodes are called.

use crate::stacks::Texts;
use memtoll_model::{FrameId, Frames};
use memtoll_trace::fnv::Fnv64;

/// A digest of texts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Key(Fnv64);

impl Key {
    /// Of nothing: a tree's root.
    pub const EMPTY: Key = Key(Fnv64::EMPTY);

    /// With a further text. Texts do not run into each other.
    pub fn with(self, text: &str) -> Key {
        Key(self.0.with(text.bytes()).with([0xff]))
    }

    /// What a frame is called.
    pub fn of_frame(frames: &Frames, frame: FrameId) -> Key {
        let texts = Texts::of(frames, frame);
        let line = texts.line.map_or(String::new(), |line| line.to_string());
        let module = frames.unique_name(frames.frame(frame).module);
        Key::EMPTY.with(texts.function).with(texts.file.unwrap_or("")).with(&line).with(module)
    }

    /// With a further key.
    pub fn with_key(self, other: Key) -> Key {
        Key(self.0.with(other.0.0.to_le_bytes()))
    }

    pub fn parse(text: &str) -> Option<Key> {
        u64::from_str_radix(text, 16).ok().filter(|_| text.len() == 16).map(|hash| Key(Fnv64(hash)))
    }

    /// As text: 16 hexadecimal digits.
    pub fn text(self) -> String {
        format!("{:016x}", self.0.0)
    }
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
