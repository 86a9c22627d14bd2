//! What is written of a frame.

use memtoll_model::{FrameId, Frames};
use memtoll_trace::path::last_part;

/// The texts of a frame.
pub struct Texts<'a> {
    /// The function's name.
    pub function: &'a str,
    /// The source file.
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    /// The loaded file.
    pub module: &'a str,
    /// The loaded file, with the name that its program was called by.
    pub shown_module: &'a str,
}

impl<'a> Texts<'a> {
    pub fn of(frames: &'a Frames, id: FrameId) -> Texts<'a> {
        let frame = frames.frame(id);
        Texts {
            function: frames.text(frame.function),
            file: frame.file.map(|file| frames.text(file)),
            line: frame.line,
            module: frames.text(frame.module),
            shown_module: frames.shown(frames.text(frame.module)),
        }
    }

    /// What the loaded file is called, without its folder.
    pub fn module_name(&self) -> &'a str {
        last_part(self.shown_module)
    }
}
