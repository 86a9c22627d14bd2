use serde::{Deserialize, Serialize};

/// What hides calls of a process image from the recorder.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct OwnAllocators {
    /// Allocators inside its files.
    pub allocators: Vec<OwnAllocator>,
    /// Where calls of `malloc` go that import tables lead to; null: that was not found out.
    pub malloc: Option<Malloc>,
    /// Blocks whose addresses were handed out again and of which no free was recorded.
    pub unfreed_reused: u64,
}

impl OwnAllocators {
    /// Whether each free of a block was recorded whose allocation was.
    pub fn show_frees(&self) -> bool {
        !self.allocators.iter().any(OwnAllocator::hides_frees) && !self.reuse_unfreed_blocks()
    }

    /// Whether so many addresses were handed out again without a free that those of others may be missing as well. A few are missing
    /// where the program is killed, or forks, in the middle of a call.
    pub fn reuse_unfreed_blocks(&self) -> bool {
        const FEWEST: u64 = 16;
        self.unfreed_reused >= FEWEST
    }
}

/// The file whose `malloc` the loader bound others to.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Malloc {
    /// The library, or the program.
    pub file: String,
    /// What it is called, such as `glibc 2.36` or `jemalloc`; `a malloc of its own` if it has no name that is known.
    pub name: String,
}

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
    /// What it was asked for, as far as that was recorded as its own.
    pub answered: AnsweredCalls,
}

/// What an allocator was asked for.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct AnsweredCalls {
    /// Calls of its functions.
    pub calls: u64,
    /// Blocks that it gave; a reallocation gives one.
    pub allocations: u64,
    /// Bytes that were asked for in these.
    pub bytes: u64,
    /// Blocks that it was given back.
    pub releases: u64,
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

impl AnsweredCalls {
    /// Adds those of another process. Numbers of a damaged file may be beyond all sums.
    pub fn add(&mut self, other: &AnsweredCalls) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.saturating_add(other.$field);)* };
        }
        add!(calls, allocations, bytes, releases);
    }
}

impl OwnAllocator {
    /// Whether the other one describes the same allocator.
    pub fn is_the_same(&self, other: &OwnAllocator) -> bool {
        (&self.file, &self.name) == (&other.file, &other.name)
    }

    /// Whether it may free blocks whose allocation was recorded, without the recorder.
    pub fn hides_frees(&self) -> bool {
        self.is_exported && self.recorded != RecordedCalls::All
    }
}
