//! Keys on which machines agree without talking: digests of what things are.

use sha2::{Digest, Sha256};

/// A run or a call stack: 128 bits.
pub type Id = [u8; 16];

/// A function or a frame: 63 bits, so that both engines keep it as a whole number.
pub type Key = i64;

/// A digest of parts that do not run into each other.
#[derive(Clone)]
pub struct Identity(Sha256);

impl Identity {
    /// Of a kind of thing: things of different kinds never have the same key.
    pub fn of(kind: &str) -> Identity {
        Identity(Sha256::new()).with(kind.as_bytes())
    }

    /// With a further part.
    pub fn with(mut self, part: impl AsRef<[u8]>) -> Identity {
        let part = part.as_ref();
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    /// With a number.
    pub fn with_number(self, number: u64) -> Identity {
        self.with(number.to_le_bytes())
    }

    /// 128 bits of it.
    pub fn id(self) -> Id {
        let digest = self.0.finalize();
        let mut id = Id::default();
        id.copy_from_slice(&digest[..16]);
        id
    }

    /// 63 bits of it.
    pub fn key(self) -> Key {
        let id = self.id();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&id[..8]);
        i64::from_le_bytes(bytes) & i64::MAX
    }
}

/// As text: hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let id = |parts: &[&str]| parts.iter().fold(Identity::of("x"), |of, part| of.with(part)).id();
        assert_ne!(id(&["ab", "c"]), id(&["a", "bc"]));
        assert_ne!(Identity::of("a").with("b").id(), Identity::of("b").with("a").id());
        assert_eq!(id(&["ab", "c"]), id(&["ab", "c"]));
        assert!(Identity::of("x").key() >= 0);
    }
}
