//! Ids of what a recording has tables of. Each is a type of its own, so that two of them cannot be mixed up.

use memtoll_trace::ids::NodeId;
use memtoll_trace::index;
use memtoll_trace::nodes::FIRST_NODE;

index! {
    /// A node of [`crate::Recording::stacks`]: a call stack, or a root, which has no frames and says how stacks end
    /// (`memtoll_trace::nodes::ROOT_*`). Events have ids of their image's own; [`crate::Image::node`] says which of these they mean.
    StackId
}
index! {
    /// A frame of [`crate::Frames`]: a function at a line.
    FrameId
}
index! {
    /// A text of [`crate::Frames`]: the name of a function, the path of a file.
    TextId
}
index! {
    /// The frames of one call: an inline chain of [`crate::Frames`].
    ChainId
}

impl StackId {
    /// No stack.
    pub const NONE: StackId = StackId::new(0);

    /// A root, which is the same one in the trees of all images.
    pub(crate) const fn of_root(root: NodeId) -> StackId {
        StackId::new(root.get())
    }

    /// Whether it has no frames.
    #[inline(always)]
    pub const fn is_root(self) -> bool {
        self.get() < FIRST_NODE.get()
    }
}

impl ChainId {
    /// No frames.
    pub const NONE: ChainId = ChainId::new(u32::MAX);
}
