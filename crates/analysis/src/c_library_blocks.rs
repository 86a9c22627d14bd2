//! Blocks that the C library makes for its own use, below a function that a line calls: `getpwuid` opens a file, with a buffer
//! for it. The line pays for them and cannot change how they are made.

use crate::library::is_c_library;
use crate::sites::Row;
use crate::stacks::Texts;
use memtoll_model::{FrameId, Recording, StackId};
use memtoll_trace::path::last_part;

/// Functions that return a block to their caller, who owns it.
const MAKERS: [&str; 14] = [
    "strdup", "strndup", "wcsdup", "asprintf", "vasprintf", "getline", "getdelim", "realpath", "getcwd",
    "get_current_dir_name", "open_memstream", "scandir", "getaddrinfo", "reallocarray",
];

/// A function of the C library that a line calls, and its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// As programs call it.
    pub function: String,
    /// Without its folder.
    pub library: String,
}

/// The function of the C library through which a line gets to a call, if the blocks are the library's own.
pub fn entered(recording: &Recording, node: StackId, line: Option<FrameId>) -> Option<Entered> {
    let last = recording.frames_of(node).take_while(|frame| Some(*frame) != line).last()?;
    let texts = Texts::of(&recording.frames, last);
    let function = plain(texts.function);
    let is_own = is_c_library(texts.module) && !MAKERS.contains(&function) && !function.contains("printf");
    let library = last_part(texts.module);
    is_own.then(|| Entered { function: function.to_owned(), library: library.to_owned() })
}

/// glibc's own names of what others call `getpwuid`: `__GI_getpwuid`, `_IO_getdelim`.
fn plain(function: &str) -> &str {
    let mut name = function.trim_start_matches('_');
    for start in ["GI_", "IO_", "libc_"] {
        name = name.strip_prefix(start).unwrap_or(name).trim_start_matches('_');
    }
    name.split('@').next().unwrap_or(name).trim_end_matches("_internal")
}

/// The same of all calls of a line, if these are of one function.
pub fn entered_by_all(recording: &Recording, row: &Row) -> Option<Entered> {
    let mut all = row.nodes.iter().map(|node| entered(recording, *node, row.frame));
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_names_that_programs_call() {
        for (name, expected) in [
            ("getpwuid", "getpwuid"),
            ("__GI_getpwuid_r", "getpwuid_r"),
            ("__strdup", "strdup"),
            ("_IO_getdelim", "getdelim"),
            ("__vasprintf_internal", "vasprintf"),
            ("fopen@@GLIBC_2.2.5", "fopen"),
            ("__fopen_internal", "fopen"),
        ] {
            assert_eq!(plain(name), expected);
        }
    }
}
