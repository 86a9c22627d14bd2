//! Which nodes of a tree are called from which, for the images that come after the first one. Most nodes have one callee or
//! two, which are a list; the further ones of a node with many stand in a table.

use super::Node;
use crate::ids::{ChainId, StackId};
use rustc_hash::FxHashMap;

/// Callees of a list.
const FEW: usize = 8;

/// A node's place in the list of its caller. No callee is a root, so [`StackId::NONE`] ends a list.
#[derive(Clone, Copy)]
struct Links {
    /// The last one that is called from it.
    last: StackId,
    /// The one that is called from the same node, before it.
    before: StackId,
}

/// Nodes by caller and chain. It knows of those that were [`Callees::add`]ed.
#[derive(Default)]
pub(super) struct Callees {
    links: Vec<Links>,
    further: FxHashMap<(StackId, ChainId), StackId>,
}

impl Callees {
    /// Adds the nodes that it does not know of.
    pub fn add(&mut self, nodes: &[Node]) {
        let known = self.links.len();
        self.links.resize(nodes.len(), Links { last: StackId::NONE, before: StackId::NONE });
        for (index, node) in nodes.iter().enumerate().skip(known) {
            let id = StackId::new(index as u32);
            if id.is_root() {
                continue;
            }
            if self.list(node.parent).count() < FEW {
                self.links[index].before = self.links[node.parent.index()].last;
                self.links[node.parent.index()].last = id;
            } else {
                self.further.insert((node.parent, node.chain), id);
            }
        }
    }

    /// The node of a chain that is called from `caller`, if it knows of one.
    pub fn find(&self, nodes: &[Node], caller: StackId, chain: ChainId) -> Option<StackId> {
        let mut seen = 0;
        for id in self.list(caller) {
            if nodes[id.index()].chain == chain {
                return Some(id);
            }
            seen += 1;
        }
        if seen < FEW { None } else { self.further.get(&(caller, chain)).copied() }
    }

    fn list(&self, caller: StackId) -> impl Iterator<Item = StackId> + '_ {
        let is_node = |id: &StackId| !id.is_root();
        let first = self.links.get(caller.index()).map(|links| links.last).filter(is_node);
        std::iter::successors(first, move |id| Some(self.links[id.index()].before).filter(is_node))
    }
}
