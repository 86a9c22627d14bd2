//! Call paths from the frame on that leads. Their frames are looked up in the tree of stacks, only on demand: the
//! paths of a compiler have tens of millions of frames, and few of these matter.

use crate::stacks::{FramePlace, Stacks};
use memtoll_model::{FrameId, StackId};

/// What is left of a call path.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    /// The frame that leads.
    pub first: Option<FrameId>,
    place: Place,
    pub allocations: u64,
}

impl Rest {
    /// Whether frames were taken away since it was `other`.
    pub fn is_shorter_than(&self, other: &Rest) -> bool {
        self.place != other.place
    }
}

/// Where the frame that leads stands, or else the end of the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the tree of stacks.
    Tree(FramePlace),
    /// In the list, from `at` to before `end`.
    Listed { at: usize, end: usize },
}

/// The frames of call paths.
pub(super) struct CallPaths<'s, 'r> {
    stacks: &'s Stacks<'r>,
    /// Of paths without a frame of the program's own: all frames, path by path.
    listed: Vec<FrameId>,
}

impl<'s, 'r> CallPaths<'s, 'r> {
    /// The paths of these nodes, with their allocations.
    pub fn of(
        stacks: &'s mut Stacks<'r>,
        nodes: impl Iterator<Item = (StackId, u64)>,
    ) -> (CallPaths<'s, 'r>, Vec<Rest>) {
        let (mut listed, mut path) = (Vec::new(), Vec::new());
        let rest = |(node, allocations)| {
            if let Some((first, place)) = stacks.next_shown(FramePlace::innermost(node)) {
                return Rest { first: Some(first), place: Place::Tree(place), allocations };
            }
            stacks.list(node, &mut path);
            let at = listed.len();
            listed.extend_from_slice(&path);
            Rest { first: path.first().copied(), place: Place::Listed { at, end: listed.len() }, allocations }
        };
        let all = nodes.map(rest).collect();
        (CallPaths { stacks, listed }, all)
    }

    /// Takes away the frames that lead, as long as these are wrappers.
    pub fn fold(&self, rest: &mut Rest, is_wrapper: impl Fn(FrameId) -> bool) {
        while rest.first.is_some_and(&is_wrapper) {
            (rest.first, rest.place) = self.outer(rest.place);
        }
    }

    /// The next frame, and where it stands.
    fn outer(&self, place: Place) -> (Option<FrameId>, Place) {
        match place {
            Place::Tree(place) => match self.stacks.next_shown(place.outer()) {
                Some((frame, place)) => (Some(frame), Place::Tree(place)),
                None => (None, Place::Tree(FramePlace::NONE)),
            },
            Place::Listed { at, end } => {
                let at = (at + 1).min(end);
                (self.listed[at..end].first().copied(), Place::Listed { at, end })
            }
        }
    }

    /// The first frame that is so.
    pub fn find(&self, mut rest: Rest, is_so: impl Fn(FrameId) -> bool) -> Option<FrameId> {
        self.fold(&mut rest, |frame| !is_so(frame));
        rest.first
    }
}

/// Whether a path has a frame with a property. Answers are kept by node: a path has it if its caller's path does.
pub(super) struct Anywhere<'p, F> {
    paths: &'p CallPaths<'p, 'p>,
    is_so: F,
    /// By node, whether a frame of its stack is.
    known: Vec<Option<bool>>,
}

impl<'p, F: Fn(FrameId) -> bool> Anywhere<'p, F> {
    pub fn new(paths: &'p CallPaths<'p, 'p>, is_so: F) -> Self {
        Anywhere { paths, is_so, known: vec![None; paths.stacks.recording().stacks.len()] }
    }

    pub fn is_in(&mut self, rest: &Rest) -> bool {
        match rest.place {
            Place::Listed { at, end } => self.paths.listed[at..end].iter().any(|frame| (self.is_so)(*frame)),
            Place::Tree(place) => self.is_in_chain(place) || self.is_in_stack(place.caller(self.paths.stacks)),
        }
    }

    /// Whether a frame of a node is so, from one on.
    fn is_in_chain(&self, place: FramePlace) -> bool {
        self.paths.stacks.shown_of_node(place).any(|frame| (self.is_so)(frame))
    }

    fn is_in_stack(&mut self, node: StackId) -> bool {
        let mut unknown = Vec::new();
        let (mut at, mut is_in) = (node, false);
        while !at.is_root() {
            match self.known.get(at.index()).copied().flatten() {
                Some(known) => {
                    is_in = known;
                    break;
                }
                None => unknown.push(at),
            }
            at = self.paths.stacks.caller(at);
        }
        while let Some(node) = unknown.pop() {
            is_in |= self.is_in_chain(FramePlace::innermost(node));
            if let Some(known) = self.known.get_mut(node.index()) {
                *known = Some(is_in);
            }
        }
        is_in
    }
}
