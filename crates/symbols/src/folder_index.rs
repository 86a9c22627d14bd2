//! Programs, libraries and debug files in folders of any layout, by build id.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use object::{FileKind, Object, ObjectKind};
use rustc_hash::FxHashMap;

use crate::elf::{self, MappedFiles};

/// Folders are followed so deep: enough for any build, and an end to those that contain themselves.
const DEEPEST: usize = 64;

/// All files with build ids in these folders and below, in the order of their paths. Links to folders are not followed.
pub(crate) fn by_build_id(folders: &[PathBuf]) -> FxHashMap<Vec<u8>, Vec<PathBuf>> {
    let mut found: FxHashMap<Vec<u8>, Vec<PathBuf>> = FxHashMap::default();
    let mut waiting: Vec<(PathBuf, usize)> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = waiting.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() && depth < DEEPEST {
                waiting.push((path, depth + 1));
            } else if !kind.is_dir()
                && let Some(build_id) = build_id_of(&path)
            {
                found.entry(build_id).or_default().push(path);
            }
        }
    }
    found.values_mut().for_each(|paths| paths.sort_unstable());
    found
}

/// The build id of a program, library or debug file.
fn build_id_of(path: &Path) -> Option<Vec<u8>> {
    // Most files of a build are none: the first bytes of a regular file tell.
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut start = [0; 64];
    File::open(path).ok()?.read_exact(&mut start).ok()?;
    if !matches!(FileKind::parse(&start[..]), Ok(FileKind::Elf32 | FileKind::Elf64)) {
        return None;
    }
    let files = MappedFiles::default();
    let file = files.open(path).ok()?;
    let is_linked = matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic);
    let build_id = elf::build_id(&file);
    (is_linked && !build_id.is_empty()).then(|| build_id.to_vec())
}
