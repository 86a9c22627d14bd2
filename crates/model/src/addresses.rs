//! Where in their files the calls of stacks are.

use crate::{Frames, Node};

/// The place of a call in its file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Code<'a> {
    /// The loaded file; empty if the code is in none.
    pub path: &'a str,
    /// Its build id, in hexadecimal digits; empty if it has none.
    pub build_id: &'a str,
    /// The address in the file; of code that is in none, in memory.
    pub address: u64,
}

/// Finds the places of calls.
pub struct Addresses<'a> {
    frames: &'a Frames,
    /// By chain: what the code belongs to, and the address there.
    places: Vec<(u32, u64)>,
}

impl<'a> Addresses<'a> {
    pub(crate) fn new(frames: &'a Frames, chains: impl Iterator<Item = (u32, (u32, u64))>) -> Self {
        let mut places = Vec::new();
        for (chain, place) in chains {
            let chain = chain as usize;
            if places.len() <= chain {
                places.resize(chain + 1, (u32::MAX, 0));
            }
            places[chain] = place;
        }
        Addresses { frames, places }
    }

    /// Where the call of a node is; `None` if the node has no frames.
    pub fn of(&self, node: &Node) -> Option<Code<'a>> {
        let &(key, address) = self.places.get(node.chain as usize)?;
        let (path, build_id) = self.frames.text(key).split_once('\0')?;
        // Code that is in no file belongs to its image.
        let build_id = if path.is_empty() { "" } else { build_id };
        Some(Code { path, build_id, address })
    }
}
