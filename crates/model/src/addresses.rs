//! Where in their files the calls of stacks are.

use crate::ids::{ChainId, TextId};
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
    places: Vec<Option<(TextId, u64)>>,
}

impl Frames {
    /// Where the code of chains is.
    pub fn addresses(&self) -> Addresses<'_> {
        Addresses::new(self, self.by_address.iter().map(|(at, chain)| (*chain, *at)))
    }
}

impl<'a> Addresses<'a> {
    pub(crate) fn new(frames: &'a Frames, chains: impl Iterator<Item = (ChainId, (TextId, u64))>) -> Self {
        let mut places = Vec::new();
        for (chain, place) in chains {
            if places.len() <= chain.index() {
                places.resize(chain.index() + 1, None);
            }
            places[chain.index()] = Some(place);
        }
        Addresses { frames, places }
    }

    /// Where the call of a node is; `None` if the node has no frames.
    pub fn of(&self, node: &Node) -> Option<Code<'a>> {
        let (key, address) = (*self.places.get(node.chain.index())?)?;
        let (path, build_id) = self.frames.text(key).split_once('\0')?;
        // Code that is in no file belongs to its image.
        let build_id = if path.is_empty() { "" } else { build_id };
        Some(Code { path, build_id, address })
    }
}
