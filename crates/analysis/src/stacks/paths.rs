//! Lists of frames, each once: trails of a stack that grow from its outermost frame inwards.

use memtoll_model::FrameId;
use rustc_hash::FxHashMap;

/// A list of frames from the allocation outwards, for [`Stacks::frames`]. Equal lists are equal paths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path(u32);

impl Path {
    /// Of no frame.
    pub(crate) const EMPTY: Path = Path(0);

    /// Its number: paths come after what they are called from.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// That with a number.
    pub fn numbered(number: usize) -> Path {
        Path(number as u32)
    }
}

/// Paths, each once: a frame called from a path.
#[derive(Clone, Default)]
pub(super) struct Paths {
    /// Path 1 and those that follow: what is called from, and the frame.
    paths: Vec<(Path, FrameId)>,
    numbers: FxHashMap<(Path, FrameId), Path>,
}

impl Paths {
    /// Makes room for about this many.
    pub fn reserve(&mut self, paths: usize) {
        self.paths.reserve(paths);
        self.numbers.reserve(paths);
    }

    pub fn within(&mut self, callers: Path, frame: FrameId) -> Path {
        *self.numbers.entry((callers, frame)).or_insert_with(|| {
            self.paths.push((callers, frame));
            Path(self.paths.len() as u32)
        })
    }

    pub fn frames(&self, path: Path) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::successors(self.split(path), |&(callers, _)| self.split(callers)).map(|(_, frame)| frame)
    }

    /// How many there are, with [`Path::EMPTY`].
    pub fn count(&self) -> usize {
        self.paths.len() + 1
    }

    /// What a path is called from, and its first frame.
    pub fn split(&self, path: Path) -> Option<(Path, FrameId)> {
        self.paths.get((path.0 as usize).checked_sub(1)?).copied()
    }
}

/// Frames that are shown, from the outermost to one node's.
#[derive(Clone, Copy)]
pub(super) struct Trail {
    pub path: Path,
    /// The last node's.
    pub leading: Path,
}

impl Trail {
    pub const EMPTY: Trail = Trail { path: Path::EMPTY, leading: Path::EMPTY };

    pub fn is_empty(self) -> bool {
        self.path == Path::EMPTY
    }
}

/// A trail that a node's frames are being added to.
pub(super) struct Growing {
    trail: Trail,
    here: Path,
}

impl Growing {
    pub fn from(trail: Trail) -> Growing {
        Growing { trail, here: Path::EMPTY }
    }

    pub fn is_empty(&self) -> bool {
        self.trail.is_empty()
    }

    pub fn push(&mut self, paths: &mut Paths, frame: FrameId) {
        self.trail.path = paths.within(self.trail.path, frame);
        self.here = paths.within(self.here, frame);
    }

    pub fn trail(self) -> Trail {
        let leading = if self.here == Path::EMPTY { self.trail.leading } else { self.here };
        Trail { leading, ..self.trail }
    }
}
