//! The branches of a tree without their sums.

use super::frame_names::FrameNames;
use crate::stable_key::Key;
use memtoll_model::FrameId;

/// Where the sums of a stack go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct End {
    pub branch: u32,
    /// To what is dropped of the branch, too.
    pub is_dropped: bool,
}

/// A branch without its sums.
pub struct Twig {
    /// The frame, if it is one.
    pub frame: Option<FrameId>,
    /// The group, if it is one.
    pub label: Option<String>,
    pub key: Key,
    /// What it is below, by number; the first one is below itself.
    pub parent: u32,
    pub children: u32,
    /// Children that are too small.
    pub dropped: usize,
    /// Whether it has children that are beyond the part that was asked for.
    pub has_more: bool,
}

impl Twig {
    /// The root of all.
    pub(super) fn root() -> Twig {
        Twig { frame: None, label: None, key: Key::EMPTY, parent: 0, children: 0, dropped: 0, has_more: false }
    }

    pub(super) fn new(frame: FrameId, key: Key, parent: u32, names: &FrameNames) -> Twig {
        let label = names.label(frame).map(str::to_owned);
        Twig { frame: label.is_none().then_some(frame), label, key, parent, ..Twig::root() }
    }
}
