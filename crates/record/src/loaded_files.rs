//! The files of loaded code. The program may delete or replace them while it runs; names are looked up when it has ended. So
//! files are kept open from when they are loaded, by their build ids, and told apart where one path had several.
//!
//! A file comes here in one of these ways: the recorder shows it before it is loaded ([`LoadedFiles::shown`]), the process
//! begins with it ([`LoadedFiles::executable`]), or it is found when its code is first seen in a call stack
//! ([`LoadedFiles::loaded`]): in the process's own root directory, or among its mappings, where the kernel lets memtoll see
//! these.

use crate::proc_files;
use memtoll_symbols::{FileId, OpenFiles};
use memtoll_trace::meta::Module;
use memtoll_trace::symbols::{path_of, with_version};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Most files that are kept open. The limit on this process's descriptors may allow fewer.
const MOST: usize = 512;
/// The part of all descriptors that files may take.
const SHARE: usize = 8;
/// Longest file, bytes, that is copied where the program may unmount its file system: an open file would forbid that.
const LONGEST_COPY: u64 = 32 << 20;

/// What tells a file from all others, also from one that was written anew.
type OnDisk = (u64, u64, i64, i64); // device, inode, seconds and nanoseconds of the last change

fn identity(about: &Metadata) -> OnDisk {
    (about.dev(), about.ino(), about.ctime(), about.ctime_nsec())
}

/// An open file.
struct Kept {
    file: File,
    /// Where it lay when it was opened.
    path: String,
    id: FileId,
    identity: OnDisk,
}

impl Kept {
    /// Opens a file of code. `may_stay` says whether a file system may be kept busy.
    fn open(place: &Path, may_stay: impl FnOnce(u64) -> bool) -> Option<Kept> {
        // Opening a pipe would wait for its other end.
        let about = fs::metadata(place).ok().filter(Metadata::is_file)?;
        let mut file = File::open(place).ok()?;
        let path = path_of(&fs::read_link(own(&file)).ok()?.to_string_lossy()).to_owned();
        let id = FileId::of(&own(&file))?;
        if !may_stay(about.dev()) {
            file = copy(file, about.len())?;
        }
        Some(Kept { identity: identity(&about), file, path, id })
    }

    /// Whether the file is still at its path, where it can be opened again.
    fn can_be_had_again(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|about| identity(&about) == self.identity)
    }
}

/// A copy in memory.
fn copy(file: File, length: u64) -> Option<File> {
    if length > LONGEST_COPY {
        return None;
    }
    let memory = rustix::fs::memfd_create("memtoll-loaded-file", rustix::fs::MemfdFlags::CLOEXEC).ok()?;
    let mut copy = File::from(memory);
    std::io::copy(&mut file.take(LONGEST_COPY), &mut copy).ok()?;
    Some(copy)
}

/// The devices of all file systems that are mounted now.
fn mounted() -> FxHashSet<u64> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let device = |line: &str| {
        let (major, minor) = line.split(' ').nth(2)?.split_once(':')?;
        Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
    };
    mounts.lines().filter_map(device).collect()
}

/// The path by which this process can open a file of its own again.
fn own(file: &impl AsRawFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

#[derive(Default)]
struct Files {
    kept: Vec<Kept>,
    /// Those that need not be looked at again.
    seen: FxHashMap<OnDisk, FileId>,
    /// Which files a path had, in the order in which they were loaded.
    versions: FxHashMap<String, Vec<FileId>>,
    /// The paths of files in the recording.
    named: FxHashMap<String, FileId>,
}

impl Files {
    /// Keeps a file, if that is possible and of use.
    fn keep(&mut self, file: Kept, most: usize) {
        self.seen.insert(file.identity, file.id.clone());
        if self.find(&file.id).is_some() {
            return;
        }
        if self.kept.len() >= most {
            self.kept.retain(|kept| !kept.can_be_had_again());
        }
        if self.kept.len() < most {
            self.kept.push(file);
        }
    }

    fn find(&self, id: &FileId) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.id == *id)
    }

    /// The path of a loaded file in the recording: those after the first of a path get one that says so.
    fn name(&mut self, path: &str, id: FileId) -> String {
        let versions = self.versions.entry(path.to_owned()).or_default();
        let number = versions.iter().position(|known| *known == id).unwrap_or_else(|| {
            versions.push(id.clone());
            versions.len() - 1
        });
        let name = match &id {
            _ if number == 0 => path.to_owned(),
            FileId::BuildId(digits) => with_version(path, &format!("build {}", digits.get(..8).unwrap_or(digits))),
            FileId::Functions(_) => with_version(path, &format!("version {}", number + 1)),
        };
        self.named.insert(name.clone(), id);
        name
    }
}

/// The files of a run.
pub struct LoadedFiles {
    files: Mutex<Files>,
    /// Files that were shown and not opened yet.
    shown: Mutex<Vec<OwnedFd>>,
    most: usize,
    /// File systems from before the program began. Those that it mounts it may unmount, as AppImages do.
    mounted: FxHashSet<u64>,
}

impl Default for LoadedFiles {
    fn default() -> Self {
        let allowed = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let allowed = allowed.map_or(usize::MAX, |allowed| usize::try_from(allowed).unwrap_or(usize::MAX));
        LoadedFiles {
            files: Mutex::default(),
            shown: Mutex::default(),
            most: MOST.min(allowed / SHARE),
            mounted: mounted(),
        }
    }
}

impl LoadedFiles {
    /// A process is about to load this file, and waits until this returns: it is read later.
    pub fn shown(&self, file: OwnedFd) {
        let waiting = {
            let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.push(file);
            shown.len()
        };
        if waiting > self.most / 8 {
            self.open_shown();
        }
    }

    fn open_shown(&self) {
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        shown.iter().for_each(|file| _ = self.open(&own(file)));
    }

    /// A process executes a file.
    pub fn executable(&self, pid: u32) {
        self.open(Path::new(&format!("/proc/{pid}/exe")));
    }

    /// A file is loaded. It gets the path that it has for everybody, and another one if a file with that path was loaded
    /// before that is not the same. `functions_hash` tells files without a build id apart.
    pub fn loaded(&self, pid: u32, module: &mut Module, functions_hash: u32) {
        let Some(id) = FileId::new(&module.build_id, functions_hash).filter(|_| module.path.contains('/')) else {
            return; // the kernel's, or one that looks like others
        };
        if self.files().find(&id).is_none() {
            self.open_shown();
        }
        if self.files().find(&id).is_none() {
            self.find(pid, module, &id);
        }
        let mut files = self.files();
        // As the program called it, which may mean another file here, or none.
        if !module.path.starts_with('/') || module.path.starts_with("/proc/") {
            match files.find(&id) {
                Some(kept) => module.path.clone_from(&kept.path),
                None if module.path.starts_with('/') => {}
                None => {
                    let folder = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
                    module.path = folder.join(module.path.trim_start_matches("./")).to_string_lossy().into_owned();
                }
            }
        }
        module.path = files.name(&module.path, id);
    }

    /// Where names come from.
    pub fn open_files(&self) -> OpenFiles {
        self.open_shown();
        let mut open = OpenFiles::default();
        let files = self.files();
        let mut add = |path: &str, kept: &Kept| {
            let build_id = match &kept.id {
                FileId::BuildId(digits) => digits,
                FileId::Functions(_) => "",
            };
            open.add(path, build_id, own(&kept.file));
        };
        files.kept.iter().for_each(|kept| add(&kept.path, kept));
        // These decide.
        files.named.iter().for_each(|(path, id)| files.find(id).into_iter().for_each(|kept| add(path, kept)));
        open
    }

    fn files(&self) -> std::sync::MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for the file of a module that was not shown.
    fn find(&self, pid: u32, module: &Module, id: &FileId) {
        let path = path_of(&module.path);
        let in_process = match path.starts_with('/') {
            true => format!("/proc/{pid}/root{path}"),
            false => format!("/proc/{pid}/cwd/{path}"),
        };
        // A process that has ended has no root any more.
        if self.open(Path::new(&in_process)) == Some(id.clone()) || self.open(Path::new(path)) == Some(id.clone()) {
            return;
        }
        // Only some users may look at these.
        if let Some(line) = mapped(pid, module) {
            self.open(Path::new(&format!("/proc/{pid}/map_files/{:x}-{:x}", line.start, line.end)));
        }
    }

    /// Opens a file and keeps it.
    fn open(&self, place: &Path) -> Option<FileId> {
        let about = fs::metadata(place).ok()?;
        let known = self.files().seen.get(&identity(&about)).cloned();
        known.or_else(|| {
            let kept = Kept::open(place, |device| self.mounted.contains(&device))?;
            let id = kept.id.clone();
            self.files().keep(kept, self.most);
            Some(id)
        })
    }
}

/// The mapping with which a module begins.
fn mapped(pid: u32, module: &Module) -> Option<proc_files::MapLine> {
    proc_files::maps(pid)
        .into_iter()
        .find(|line| (line.start..line.end).contains(&module.start) && line.path.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies of this test program, each of which is another file.
    fn programs(folder: &Path, count: u8) -> Vec<PathBuf> {
        let content = fs::read(std::env::current_exe().unwrap()).unwrap();
        let own = FileId::of(&std::env::current_exe().unwrap()).unwrap();
        let FileId::BuildId(digits) = &own else { panic!("a build with build ids") };
        let id: Vec<u8> =
            (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect();
        let at = content.windows(id.len()).position(|bytes| bytes == id).unwrap();
        let program = |number: u8| {
            let path = folder.join(format!("{number}"));
            let mut content = content.clone();
            content[at] = number;
            fs::write(&path, content).unwrap();
            path
        };
        (0..count).map(program).collect()
    }

    fn read(open: &OpenFiles, path: &Path) -> bool {
        let resolver = memtoll_symbols::Resolver::new().with_open_files(open.clone());
        let module = memtoll_symbols::ModuleFile { path, build_id: &[] };
        resolver.resolve_names(&module, &[]).problem.is_none()
    }

    #[test]
    fn where_there_is_room_for_few_those_that_are_gone_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let programs = programs(folder.path(), 5);
        let files = LoadedFiles { most: 2, ..LoadedFiles::default() };
        for (number, path) in programs.iter().enumerate() {
            assert!(files.open(path).is_some());
            if number % 2 == 0 {
                fs::remove_file(path).unwrap();
            }
        }
        let kept: Vec<String> = files.files().kept.iter().map(|kept| kept.path.clone()).collect();
        assert_eq!(kept, [&programs[0], &programs[2]].map(|path| path.to_string_lossy().into_owned()));
        let open = files.open_files();
        let readable: Vec<bool> = programs.iter().map(|path| read(&open, path)).collect();
        assert_eq!(readable, [true, true, true, true, false]);
    }

    #[test]
    fn what_is_no_program_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        fs::write(&text, "no program").unwrap();
        let files = LoadedFiles::default();
        assert_eq!(files.open(&text), None);
        assert_eq!(files.open(folder.path()), None);
        assert_eq!(files.open(Path::new("/dev/zero")), None);
        assert!(files.files().kept.is_empty());
    }
}
