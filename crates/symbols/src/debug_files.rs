//! Finding the file that holds the debug information of another.

use std::ffi::OsStr;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use object::Object;
use rustc_hash::FxHashMap;

use crate::elf::{self, MappedFiles};
use crate::folder_index;

/// A file with debug information.
pub(crate) struct DebugFile<'a> {
    pub(crate) file: object::File<'a>,
    pub(crate) path: PathBuf,
}

/// Where debug files may lie on this machine.
#[derive(Debug, Clone, Default)]
pub struct DebugFolders {
    /// Laid out like `/usr/lib/debug`.
    roots: Vec<PathBuf>,
    /// Laid out in any way.
    loose: Vec<PathBuf>,
    /// Programs, libraries and debug files below `loose`, by build id; read when it is first asked for.
    loose_files: Arc<OnceLock<FxHashMap<Vec<u8>, Vec<PathBuf>>>>,
    /// What debuginfod's clients have fetched: `CACHE/BUILD-ID/debuginfo`.
    cache: Option<PathBuf>,
    recording: Option<PathBuf>,
}

impl DebugFolders {
    /// Where distributions install debug files: `/usr/lib/debug`.
    pub fn of_system() -> Self {
        Self::like_system(vec![PathBuf::from("/usr/lib/debug")])
    }

    /// These folders, in this order. Each is laid out like `/usr/lib/debug`.
    pub fn like_system(roots: Vec<PathBuf>) -> Self {
        DebugFolders { roots, ..Self::default() }
    }

    /// A folder more, of any layout: that of `/usr/lib/debug`, of a system's root, or just files, in it and below. It comes
    /// before the others.
    pub fn add(&mut self, folder: PathBuf) {
        self.roots.insert(0, folder.clone());
        self.loose.push(folder);
        self.loose_files = Arc::default();
    }

    /// The cache of debuginfod's clients.
    pub fn set_cache(&mut self, cache: PathBuf) {
        self.cache = Some(cache);
    }

    /// The folder in which the recording lies: perhaps the unstripped program came with it.
    pub fn set_recording(&mut self, folder: PathBuf) {
        self.recording = Some(folder);
    }

    /// The folders by name, as a user knows them.
    pub fn names(&self) -> Vec<String> {
        let folders = self.roots.iter().chain(&self.cache);
        folders.map(|folder| folder.display().to_string()).collect()
    }

    /// Finds the debug file of the module at `path` by its build id: the first that has debug information, else the first
    /// with any symbols.
    pub(crate) fn by_build_id<'a>(
        &self,
        files: &'a MappedFiles,
        path: &Path,
        build_id: &[u8],
    ) -> Option<DebugFile<'a>> {
        if build_id.is_empty() {
            return None;
        }
        let mut second_best = None;
        let near = self.named_by_id(build_id).chain(self.beside(path));
        // The loose files are read only if nothing else has it.
        for candidate in near.chain(iter::once_with(|| self.loose_by_id(build_id)).flatten()) {
            let Some(found) = open_with_build_id(files, candidate, build_id) else { continue };
            if elf::has_debug_info(&found.file) {
                return Some(found);
            }
            if second_best.is_none() && elf::has_symbol_table(&found.file) {
                second_best = Some(found);
            }
        }
        second_best
    }

    /// Where the files lie that have a build id as their name.
    fn named_by_id(&self, build_id: &[u8]) -> impl Iterator<Item = PathBuf> {
        let name = build_id_path(build_id);
        let installed = self.roots.iter().filter_map(move |root| Some(root.join(name.as_ref()?)));
        let fetched = self.cache.iter().map(|cache| cache.join(elf::hex(build_id)).join("debuginfo"));
        installed.chain(fetched)
    }

    /// Where files lie that are called like the module: beside it, below the roots, beside the recording.
    fn beside(&self, module: &Path) -> impl Iterator<Item = PathBuf> {
        let mut found = Vec::new();
        if let (Some(folder), Some(name)) = (module.parent(), module.file_name()) {
            let mut debug_name = name.to_owned();
            debug_name.push(".debug");
            found.extend([folder.join(&debug_name), folder.join(".debug").join(&debug_name)]);
            found.push(folder.join(".debug").join(name));
            for root in &self.roots {
                let below_root = module.strip_prefix("/").unwrap_or(module);
                found.extend([root.join(below_root).with_file_name(&debug_name), root.join(below_root)]);
            }
            if let Some(folder) = &self.recording {
                found.extend([folder.join(name), folder.join(&debug_name)]);
            }
        }
        found.into_iter()
    }

    fn loose_by_id(&self, build_id: &[u8]) -> impl Iterator<Item = PathBuf> + use<> {
        let all = self.loose_files.get_or_init(|| folder_index::by_build_id(&self.loose));
        all.get(build_id).cloned().unwrap_or_default().into_iter()
    }

    /// Finds the debug file which the `.gnu_debuglink` of a file names: beside it, in `.debug` beside it, or under a root.
    /// Its checksum must be the one in the link.
    pub(crate) fn by_debug_link<'a>(
        &self,
        files: &'a MappedFiles,
        path: &Path,
        file: &object::File<'a>,
    ) -> Option<DebugFile<'a>> {
        let (name, checksum) = file.gnu_debuglink().ok()??;
        // Only the last part: a link is a name, and should not lead out of the directories searched.
        let name = Path::new(OsStr::from_bytes(name)).file_name()?;
        let build_id = elf::build_id(file);
        self.link_candidates(path, name).into_iter().find_map(|path| {
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

    fn link_candidates(&self, path: &Path, name: &OsStr) -> Vec<PathBuf> {
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
                candidates.extend(self.roots.iter().map(|root| root.join(below_root).join(name)));
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

    /// Finds the file which a `.gnu_debugaltlink` names: what `dwz` moved out of several debug files.
    ///
    /// `None` if the debug file needs no other; an error says which one is missing.
    pub(crate) fn supplementary<'a>(
        &self,
        files: &'a MappedFiles,
        debug: &DebugFile<'a>,
    ) -> Option<Result<DebugFile<'a>, MissingFile>> {
        let (name, build_id) = debug.file.gnu_debugaltlink().ok()??;
        let name = Path::new(OsStr::from_bytes(name));
        let beside = debug.path.parent().map(|directory| directory.join(name));
        // The path in the link was right where the file was made; elsewhere only the names below `.dwz` are.
        let below_dwz = name
            .file_name()
            .into_iter()
            .flat_map(|name| self.roots.iter().map(move |directory| directory.join(".dwz").join(name)));
        let candidates = beside.into_iter().chain(self.named_by_id(build_id)).chain(below_dwz);
        let found = candidates
            .chain(iter::once_with(|| self.loose_by_id(build_id)).flatten())
            .find_map(|path| open_with_build_id(files, path, build_id));
        Some(found.ok_or_else(|| MissingFile { name: name.to_path_buf(), build_id: build_id.to_vec() }))
    }
}

/// Whether there is an ELF file at `path` with this build id, in hexadecimal digits, that says something about a program.
pub fn is_debug_file(path: &Path, build_id: &str) -> bool {
    let files = MappedFiles::default();
    files.open(path).is_ok_and(|file| {
        let says_something =
            elf::has_debug_info(&file) || elf::has_symbol_table(&file) || file.section_by_name(".debug_str").is_some();
        elf::hex(elf::build_id(&file)) == build_id && says_something
    })
}

/// A file that another one refers to, and that is not there.
pub(crate) struct MissingFile {
    /// Its path where the other one was made.
    pub(crate) name: PathBuf,
    pub(crate) build_id: Vec<u8>,
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
