//! Which allocators a process image has inside its files, and whose calls of them the recorder sees.
//!
//! Of an executable that exports `malloc`, the recorder gets what other files call, through their import tables
//! (`recorder/src/hooks/import_patching.hpp`); what the executable's own code calls is bound when it is linked. Of an allocator
//! under other names, or in a library, it gets nothing.

use crate::private_directory;
use crate::redirection;
use memtoll_processor::HERE;
use memtoll_symbols::{ModuleFile, Resolver};
use memtoll_trace::meta::{AnsweredCalls, OwnAllocator, RecordedCalls};
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The allocators of files that were looked at.
#[derive(Default)]
pub struct OwnAllocators(Mutex<FxHashMap<Key, Arc<[memtoll_symbols::OwnAllocator]>>>);

/// A path, and what tells the file from others that were there: device, inode, time of its last change, seconds and
/// nanoseconds.
type Key = (String, Option<(u64, u64, i64, i64)>);

impl OwnAllocators {
    /// Those in a file: none if it cannot be read.
    fn in_file(&self, path: &str, resolver: impl FnOnce() -> Resolver) -> Arc<[memtoll_symbols::OwnAllocator]> {
        let identity = fs::metadata(path).ok().map(|file| (file.dev(), file.ino(), file.mtime(), file.mtime_nsec()));
        let key = (path.to_owned(), identity);
        let locked = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(&key) {
            return known.clone();
        }
        // Not under the lock: a large file takes a while.
        let module = ModuleFile { path: Path::new(path), build_id: &[] };
        let found: Arc<[_]> = resolver().own_allocators(&module).unwrap_or_default().into();
        locked().entry(key).or_insert(found).clone()
    }

    /// Those of an image. `libraries`: the files of its code. `forwards`: what the executable defines as malloc goes on to the
    /// recorder's. `planned`: those that were to be redirected.
    pub fn of_image<'p>(
        &self,
        executable: &str,
        libraries: impl IntoIterator<Item = &'p str>,
        forwards: bool,
        planned: Vec<OwnAllocator>,
        resolver: impl Fn() -> Resolver,
    ) -> Vec<OwnAllocator> {
        let is_recorded = |own: &OwnAllocator| own.recorded == RecordedCalls::All;
        let is_reached = |own: &OwnAllocator| own.is_exported && (own.file != executable || forwards);
        let mut all = planned;
        for own in all.iter_mut().filter(|own| !is_recorded(own)) {
            own.recorded = if own.is_exported { RecordedCalls::OfOtherFiles } else { RecordedCalls::None };
        }
        all.retain(|own| is_recorded(own) || !is_reached(own));
        for own in self.in_file(executable, &resolver).iter().filter(|own| !(own.is_exported && forwards)) {
            let recorded = if own.is_exported { RecordedCalls::OfOtherFiles } else { RecordedCalls::None };
            let known = described(executable, own, own.is_exported, recorded);
            if !all.iter().any(|own| own.is_the_same(&known)) {
                all.push(known);
            }
        }
        for library in libraries.into_iter().filter(|path| *path != executable && may_have_one(path)) {
            // What a library exports comes after the recorder's: others call it through the recorder.
            for own in self.in_file(library, &resolver).iter().filter(|own| !own.is_exported) {
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

/// The allocators inside a program, as they will be in its recording.
pub fn own_allocators(program: &Path) -> Vec<OwnAllocator> {
    OwnAllocators::default().of_image(
        &program.to_string_lossy(),
        [],
        false,
        redirection::expected(program),
        Resolver::new,
    )
}

fn described(
    file: &str,
    own: &memtoll_symbols::OwnAllocator,
    is_exported: bool,
    recorded: RecordedCalls,
) -> OwnAllocator {
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
fn may_have_one(path: &str) -> bool {
    let name = last_part(path);
    path.starts_with('/') && name != HERE.loader_name() && name != private_directory::RECORDER_NAME
}
