//! A recording in memory: its processes, their stack trees, and the names of all frames. Events stay in the file; they
//! are read as a stream ([`Recording::for_each_events`]).

mod events;
mod frames;
mod load;

pub use frames::{Frame, Frames};
pub use memtoll_trace::reader::Error;

use memtoll_trace::meta;
use memtoll_trace::nodes::FIRST_NODE;
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::summary::Summary;

/// A node of an image's stack tree.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Node {
    /// The caller's node, or a root (`memtoll_trace::nodes::ROOT_*`).
    pub parent: u32,
    /// Where the frames of this node's inline chain stand in [`Frames`].
    chain: u32,
}

/// A process image.
pub struct Image {
    /// What it is.
    pub about: meta::Image,
    /// How it ended, if the recording says.
    pub end: Option<meta::ImageEnd>,
    /// Threads, by number.
    pub threads: Vec<meta::Thread>,
    /// Marks, by time.
    pub marks: Vec<meta::Mark>,
    /// Stack nodes by id; ids below [`FIRST_NODE`] are roots.
    pub nodes: Vec<Node>,
    /// Sums over all its events, unless the recording was cut off.
    pub summary: Option<Summary>,
    modules: Vec<meta::Module>,
    raw_nodes: Vec<memtoll_trace::nodes::Node>,
    raw_places: Vec<memtoll_trace::nodes::Node>,
    /// Node of the first code address at which costs were paid.
    first_place: u32,
    event_blocks: Vec<BlockRef>,
    cost_blocks: Vec<BlockRef>,
}

impl Image {
    /// The call stack of a node, as nodes from the allocation outwards, and the root that says how it ends.
    pub fn stack(&self, node: u32) -> (Vec<u32>, u32) {
        let mut stack = Vec::new();
        let mut at = node;
        while at >= FIRST_NODE && stack.len() <= self.nodes.len() {
            stack.push(at);
            at = self.nodes.get(at as usize).map_or(0, |node| node.parent);
        }
        (stack, at)
    }

    /// Whether a node's stack does not reach its thread's entry.
    pub fn is_cut_off(&self, node: u32) -> bool {
        self.stack(node).1 != memtoll_trace::nodes::ROOT_COMPLETE
    }
}

/// An open recording.
pub struct Recording {
    reader: Reader,
    /// What was recorded, where and when.
    pub about: meta::Recording,
    /// Process images in the order of their beginnings.
    pub images: Vec<Image>,
    /// Functions, files and lines.
    pub frames: Frames,
    /// Statements of the recorder about what was not recorded.
    pub notes: Vec<String>,
    /// Statements about what is missing from the file.
    pub damage: Vec<String>,
    /// The end, if the file has one.
    pub end: Option<meta::End>,
}
