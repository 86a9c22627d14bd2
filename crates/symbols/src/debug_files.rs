//! Finding the file that holds the debug information of another.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::Object;

use crate::elf::{self, MappedFiles};

/// A file with debug information.
pub(crate) struct DebugFile<'a> {
    pub(crate) file: object::File<'a>,
    pub(crate) path: PathBuf,
}

/// Finds a separate debug file by build id, in `DIRECTORY/.build-id/ab/cdef.debug`.
pub(crate) fn by_build_id<'a>(
    files: &'a MappedFiles,
    directories: &[PathBuf],
    build_id: &[u8],
) -> Option<DebugFile<'a>> {
    let name = build_id_path(build_id)?;
    directories.iter().map(|directory| directory.join(&name)).find_map(|path| open_with_build_id(files, path, build_id))
}

/// Finds the debug file which the `.gnu_debuglink` of a file names: beside it, in `.debug` beside it, or under a debug
/// directory. Its checksum must be the one in the link.
pub(crate) fn by_debug_link<'a>(
    files: &'a MappedFiles,
    directories: &[PathBuf],
    path: &Path,
    file: &object::File<'a>,
) -> Option<DebugFile<'a>> {
    let (name, checksum) = file.gnu_debuglink().ok()??;
    // Only the last part: a link is a name, and should not lead out of the directories searched.
    let name = Path::new(OsStr::from_bytes(name)).file_name()?;
    let build_id = elf::build_id(file);
    link_candidates(path, name, directories).into_iter().find_map(|path| {
        let bytes = files.map(&path).ok()?;
        if crc32fast::hash(bytes) != checksum {
            return None;
        }
        let file = files.open(&path).ok()?;
        let found = elf::build_id(&file);
        let same = build_id.is_empty() || found.is_empty() || found == build_id;
        same.then_some(DebugFile { file, path })
    })
}

/// Finds the file which a `.gnu_debugaltlink` names: what `dwz` moved out of several debug files.
///
/// `None` if the debug file needs no other; an error names the file that is missing.
pub(crate) fn supplementary<'a>(
    files: &'a MappedFiles,
    directories: &[PathBuf],
    debug: &DebugFile<'a>,
) -> Option<Result<DebugFile<'a>, PathBuf>> {
    let (name, build_id) = debug.file.gnu_debugaltlink().ok()??;
    let name = Path::new(OsStr::from_bytes(name));
    let beside = debug.path.parent().map(|directory| directory.join(name));
    // The path in the link was right where the file was made; elsewhere only the names below `.dwz` are.
    let below_dwz = name
        .file_name()
        .into_iter()
        .flat_map(|name| directories.iter().map(move |directory| directory.join(".dwz").join(name)));
    let by_id = build_id_path(build_id)
        .into_iter()
        .flat_map(|name| directories.iter().map(move |directory| directory.join(&name)));
    let found =
        beside.into_iter().chain(by_id).chain(below_dwz).find_map(|path| open_with_build_id(files, path, build_id));
    Some(found.ok_or_else(|| name.to_path_buf()))
}

fn open_with_build_id<'a>(files: &'a MappedFiles, path: PathBuf, build_id: &[u8]) -> Option<DebugFile<'a>> {
    let file = files.open(&path).ok()?;
    (elf::build_id(&file) == build_id).then_some(DebugFile { file, path })
}

fn build_id_path(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    if rest.is_empty() {
        return None;
    }
    Some(PathBuf::from(format!(".build-id/{first:02x}/{}.debug", elf::hex(rest))))
}

fn link_candidates(path: &Path, name: &OsStr, directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut candidates = Vec::new();
    // With the path as it was loaded and with links followed: `/lib` is often a link to `/usr/lib`.
    let canonical = path.canonicalize().ok();
    for path in [Some(path), canonical.as_deref()].into_iter().flatten() {
        let Some(parent) = path.parent() else {
            continue;
        };
        candidates.push(parent.join(name));
        candidates.push(parent.join(".debug").join(name));
        if let Ok(below_root) = parent.strip_prefix("/") {
            candidates.extend(directories.iter().map(|directory| directory.join(below_root).join(name)));
        }
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    candidates.retain(|candidate| {
        let new = candidate != path && !seen.contains(candidate);
        if new {
            seen.push(candidate.clone());
        }
        new
    });
    candidates
}
