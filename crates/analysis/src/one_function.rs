//! The one function that a tree is asked for.

use crate::library::qualified_name;
use memtoll_model::{FrameId, Frames};

/// A function: `f(int)`, or all functions of one name: `f`. With ` module:/opt/a/plugin.so` behind it, only that of this loaded file;
/// as [`crate::stacks::Names`] have it, but without expressions.
#[derive(Clone, Copy)]
pub struct OneFunction<'t> {
    name: &'t str,
    module: Option<&'t str>,
}

impl<'t> From<&'t str> for OneFunction<'t> {
    fn from(text: &'t str) -> OneFunction<'t> {
        match text.rsplit_once(" module:") {
            Some((name, module)) => OneFunction { name, module: Some(module) },
            None => OneFunction { name: text, module: None },
        }
    }
}

impl OneFunction<'_> {
    /// Whether a frame is of it.
    pub fn is(&self, frames: &Frames, frame: FrameId) -> bool {
        let frame = frames.frame(frame);
        let whole = frames.text(frame.function);
        (whole == self.name || qualified_name(whole) == self.name)
            && self.module.is_none_or(|module| frames.unique_name(frame.module) == module)
    }
}
