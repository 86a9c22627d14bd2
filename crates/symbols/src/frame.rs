//! What goes into the resolver and what comes out of it.

use std::path::Path;

use memtoll_trace::symbols::NameSource;

/// One function of an inline chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Name of the function, demangled. Where no name is known, the file name of the module and the address in it, such
    /// as `libfoo.so+0x1234`.
    pub function: String,
    /// Path of the source file as the compiler saw it.
    pub file: Option<String>,
    /// Line in `file`, counted from 1. For a function that others were inlined into it is the line of the call.
    pub line: Option<u32>,
    /// Whether reports name its caller instead, as for a library function: a copy constructor or destructor that the compiler
    /// wrote, Rust's `clone`.
    pub is_implicit: bool,
}

impl Frame {
    /// A function of which only the name is known.
    pub(crate) fn without_line(function: String) -> Frame {
        Frame { function, file: None, line: None, is_implicit: false }
    }
}

/// A loaded file, as the recorder saw it.
#[derive(Debug, Clone, Copy)]
pub struct ModuleFile<'a> {
    /// Path as `/proc/PID/maps` gives it: may end in ` (deleted)`, may be a name such as `[vdso]`, may be empty.
    pub path: &'a Path,
    /// GNU build id of the file in memory at the time; empty where it had none or it is not known. Without it a file
    /// that was replaced since the recording cannot be told from the right one.
    pub build_id: &'a [u8],
}

/// The answer for one module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// For each address, in the order asked, its functions: the innermost inlined function first, the function that
    /// really was called last. Never empty.
    pub frames: Vec<Vec<Frame>>,
    /// Why names or lines are missing, where the reason is something to tell the user: the file changed, cannot be
    /// read, is damaged. A file that simply has no debug information is not a problem.
    pub problem: Option<String>,
    /// Where the names come from.
    pub source: NameSource,
    /// Whether at least one frame has a line.
    pub has_lines: bool,
}
