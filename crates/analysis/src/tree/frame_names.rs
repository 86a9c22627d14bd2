//! What frames are called, each looked at once; and groups, which follow them.

use crate::one_function::OneFunction;
use crate::stable_key::Key;
use memtoll_model::{FrameId, Frames};

/// The names of frames, as far as a tree needs them.
pub(super) struct FrameNames<'a> {
    frames: &'a Frames,
    /// The function that is asked for.
    function: Option<OneFunction<'a>>,
    keys: Vec<Option<Key>>,
    /// Whether frames are of the function.
    are_of_it: Vec<Option<bool>>,
    /// What groups are called, whose numbers follow those of the frames.
    labels: Vec<String>,
}

impl<'a> FrameNames<'a> {
    /// Of a recording's frames.
    pub fn new(frames: &'a Frames, function: Option<&'a str>) -> FrameNames<'a> {
        let are_of_it = vec![None; if function.is_some() { frames.len() } else { 0 }];
        FrameNames {
            frames,
            function: function.map(OneFunction::from),
            keys: vec![None; frames.len()],
            are_of_it,
            labels: Vec::new(),
        }
    }

    /// The same, with groups of these names.
    pub fn with(mut self, labels: Vec<String>) -> FrameNames<'a> {
        self.keys.resize(self.frames.len() + labels.len(), None);
        FrameNames { labels, ..self }
    }

    /// What a frame is called, or a group.
    pub fn key(&mut self, frame: FrameId) -> Key {
        if let Some(key) = self.keys[frame.index()] {
            return key;
        }
        let key = match self.label(frame) {
            Some(label) => Key::EMPTY.with(label),
            None => Key::of_frame(self.frames, frame),
        };
        self.keys[frame.index()] = Some(key);
        key
    }

    /// The name of a group; a frame has none.
    pub fn label(&self, frame: FrameId) -> Option<&str> {
        self.labels.get(frame.index().checked_sub(self.frames.len())?).map(String::as_str)
    }

    /// Whether only the part of each stack inside or outside of a function is asked for.
    pub fn want_a_function(&self) -> bool {
        self.function.is_some()
    }

    pub fn is_of_function(&mut self, frame: FrameId) -> bool {
        let Some(function) = self.function else { return false };
        *self.are_of_it[frame.index()].get_or_insert_with(|| function.is(self.frames, frame))
    }
}
