//! The payload of an inherited block: call sites of other images that costs of this one are charged to.
//!
//! A forked child has its parent's blocks and mappings. What it pays for them belongs to the calls in the parent that made
//! them. Such a call has an id in the child, too: [`FIRST_INHERITED`](crate::nodes::FIRST_INHERITED) and more, in the order
//! of the entries of all inherited blocks of the image.
//!
//! zstd over: number of entries, then for each entry, as variable-length integers: the image, the node in it.

use crate::Damage;
use crate::bytes::{Unread, put_varint};
use crate::ids::{ImageNo, NodeId};

/// Entries of one block at the most.
pub const MAX_INHERITED: usize = 1 << 20;
/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = MAX_INHERITED * 10 + 10;

/// A stack node of another image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Inherited {
    pub image: ImageNo,
    /// Its node, if the call has a stack; not itself an inherited one.
    pub node: Option<NodeId>,
}

/// Packs entries.
pub fn encode(entries: &[Inherited]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(entries.len() * 4 + 4);
    put_varint(&mut plain, entries.len() as u64);
    for entry in entries {
        put_varint(&mut plain, entry.image.get().into());
        put_varint(&mut plain, NodeId::or_zero(entry.node).into());
    }
    crate::compress(&plain)
}

/// The entries of a payload.
pub fn decode(payload: &[u8]) -> Result<Vec<Inherited>, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let count = bytes.varint()? as usize;
    if count > MAX_INHERITED || count > bytes.remaining() / 2 {
        return Err(Damage::Value("more inherited nodes than the block can hold"));
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let image = ImageNo::somebody(bytes.varint32()?)?;
        let entry = Inherited { image, node: NodeId::new(bytes.varint32()?) };
        if entry.node.is_some_and(NodeId::is_inherited) {
            return Err(Damage::Value("an inherited node that is inherited itself"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nodes::FIRST_INHERITED;

    fn inherited(image: u32, node: u32) -> Inherited {
        Inherited { image: ImageNo::new(image).unwrap(), node: NodeId::new(node) }
    }

    #[test]
    fn entries_come_back() {
        let entries = vec![inherited(1, 8), inherited(700, 64 << 20)];
        assert_eq!(decode(&encode(&entries)).unwrap(), entries);
        assert_eq!(decode(&encode(&[])).unwrap(), vec![]);
    }

    #[test]
    fn damage_is_an_error() {
        let good = encode(&[inherited(1, 8)]);
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err());
        }
        assert!(decode(&crate::compress(&[200, 200, 200, 1])).is_err());
        assert!(decode(&encode(&[inherited(1, FIRST_INHERITED.get())])).is_err());
    }
}
