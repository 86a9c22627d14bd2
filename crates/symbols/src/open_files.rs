//! Files that a process holds open, for modules whose names may lead nowhere, or to another file, by now.

use std::path::{Path, PathBuf};

use memtoll_trace::symbols::DELETED;
use rustc_hash::FxHashMap;

use crate::ModuleFile;
use crate::build_id::bytes;

#[derive(Debug, Clone, Default)]
pub struct OpenFiles {
    by_build_id: FxHashMap<Vec<u8>, PathBuf>,
    by_path: FxHashMap<PathBuf, PathBuf>,
}

impl OpenFiles {
    /// The module with this path and build id (hexadecimal digits, or empty) can be read at `place`.
    pub fn add(&mut self, path: &str, build_id: &str, place: PathBuf) {
        if !build_id.is_empty() {
            self.by_build_id.insert(bytes(build_id), place.clone());
        }
        self.by_path.insert(path.into(), place);
    }

    /// Where a module can be read.
    pub(crate) fn find(&self, module: &ModuleFile<'_>) -> Option<&Path> {
        let place = match module.build_id {
            [] => {
                let path = module.path.to_str()?;
                self.by_path.get(Path::new(path.strip_suffix(DELETED).unwrap_or(path)))
            }
            build_id => self.by_build_id.get(build_id),
        };
        place.map(PathBuf::as_path)
    }
}
