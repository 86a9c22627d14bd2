use serde::{Deserialize, Serialize};

/// An allocator inside a file of a process image. Calls of its functions are bound inside that file, past the recorder.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct OwnAllocator {
    /// The file, a program or a library.
    pub file: String,
    /// What it is called, such as `jemalloc`; `a malloc of its own` if it has no name that is known.
    pub name: String,
    /// Whether calls of `malloc` and `free` in other files of the image go to it, too.
    pub is_exported: bool,
    /// Whose calls of it are in the recording.
    pub recorded: RecordedCalls,
    /// Why not all of them, where there is more to say than that they do not pass the recorder; null: there is not.
    pub why: Option<String>,
}

/// Whose calls of an allocator are in a recording.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RecordedCalls {
    /// All.
    All,
    /// Those of other files of the image. Those of its own file are missing: what it frees seems to stay.
    OfOtherFiles,
    /// None.
    None,
}

impl OwnAllocator {
    /// Whether it may free blocks whose allocation was recorded, without the recorder.
    pub fn hides_frees(&self) -> bool {
        self.is_exported && self.recorded != RecordedCalls::All
    }
}
