//! The call stacks of a recording as one tree. Processes of one program have the same stacks at other addresses; here each
//! of them is there once, however many processes there are.

mod callees;

use crate::ids::{ChainId, StackId};
use callees::Callees;
use memtoll_trace::ids::NodeId;
use memtoll_trace::nodes::{FIRST_NODE, ROOT_COMPLETE, ROOT_PLACE};
use rustc_hash::FxHashMap;

/// A node of the stack tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The caller's node, or a root (`memtoll_trace::nodes::ROOT_*`).
    pub parent: StackId,
    /// Where the frames of this node's inline chain stand in [`crate::Frames`].
    pub(crate) chain: ChainId,
    root: Option<NodeId>,
}

impl Node {
    /// The root, which says how its stack ends.
    pub fn root(&self) -> Option<NodeId> {
        self.root
    }
}

/// The stack nodes of all images; ids below [`FIRST_NODE`] are roots.
pub struct StackTree {
    nodes: Vec<Node>,
    /// Of a single image whose nodes are all different, it knows none: there can be tens of millions.
    callees: Callees,
    /// Nodes of code at which costs were paid, by chain.
    places: FxHashMap<ChainId, StackId>,
}

impl Default for StackTree {
    fn default() -> Self {
        let root = |root| Node { parent: StackId::NONE, chain: ChainId::NONE, root: NodeId::new(root) };
        let nodes = (0..FIRST_NODE.get()).map(root).collect();
        StackTree { nodes, callees: Callees::default(), places: FxHashMap::default() }
    }
}

impl StackTree {
    /// All nodes, roots first.
    pub fn ids(&self) -> impl Iterator<Item = StackId> + use<> {
        (0..self.nodes.len() as u32).map(StackId::new)
    }

    /// Number of nodes, roots included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are only roots.
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == FIRST_NODE.index()
    }

    /// A node. Of an id that no node has: one without frames.
    pub fn node(&self, id: StackId) -> Node {
        self.nodes.get(id.index()).copied().unwrap_or(self.nodes[0])
    }

    /// The call stack of a node, as nodes from the allocation outwards, and the root that says how it ends.
    pub fn stack(&self, id: StackId) -> (Vec<StackId>, Option<NodeId>) {
        (self.callers(id).collect(), self.node(id).root)
    }

    /// The same nodes, one after the other.
    pub fn callers(&self, id: StackId) -> impl Iterator<Item = StackId> + '_ {
        let callers = std::iter::successors(Some(id), |id| Some(self.node(*id).parent));
        callers.take_while(|id| !id.is_root())
    }

    /// Whether a node's stack does not reach its thread's entry.
    pub fn is_cut_off(&self, id: StackId) -> bool {
        self.node(id).root != Some(ROOT_COMPLETE)
    }

    /// A new node, called from `parent`: a root, or a node that is there.
    fn push(&mut self, parent: StackId, chain: ChainId) -> StackId {
        let (id, root) = (StackId::new(self.nodes.len() as u32), self.nodes[parent.index()].root);
        self.nodes.push(Node { parent, chain, root });
        id
    }

    /// The node of code at which costs were paid.
    pub(crate) fn place(&mut self, chain: ChainId) -> StackId {
        if let Some(known) = self.places.get(&chain) {
            return *known;
        }
        let place = self.push(StackId::of_root(ROOT_PLACE), chain);
        self.places.insert(chain, place);
        place
    }

    /// Puts the nodes of an image into the tree. `links` and the result are by the image's own node ids. `are_different`: no two
    /// of them are the same stack.
    ///
    /// No recorder writes a node that is its own caller's caller; in a damaged file, its stack is cut off there.
    pub(crate) fn graft(&mut self, links: &[Link], are_different: bool) -> Vec<StackId> {
        const UNKNOWN: StackId = StackId::new(u32::MAX);
        const ON_THE_WAY: StackId = StackId::new(u32::MAX - 1);
        let ids = (0..links.len() as u32).map(StackId::new);
        let mut ids: Vec<StackId> = ids.map(|id| if id.is_root() { id } else { UNKNOWN }).collect();
        if !self.is_empty() {
            self.callees.add(&self.nodes);
        }
        let others = self.nodes.len();
        let mut path = Vec::new();
        for start in FIRST_NODE.index()..links.len() {
            let mut at = start;
            while ids.get(at) == Some(&UNKNOWN) {
                ids[at] = ON_THE_WAY;
                path.push(at);
                at = NodeId::index_of(links[at].parent);
            }
            let mut caller = ids.get(at).copied().filter(|id| *id != ON_THE_WAY).unwrap_or(StackId::NONE);
            while let Some(node) = path.pop() {
                caller = match links[node] {
                    Link::MISSING => StackId::NONE,
                    // Below a node that only this image has, all are new.
                    Link { chain, .. } if are_different && caller.index() >= others => self.push(caller, chain),
                    Link { chain, .. } => match self.callees.find(&self.nodes, caller, chain) {
                        Some(known) => known,
                        None => {
                            let new = self.push(caller, chain);
                            if !are_different {
                                self.callees.add(&self.nodes);
                            }
                            new
                        }
                    },
                };
                ids[node] = caller;
            }
        }
        ids
    }
}

/// A node of an image as it stands in the file, with its frames found. No node of a file is without them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// By the image's own ids.
    pub parent: Option<NodeId>,
    pub chain: ChainId,
}

impl Link {
    pub const MISSING: Link = Link { parent: None, chain: ChainId::NONE };
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::nodes::ROOT_NO_RULE;

    fn links(of: &[(u32, u32)]) -> Vec<Link> {
        let nodes = of.iter().map(|&(parent, chain)| Link { parent: NodeId::new(parent), chain: ChainId::new(chain) });
        std::iter::repeat_n(Link::MISSING, FIRST_NODE.index()).chain(nodes).collect()
    }

    fn chains(tree: &StackTree, node: StackId) -> Vec<u32> {
        tree.stack(node).0.into_iter().map(|node| tree.node(node).chain.get()).collect()
    }

    fn numbers(ids: &[StackId]) -> Vec<u32> {
        ids.iter().map(|id| id.get()).collect()
    }

    #[test]
    fn images_of_one_program_share_their_stacks() {
        let mut tree = StackTree::default();
        let same = || links(&[(1, 100), (8, 101), (9, 102), (8, 103)]);
        let first = tree.graft(&same(), true);
        let nodes = tree.len();
        assert_eq!(tree.graft(&same(), true), first);
        // The same stacks in another order, and one of them twice.
        let second = tree.graft(&links(&[(9, 103), (1, 100), (9, 101), (10, 102), (9, 101)]), false);
        assert_eq!(tree.len(), nodes, "nothing is new");
        assert_eq!(second[8..], [first[11], first[8], first[9], first[10], first[9]]);
        assert_eq!(chains(&tree, first[10]), [102, 101, 100]);
        let other = tree.graft(&links(&[(ROOT_NO_RULE.get(), 100)]), true);
        assert_eq!((tree.is_cut_off(other[8]), tree.is_cut_off(first[10])), (true, false));
        assert_eq!(tree.len(), nodes + 1, "a stack that ends in another way is another one");
    }

    #[test]
    fn ids_that_nobody_wrote_are_no_nodes() {
        let mut tree = StackTree::default();
        let mut written = links(&[(1, 100), (0, 0), (0, 0), (9, 101), (8, 102)]);
        (written[9], written[10]) = (Link::MISSING, Link::MISSING);
        let ids = tree.graft(&written, true);
        assert_eq!(numbers(&ids[8..]), [8, 0, 0, 9, 10]);
        assert_eq!((chains(&tree, ids[11]), chains(&tree, ids[12])), (vec![101], vec![102, 100]));
        assert!(chains(&tree, StackId::NONE).is_empty());
        assert!(tree.is_cut_off(ids[11]) && !tree.is_cut_off(ids[12]));
    }

    #[test]
    fn an_image_that_has_a_file_at_two_addresses_has_stacks_twice() {
        let mut tree = StackTree::default();
        let ids = tree.graft(&links(&[(1, 100), (1, 100), (9, 101), (8, 101)]), false);
        assert_eq!(numbers(&ids[8..]), [8, 8, 9, 9]);
        assert_eq!(numbers(&[100, 101, 100].map(|chain| tree.place(ChainId::new(chain)))), [10, 11, 10]);
    }

    #[test]
    fn a_caller_of_many_shares_all_of_them() {
        let mut tree = StackTree::default();
        let fan = |first: u32, count: u32| {
            let callees: Vec<(u32, u32)> = (first..first + count).map(|chain| (8, chain)).collect();
            links(&[&[(1, 7)], &callees[..]].concat())
        };
        tree.graft(&fan(100, 3), true);
        let ids = tree.graft(&fan(100, 40), true);
        assert_eq!(tree.len(), 8 + 1 + 40, "3 of 40 were there");
        for are_different in [true, false] {
            assert_eq!(tree.graft(&fan(100, 40), are_different), ids);
        }
        assert_eq!(tree.graft(&fan(130, 20), true)[9..19], ids[39..49]);
        assert_eq!(tree.len(), 8 + 1 + 50);
        assert_eq!(tree.graft(&fan(100, 50), true).last().map(|id| chains(&tree, *id)), Some(vec![149, 7]));
    }

    #[test]
    fn cycles_are_broken() {
        let mut tree = StackTree::default();
        // 8 is complete; 9 below it; 10 and 11 call each other, 12 leads into them; 13 is its own caller; 14 has a caller
        // that is not there.
        let ids = tree.graft(&links(&[(1, 0), (8, 1), (11, 2), (10, 3), (10, 4), (13, 5), (77, 6)]), true);
        let found: Vec<Vec<u32>> = ids[8..].iter().map(|id| chains(&tree, *id)).collect();
        assert_eq!(found, [vec![0], vec![1, 0], vec![2, 3], vec![3], vec![4, 2, 3], vec![5], vec![6]]);
        assert_eq!(ids.iter().filter(|id| !id.is_root() && tree.is_cut_off(**id)).count(), 5);
    }
}
