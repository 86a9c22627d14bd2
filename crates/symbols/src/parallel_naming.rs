//! Names the addresses of many files, on as many processors as there are.

use crate::build_id::bytes;
use crate::{ModuleFile, Resolved, Resolver};
use memtoll_trace::symbols::{NameSource, file_name};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Files whose names are found at the same time at the most: each may hold a gigabyte of debug information.
const AT_ONCE: usize = 8;

/// Addresses in a file to be named.
pub(crate) struct FileAddresses {
    pub(crate) path: String,
    /// Build id, in hexadecimal.
    pub(crate) build_id: String,
    /// Increasing.
    pub(crate) addresses: Vec<u64>,
}

/// Their names.
pub(crate) struct Named {
    pub(crate) file: FileAddresses,
    pub(crate) resolved: Resolved,
    /// Sizes of types by their names, bytes.
    pub(crate) type_sizes: FxHashMap<String, u64>,
}

/// Names the addresses of all files. They come back in another order.
pub(crate) fn name_all(resolver: &Resolver, mut files: Vec<FileAddresses>) -> Vec<Named> {
    // Those with the most addresses first, which probably take longest.
    files.sort_by_key(|file| Reverse(file.addresses.len()));
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(files.len()).min(AT_ONCE);
    let waiting: Vec<Mutex<Option<FileAddresses>>> = files.into_iter().map(|file| Mutex::new(Some(file))).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let name_some = || {
        while let Some(slot) = waiting.get(next.fetch_add(1, Relaxed)) {
            let Some(file) = slot.lock().unwrap_or_else(PoisonError::into_inner).take() else { continue };
            let named = name(resolver, file);
            done.lock().unwrap_or_else(PoisonError::into_inner).push(named);
        }
    };
    std::thread::scope(|scope| {
        // This thread is one of them, and does it alone where there are no others to be had.
        for _ in 1..threads {
            let _ = std::thread::Builder::new().spawn_scoped(scope, name_some);
        }
        name_some();
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn name(resolver: &Resolver, file: FileAddresses) -> Named {
    let id = bytes(&file.build_id);
    let module = ModuleFile { path: Path::new(&file.path), build_id: &id };
    let (resolved, type_sizes) = match is_c_library(&file.path) {
        true => (resolver.resolve_names(&module, &file.addresses), FxHashMap::default()),
        false => resolver.resolve_with_types(&module, &file.addresses),
    };
    Named { file, resolved, type_sizes }
}

/// The most that is asked of a file's names.
pub(crate) fn complete(path: &str) -> NameSource {
    if is_c_library(path) { NameSource::Symbols } else { NameSource::DebugInfo }
}

/// Files of the C library and its loader. Every program runs through them, no reader looks for the line in them, and reading
/// their debug information takes longer than many a program.
pub(crate) fn is_c_library(path: &str) -> bool {
    let name = file_name(path);
    ["libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "ld-linux"].iter().any(|start| name.starts_with(start))
}
