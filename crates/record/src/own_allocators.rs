//! Which allocators a process image has inside its files, and whose calls of them the recorder sees.
//!
//! Of an executable that exports `malloc`, the recorder gets what other files call, through their import tables
//! (`recorder/src/hooks/import_patching.hpp`); what the executable's own code calls is bound when it is linked. Of an allocator
//! under other names, or in a library, it gets nothing.

use crate::once_a_file::OnceAFile;
use crate::private_directory;
use memtoll_processor::HERE;
use memtoll_symbols::{Allocators, DebugFolders, Family, ModuleFile, OpenFiles, OwnAllocator as InFile, Resolver};
use memtoll_trace::meta::{AnsweredCalls, Malloc, OwnAllocator, RecordedCalls};
use memtoll_trace::path::last_part;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// The allocators inside files.
pub struct OwnAllocators {
    known: OnceAFile<Allocators>,
    debug_folders: DebugFolders,
}

impl OwnAllocators {
    /// For files whose debug files may lie in these folders.
    pub fn new(debug_folders: DebugFolders) -> OwnAllocators {
        OwnAllocators { known: OnceAFile::default(), debug_folders }
    }

    /// Those of a file: none if it cannot be read.
    pub fn in_file(&self, path: &Path, open: impl FnOnce() -> OpenFiles) -> Arc<Allocators> {
        self.known.get(path, || {
            let resolver = Resolver::with_folders(self.debug_folders.clone()).with_open_files(open());
            resolver.own_allocators(&ModuleFile { path, build_id: &[] }).unwrap_or_default()
        })
    }

    /// Where the loader leads calls of `malloc` in an image: to the first file that exports one, in the order in which they were
    /// loaded. What the executable defines comes first, unless it goes on to the recorder's (`forwards`).
    pub fn malloc_of<'p>(
        &self,
        executable: &str,
        files: impl IntoIterator<Item = &'p str>,
        forwards: bool,
        open: impl Fn() -> OpenFiles,
    ) -> Option<Malloc> {
        let mut files: Vec<&str> = files.into_iter().filter(|path| *path != executable && may_have_one(path)).collect();
        if !forwards {
            files.insert(0, executable);
        }
        files.into_iter().find_map(|file| {
            let name = self.in_file(Path::new(file), &open).malloc.clone()?;
            Some(Malloc { file: file.to_owned(), name })
        })
    }

    /// Those of an image. `libraries`: the files of its code. `forwards`: what the executable defines as malloc goes on to the
    /// recorder's. `planned`: those that were to be redirected.
    pub fn of_image<'p>(
        &self,
        executable: &str,
        libraries: impl IntoIterator<Item = &'p str>,
        forwards: bool,
        planned: Vec<OwnAllocator>,
        open: impl Fn() -> OpenFiles,
    ) -> Vec<OwnAllocator> {
        let is_recorded = |own: &OwnAllocator| own.recorded == RecordedCalls::All;
        // Operators of an executable do not go on to the recorder's where they have memory of their own.
        let goes_on = |family: Option<Family>| forwards && family.is_none_or(Family::has_malloc);
        let is_reached =
            |own: &OwnAllocator| own.is_exported && (own.file != executable || goes_on(Family::named(&own.name)));
        let mut all = planned;
        for own in all.iter_mut().filter(|own| !is_recorded(own)) {
            own.recorded = if own.is_exported { RecordedCalls::OfOtherFiles } else { RecordedCalls::None };
        }
        all.retain(|own| is_recorded(own) || !is_reached(own));
        for own in self
            .in_file(Path::new(executable), &open)
            .own
            .iter()
            .filter(|own| !(own.is_exported && goes_on(Some(own.family))))
        {
            let recorded = if own.is_exported { RecordedCalls::OfOtherFiles } else { RecordedCalls::None };
            let known = described(executable, own, own.is_exported, recorded);
            if !all.iter().any(|own| own.is_the_same(&known)) {
                all.push(known);
            }
        }
        for library in libraries.into_iter().filter(|path| *path != executable && may_have_one(path)) {
            // What a library exports comes after the recorder's: others call it through the recorder.
            for own in self.in_file(Path::new(library), &open).own.iter().filter(|own| !own.is_exported) {
                let path = fs::canonicalize(library)
                    .map_or_else(|_| library.into(), |path| path.to_string_lossy().into_owned());
                let known = described(&path, own, false, RecordedCalls::None);
                if !all.iter().any(|own| own.is_the_same(&known)) {
                    all.push(known);
                }
            }
        }
        all
    }
}

fn described(file: &str, own: &InFile, is_exported: bool, recorded: RecordedCalls) -> OwnAllocator {
    OwnAllocator {
        file: file.to_owned(),
        name: own.family.name().to_owned(),
        is_exported,
        recorded,
        why: None,
        answered: AnsweredCalls::default(),
    }
}

/// The loader allocates before there is a C library, for itself alone.
pub fn may_have_one(path: &str) -> bool {
    let name = last_part(path);
    path.starts_with('/') && name != HERE.loader_name() && name != private_directory::RECORDER_NAME
}
