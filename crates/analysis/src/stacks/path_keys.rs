//! Keys of paths that stay the same in other recordings. A path's key extends that of its callers, so each path is hashed once.

use super::{Path, Stacks};
use crate::stable_key::Key;
use memtoll_model::FrameId;

/// The keys of paths that were asked for, and of all that these are called from.
#[derive(Default)]
pub struct PathKeys {
    of_frames: Vec<Option<Key>>,
    of_paths: Vec<Option<Key>>,
}

impl PathKeys {
    /// A digest of what a path's frames are called, from the outermost one inwards.
    pub fn of(&mut self, stacks: &Stacks, path: Path) -> Key {
        self.of_paths.resize(stacks.paths(), None);
        let mut unknown = Vec::new();
        let (mut at, mut key) = (path, Key::EMPTY);
        while let Some((callers, frame)) = stacks.split(at) {
            if let Some(known) = self.of_paths[at.number()] {
                key = known;
                break;
            }
            unknown.push((at, frame));
            at = callers;
        }
        while let Some((path, frame)) = unknown.pop() {
            key = key.with_key(self.of_frame(stacks, frame));
            self.of_paths[path.number()] = Some(key);
        }
        key
    }

    fn of_frame(&mut self, stacks: &Stacks, frame: FrameId) -> Key {
        let frames = &stacks.recording().frames;
        self.of_frames.resize(frames.len(), None);
        *self.of_frames[frame.index()].get_or_insert_with(|| Key::of_frame(frames, frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::View;
    use crate::testing::golden;

    #[test]
    fn a_key_is_that_of_all_frames_whatever_was_asked_for_before() {
        let recording = golden("costs");
        let mut stacks = Stacks::new(&recording, &View::default());
        let paths: Vec<Path> = recording.stacks.ids().map(|node| stacks.of(node).path).collect();
        let (mut forwards, mut backwards) = (PathKeys::default(), PathKeys::default());
        let mut keys: Vec<Key> = paths.iter().rev().map(|path| backwards.of(&stacks, *path)).collect();
        keys.reverse();
        for (path, key) in paths.iter().zip(&keys) {
            let frames = stacks.frames(*path);
            let of_frame = |frame: &FrameId| Key::of_frame(&recording.frames, *frame);
            let expected = frames.iter().rev().map(of_frame).fold(Key::EMPTY, Key::with_key);
            assert_eq!((forwards.of(&stacks, *path), *key), (expected, expected), "{frames:?}");
        }
        keys.sort();
        keys.dedup();
        assert!(keys.len() > 5, "{}", keys.len());
    }
}
