//! The allocators of a program that does not run yet.

use crate::own_allocators::{OwnAllocators, may_have_one};
use crate::recordable_program::libraries;
use crate::redirection;
use memtoll_symbols::{DebugFolders, OpenFiles, OwnAllocator as InFile};
use memtoll_trace::meta::{Malloc, OwnAllocator};
use std::path::Path;

/// The allocators of a program, as far as its files tell before it runs.
#[derive(Debug)]
pub struct ExpectedAllocators {
    /// Those inside it and inside the libraries that its loader loads, as they will be in its recording.
    pub own: Vec<OwnAllocator>,
    /// Where calls of `malloc` lead that its files leave to the loader.
    pub malloc: Option<Malloc>,
}

/// The allocators of a program.
pub fn expected_allocators(program: &Path) -> ExpectedAllocators {
    let all = OwnAllocators::new(DebugFolders::of_system());
    let libraries = libraries(program);
    let mut own = redirection::expected(program, &all.in_file(program, OpenFiles::default).own);
    for library in libraries.iter().filter(|path| may_have_one(path)) {
        // What a library exports is called through the loader, and so through the recorder.
        let inside = all.in_file(Path::new(library), OpenFiles::default);
        let hidden: Vec<InFile> = inside.own.iter().filter(|own| !own.is_exported).cloned().collect();
        own.extend(redirection::expected(Path::new(library), &hidden));
    }
    let program = program.to_string_lossy();
    let files = libraries.iter().map(String::as_str);
    let malloc = all.malloc_of(&program, files.clone(), false, OpenFiles::default);
    ExpectedAllocators { own: all.of_image(&program, files, false, own, OpenFiles::default), malloc }
}
