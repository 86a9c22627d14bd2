//! The payload of a nodes block: frames of an image's stack tree.
//!
//! zstd over: number of nodes, then for each node, as variable-length integers: its id minus the previous one's (from
//! 0); the distance from its parent's id, zigzag; its module; its address minus that of the previous node of the same
//! module, zigzag.

use crate::Damage;
use crate::bytes::{Bytes, put_varint, unzigzag, zigzag};
use rustc_hash::FxHashMap;

/// Ids below this one are roots; they say how a stack ends.
pub const FIRST_NODE: u32 = 8;
/// The stack reaches the thread's entry.
pub const ROOT_COMPLETE: u32 = 1;
/// The stack is cut off at code without unwinding information.
pub const ROOT_NO_RULE: u32 = 2;
/// The stack is cut off at the deepest frame that is recorded.
pub const ROOT_TOO_DEEP: u32 = 3;
/// The stack is cut off where the unwinding information led outside it.
pub const ROOT_BAD_FRAME: u32 = 4;
/// The stack is cut off because the stack tree was full.
pub const ROOT_TREE_FULL: u32 = 5;
/// There is no stack: the frame is code that a cost was paid in (see [`crate::costs::Place`]).
pub const ROOT_PLACE: u32 = 6;

/// Ids from this one on are those of [`crate::inherited`].
pub const FIRST_INHERITED: u32 = 1 << 31;

/// Nodes of one block at the most.
const MAX_NODES: usize = 1 << 20;
/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = MAX_NODES * 30;

/// A frame of a call stack under its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Id, from [`FIRST_NODE`].
    pub id: u32,
    /// Id of the caller's node, or a root.
    pub parent: u32,
    /// Number of the module in which the call stands; 0 for code outside all modules.
    pub module: u16,
    /// Address of the call in memory (return address minus one).
    pub address: u64,
}

/// Packs nodes, in increasing order of their ids.
pub fn encode(nodes: &[Node]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(nodes.len() * 8);
    let mut last: FxHashMap<u16, u64> = FxHashMap::default();
    let mut id = 0;
    put_varint(&mut plain, nodes.len() as u64);
    for node in nodes {
        put_varint(&mut plain, node.id.wrapping_sub(id) as u64);
        put_varint(&mut plain, zigzag(node.id as i64 - node.parent as i64));
        put_varint(&mut plain, node.module as u64);
        let before = last.insert(node.module, node.address).unwrap_or(0);
        put_varint(&mut plain, zigzag(node.address.wrapping_sub(before) as i64));
        id = node.id;
    }
    crate::compress(&plain)
}

/// The nodes of a payload.
pub fn decode(payload: &[u8]) -> Result<Vec<Node>, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Bytes::new(&plain);
    let count = bytes.varint()? as usize;
    if count > MAX_NODES || count > bytes.remaining() / 4 {
        return Err(Damage::Value("more nodes than the block can hold"));
    }
    let mut last: FxHashMap<u16, u64> = FxHashMap::default();
    let mut nodes = Vec::with_capacity(count);
    let mut id = 0u32;
    for _ in 0..count {
        id = id.checked_add(bytes.varint32()?).ok_or(Damage::Value("a node id beyond all ids"))?;
        let parent = u32::try_from(id as i64 - unzigzag(bytes.varint()?) % (1 << 40))
            .map_err(|_| Damage::Value("a parent that no node can have"))?;
        let module = u16::try_from(bytes.varint()?).map_err(|_| Damage::Value("a module number beyond all"))?;
        let before = last.get(&module).copied().unwrap_or(0);
        let address = before.wrapping_add(unzigzag(bytes.varint()?) as u64);
        last.insert(module, address);
        if id < FIRST_NODE || parent == id {
            return Err(Damage::Value("a node that is a root or its own parent"));
        }
        nodes.push(Node { id, parent, module, address });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_come_back() {
        let nodes = vec![
            Node { id: 8, parent: 1, module: 1, address: 0x5555_5555_1000 },
            Node { id: 9, parent: 8, module: 2, address: 0x7fff_f7e0_1234 },
            Node { id: 12, parent: 20, module: 1, address: 0x5555_5555_0fff },
        ];
        assert_eq!(decode(&encode(&nodes)).unwrap(), nodes);
        assert_eq!(decode(&encode(&[])).unwrap(), vec![]);
    }

    #[test]
    fn damage_is_an_error() {
        let good = encode(&[Node { id: 8, parent: 1, module: 1, address: 77 }; 1]);
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err());
        }
        assert!(decode(&crate::compress(&[200, 200, 200, 1])).is_err());
    }
}
