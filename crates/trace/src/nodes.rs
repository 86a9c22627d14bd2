//! The payload of a nodes block: frames of an image's stack tree.
//!
//! ```text
//! zstd | number of nodes  ids  parents  modules  addresses  without tables
//!                         columns of variable-length integers
//! ```
//!
//! An id stands as its distance from the one before (from 0), a parent as its distance from the id, an address as its
//! distance from that of the previous node of the same module. Addresses are those in the loaded files: processes of one
//! program that do the same have the same payloads, wherever the kernel loads the files, so a reader looks at one of them.
//! Of nodes in code without unwind tables, which most programs have none of, the places in the block stand at the end.

use crate::Damage;
use crate::by_module::ByModule;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::NodeId;

/// Ids below this one are roots; they say how a stack ends.
pub const FIRST_NODE: NodeId = NodeId::new(8).unwrap();
/// The stack reaches the thread's entry.
pub const ROOT_COMPLETE: NodeId = NodeId::new(1).unwrap();
/// The stack is cut off at code without unwinding information.
pub const ROOT_NO_RULE: NodeId = NodeId::new(2).unwrap();
/// The stack is cut off at the deepest frame that is recorded.
pub const ROOT_TOO_DEEP: NodeId = NodeId::new(3).unwrap();
/// The stack is cut off where the unwinding information led outside it.
pub const ROOT_BAD_FRAME: NodeId = NodeId::new(4).unwrap();
/// The stack is cut off because the stack tree was full.
pub const ROOT_TREE_FULL: NodeId = NodeId::new(5).unwrap();
/// There is no stack: the frame is code that a cost was paid in (see [`crate::costs::Place`]).
pub const ROOT_PLACE: NodeId = NodeId::new(6).unwrap();

/// The address of the only frame of blocks that a process had when memtoll was attached to it; in no module. No code is there.
pub const BEFORE_ATTACH_ADDRESS: u64 = 1;
/// What that frame is called.
pub const BEFORE_ATTACH: &str = "before attach";

/// Ids from this one on are those of [`crate::inherited`].
pub const FIRST_INHERITED: NodeId = NodeId::new(1 << 31).unwrap();

impl NodeId {
    /// Whether it is one of [`crate::inherited`].
    pub fn is_inherited(self) -> bool {
        self >= FIRST_INHERITED
    }
}

/// Nodes of one block at the most.
const MAX_NODES: usize = 1 << 20;
/// Longest uncompressed payload, bytes.
const MAX_BYTES: usize = MAX_NODES * 30;

/// A frame of a call stack under its caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// Id, from [`FIRST_NODE`].
    pub id: NodeId,
    /// Id of the caller's node, or a root.
    pub parent: Option<NodeId>,
    /// Number of the module in which the call stands; 0 for code outside all modules.
    pub module: u16,
    /// Address of the call (return address minus one) in memory, less the module's bias; of code outside all modules, in
    /// memory.
    pub address: u64,
    /// Whether no unwind tables told the caller: it was found by reading the code, or with the frame pointer.
    pub without_tables: bool,
}

/// Packs nodes with addresses in files, in increasing order of their ids.
pub fn encode(nodes: &[Node]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(nodes.len() * 8 + 8);
    let out = &mut plain;
    put_varint(out, nodes.len() as u64);
    let mut id = 0;
    for node in nodes {
        put_varint(out, node.id.get().wrapping_sub(id).into());
        id = node.id.get();
    }
    let to_parent = |node: &Node| i64::from(node.id.get()) - i64::from(NodeId::or_zero(node.parent));
    nodes.iter().for_each(|node| put_varint(out, zigzag(to_parent(node))));
    nodes.iter().for_each(|node| put_varint(out, node.module.into()));
    let mut last: ByModule<u64> = ByModule::default();
    for node in nodes {
        let before = std::mem::replace(last.of(node.module), node.address);
        put_varint(out, zigzag(node.address.wrapping_sub(before) as i64));
    }
    let mut next = 0;
    for (place, _) in nodes.iter().enumerate().filter(|(_, node)| node.without_tables) {
        put_varint(out, (place - next) as u64);
        next = place + 1;
    }
    crate::compress(&plain)
}

pub fn decode(payload: &[u8]) -> Result<Vec<Node>, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let count = usize::try_from(bytes.varint()?).unwrap_or(usize::MAX);
    // Each takes four bytes at least.
    if count > MAX_NODES || count > bytes.remaining() / 4 {
        return Err(Damage::Value("more nodes than the block can hold"));
    }
    let mut nodes = Vec::with_capacity(count);
    let mut before = None;
    for _ in 0..count {
        let id = next_id(before, &mut bytes)?;
        nodes.push(Node { id, parent: None, module: 0, address: 0, without_tables: false });
        before = Some(id);
    }
    for node in &mut nodes {
        node.parent = parent_of(node.id, &mut bytes)?;
    }
    for node in &mut nodes {
        node.module = module(&mut bytes)?;
    }
    let mut last: ByModule<u64> = ByModule::default();
    for node in &mut nodes {
        let address = last.of(node.module);
        *address = address.wrapping_add(unzigzag(bytes.varint()?) as u64);
        node.address = *address;
    }
    let mut next = 0;
    while bytes.remaining() > 0 {
        let place = usize::try_from(bytes.varint()?).ok().and_then(|others| others.checked_add(next));
        let node = place.and_then(|place| nodes.get_mut(place)).ok_or(Damage::Value("a node behind the last one"))?;
        node.without_tables = true;
        next = place.unwrap_or(next) + 1;
    }
    Ok(nodes)
}

fn next_id(before: Option<NodeId>, bytes: &mut Unread) -> Result<NodeId, Damage> {
    let before = NodeId::or_zero(before);
    let id = before.checked_add(bytes.varint32()?).ok_or(Damage::Value("a node id beyond all ids"))?;
    NodeId::new(id).filter(|id| *id >= FIRST_NODE).ok_or(Damage::Value("a node that is a root"))
}

fn parent_of(id: NodeId, bytes: &mut Unread) -> Result<Option<NodeId>, Damage> {
    match u32::try_from(i64::from(id.get()) - unzigzag(bytes.varint()?) % (1 << 40)) {
        Ok(parent) if parent != id.get() => Ok(NodeId::new(parent)),
        Ok(_) => Err(Damage::Value("a node that is its own parent")),
        Err(_) => Err(Damage::Value("a parent that no node can have")),
    }
}

fn module(bytes: &mut Unread) -> Result<u16, Damage> {
    u16::try_from(bytes.varint()?).map_err(|_| Damage::Value("a module number beyond all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<Node> {
        let node = |id, parent, module, address| {
            let (id, parent) = (NodeId::new(id).unwrap(), NodeId::new(parent));
            Node { id, parent, module, address, without_tables: module == 2 }
        };
        vec![node(8, 1, 1, 0x1000), node(9, 8, 2, 0x2_1234), node(10, 9, 0, 0x7fff_f7e0_1234), node(12, 20, 1, 0x0fff)]
    }

    #[test]
    fn nodes_come_back() {
        assert_eq!(decode(&encode(&nodes())).unwrap(), nodes());
        assert_eq!(decode(&encode(&[])).unwrap(), []);
        let all: Vec<Node> = nodes().into_iter().map(|node| Node { without_tables: true, ..node }).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }

    #[test]
    fn damage_is_an_error() {
        let good = encode(&nodes());
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err());
        }
        let mut plain = crate::decompress(&good, 1000).unwrap();
        assert_eq!(plain.pop(), Some(1), "the second node is in code without tables");
        plain.push(4);
        assert_eq!(decode(&crate::compress(&plain)), Err(Damage::Value("a node behind the last one")));
        plain.truncate(plain.len() - 2);
        assert!(decode(&crate::compress(&plain)).is_err());
        assert!(decode(&crate::compress(&[200, 200, 200, 1])).is_err());
        let own_parent = crate::compress(&[1, 8, 0, 1, 2]);
        assert_eq!(decode(&own_parent), Err(Damage::Value("a node that is its own parent")));
    }
}
