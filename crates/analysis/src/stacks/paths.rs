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
///
/// Most paths call few frames. These are a chain, which is in the caches of the processor more often than a hash table of all paths.
#[derive(Clone, Default)]
pub(super) struct Paths {
    /// Path 1 and those that follow: what is called from, and the frame.
    paths: Vec<(Path, FrameId)>,
    /// By path, the empty one included: the first path that is called from it, and the next one that is called from the same.
    /// [`Path::EMPTY`]: none.
    chains: Vec<(Path, Path)>,
    /// What is behind the ends of chains.
    others: FxHashMap<(Path, FrameId), Path>,
}

/// Paths of a chain.
const LONGEST: usize = 8;

impl Paths {
    /// Makes room for about this many.
    pub fn reserve(&mut self, paths: usize) {
        self.paths.reserve(paths);
        self.chains.reserve(paths + 1);
    }

    pub fn within(&mut self, callers: Path, frame: FrameId) -> Path {
        let new = Path(self.paths.len() as u32 + 1);
        self.chains.resize(new.number(), (Path::EMPTY, Path::EMPTY));
        let mut link = &mut self.chains[callers.number()].0;
        for _ in 0..LONGEST {
            let at = *link;
            if at == Path::EMPTY {
                *link = new;
                self.paths.push((callers, frame));
                return new;
            }
            if self.paths[at.number() - 1].1 == frame {
                return at;
            }
            link = &mut self.chains[at.number()].1;
        }
        let path = *self.others.entry((callers, frame)).or_insert(new);
        if path == new {
            self.paths.push((callers, frame));
        }
        path
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_is_there_once_however_many_are_called_from_it() {
        let mut paths = Paths::default();
        let mut known = FxHashMap::default();
        for number in (0..3000u32).chain(0..3000) {
            // Few frames of most callers, hundreds of some.
            let callers = Path(if number % 3 == 0 { number % 7 } else { number / 5 });
            let frame = FrameId::new(number % 500);
            let next = Path(known.len() as u32 + 1);
            if callers.number() >= paths.count() {
                continue;
            }
            let expected = *known.entry((callers, frame)).or_insert(next);
            assert_eq!(paths.within(callers, frame), expected);
            assert_eq!(paths.split(expected), Some((callers, frame)));
        }
        assert!(paths.count() > 1000 && paths.others.len() > 500, "{}, {}", paths.count(), paths.others.len());
    }
}
