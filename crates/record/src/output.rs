//! The file of a run, written by all workers, one block at a time.
//!
//! When it cannot be written on (disk full, a limit of the file's size), what was written stays readable: a block that
//! did not fit is cut off again, recording stops, and the reason is kept for the user.

mod reserved_name;

use self::reserved_name::{ReservedName, has_name, in_use, is_in_use, lock};
use memtoll_trace::costs::{self, Cost};
use memtoll_trace::frame::{BlockKind, SIGNATURE};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::index::Extent;
use memtoll_trace::meta::Rank;
use memtoll_trace::writer::Writer;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

pub struct Output {
    path: PathBuf,
    /// Until the program runs.
    reserved: Mutex<Option<ReservedName>>,
    writer: Mutex<Writer<File>>,
    max_bytes: u64,
    bytes: AtomicU64,
    stopped: AtomicBool,
    broken: AtomicBool,
    problem: Mutex<Option<String>>,
}

/// Where a recording goes.
#[derive(Clone, Debug)]
pub enum Destination {
    /// A file that does not exist yet, or something that is no regular file: `/dev/null`, a pipe.
    New(PathBuf),
    /// A file that may hold an older recording, which is replaced. Anything else in it is kept.
    Replace(PathBuf),
    /// `NAME.memtoll`, or the first of `NAME.2.memtoll`, `NAME.3.memtoll` … that does not exist yet.
    Numbered(PathBuf),
}

impl Destination {
    /// The file, or the first that is tried.
    pub fn path(&self) -> PathBuf {
        match self {
            Destination::New(path) | Destination::Replace(path) => path.clone(),
            Destination::Numbered(name) => numbered(name, 1),
        }
    }

    /// The same, for one of several ranks with the same command line: `run.rank3.memtoll` instead of `run.memtoll`.
    pub fn of_rank(self, rank: Rank) -> Destination {
        match self {
            Destination::New(path) => Destination::New(with_rank(&path, rank)),
            Destination::Replace(path) => Destination::Replace(with_rank(&path, rank)),
            Destination::Numbered(name) => {
                let mut name = name.into_os_string();
                name.push(format!(".rank{}", rank.rank));
                Destination::Numbered(name.into())
            }
        }
    }

    /// Opens the file. The system decides whether it exists, so that of two recordings that start at once neither
    /// writes into the other's file.
    fn open(&self) -> io::Result<Opened> {
        let exists = |why| io::Error::new(io::ErrorKind::AlreadyExists, why);
        let reserved = |path: PathBuf, (name, file)| Opened { path, file, reserved: Some(name) };
        // No regular file can be lost: this does not truncate.
        let something_else = |path: &Path| {
            let file = File::options().write(true).open(path)?;
            Ok(Opened { path: path.to_owned(), file, reserved: None })
        };
        match self {
            Destination::New(path) => match File::create_new(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_file_or_nothing(path) => {
                    Err(match File::open(path).is_ok_and(|file| !lock(&file)) {
                        true => in_use(),
                        false => exists("it exists already; --force replaces an older recording"),
                    })
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => something_else(path),
                made => ReservedName::of_new(path, made?).map(|name| reserved(path.clone(), name)),
            },
            Destination::Replace(path) if is_something_else(path) => {
                Err(exists("it exists and is not a recording, so --force does not replace it"))
            }
            Destination::Replace(path) if !is_file_or_nothing(path) => something_else(path),
            Destination::Replace(path) => {
                let name = match File::create_new(path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                        ReservedName::of_old(path, File::options().create(true).truncate(false).write(true).open(path)?)
                    }
                    made => ReservedName::of_new(path, made?),
                };
                name.map(|name| reserved(path.clone(), name))
            }
            Destination::Numbered(name) => {
                let mut number = 1;
                loop {
                    let path = numbered(name, number);
                    match File::create_new(&path).and_then(|made| ReservedName::of_new(&path, made)) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                        Err(error) if is_in_use(&error) => number += 1,
                        opened => return opened.map(|name| reserved(path, name)),
                    }
                }
            }
        }
    }
}

/// A recording that was begun.
struct Opened {
    path: PathBuf,
    file: File,
    /// `None`: it is no regular file.
    reserved: Option<ReservedName>,
}

/// `run.rank3.memtoll` for `run.memtoll`. What is no regular file is as good for many as for one.
fn with_rank(path: &Path, rank: Rank) -> PathBuf {
    if !is_file_or_nothing(path) {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!(".rank{}", rank.rank));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// `git.memtoll`, `git.2.memtoll`.
fn numbered(name: &Path, number: u32) -> PathBuf {
    let mut path = name.as_os_str().to_owned();
    if number > 1 {
        path.push(format!(".{number}"));
    }
    path.push(".memtoll");
    PathBuf::from(path)
}

/// Whether there is a regular file, or a link that leads nowhere.
fn is_file_or_nothing(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |data| data.is_file())
}

/// Whether there is a file with content that is no recording.
fn is_something_else(path: &Path) -> bool {
    let mut start = [0; SIGNATURE.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0);
    is_file && !File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok_and(|()| start == *SIGNATURE)
}

impl Output {
    /// Makes the file, which gets its name from [`Output::keep`].
    pub fn create(destination: &Destination, max_bytes: Option<u64>) -> io::Result<Output> {
        let Opened { path, file, reserved } = destination.open()?;
        let writer = Writer::new(file)?;
        Ok(Output {
            path,
            reserved: Mutex::new(reserved),
            bytes: AtomicU64::new(writer.written()),
            writer: Mutex::new(writer),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            stopped: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            problem: Mutex::new(None),
        })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the file has its name no more: it was removed or replaced while it was written.
    pub fn is_lost(&self) -> bool {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        !has_name(writer.sink_mut(), &self.path)
    }

    /// There is something to record: the file gets its name, and replaces an older recording.
    pub fn keep(&self) {
        if let Some(reserved) = self.take_reserved() {
            self.write(|writer| reserved.give_to(writer));
        }
    }

    /// There is nothing to record: leaves everything as it was.
    pub fn discard(&self) {
        if let Some(reserved) = self.take_reserved() {
            reserved.give_up();
        }
    }

    fn take_reserved(&self) -> Option<ReservedName> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Whether no more events are wanted.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Ends recording; `why` is for the user.
    pub fn stop(&self, why: String) {
        self.stopped.store(true, Relaxed);
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Why recording ended early, if it did.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes a block of events, unless the file would grow beyond its limit. Whether it is in the file.
    pub fn events(&self, image: ImageNo, payload: &[u8]) -> bool {
        if self.stopped() {
            return false;
        }
        if self.bytes().saturating_add(payload.len() as u64) > self.max_bytes {
            self.stop(format!("the recording reached --max-size ({} bytes); later events are missing", self.max_bytes));
            return false;
        }
        self.block(BlockKind::Events, image, payload)
    }

    /// Writes a block of costs.
    pub fn costs(&self, image: ImageNo, costs: &[Cost]) {
        let payload = costs::encode(costs);
        self.write(|writer| writer.block_of(BlockKind::Costs, Some(image), &payload, Extent::of_costs(costs)));
    }

    /// Writes a block that belongs to `image` (`None`: to the whole recording). Whether it is in the file.
    pub fn block(&self, kind: BlockKind, image: impl Into<Option<ImageNo>>, payload: &[u8]) -> bool {
        self.write(|writer| writer.block(kind, image.into(), payload))
    }

    /// The same, where it is known what times the block is about.
    pub fn block_of(&self, kind: BlockKind, image: ImageNo, payload: &[u8], extent: Option<Extent>) -> bool {
        self.write(|writer| writer.block_of(kind, Some(image), payload, extent))
    }

    /// Writes the index, behind the last block.
    pub fn index(&self) {
        self.write(Writer::index);
    }

    fn write(&self, write: impl FnOnce(&mut Writer<File>) -> io::Result<()>) -> bool {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.broken.load(Relaxed) {
            return false;
        }
        let good = writer.written();
        if let Err(error) = write(&mut writer) {
            self.broken.store(true, Relaxed);
            // What cannot be cut off either is damage that a reader will report.
            let _ = writer.sink_mut().set_len(good);
            drop(writer);
            self.stop(format!(
                "{} cannot be written any further: {error}; later events are missing",
                self.path.display()
            ));
            return false;
        }
        self.bytes.store(writer.written(), Relaxed);
        true
    }

    /// Writes a block that is JSON.
    pub fn json<T: serde::Serialize>(&self, kind: BlockKind, image: impl Into<Option<ImageNo>>, value: &T) {
        match serde_json::to_vec(value) {
            Ok(payload) => {
                self.block(kind, image, &payload);
            }
            Err(error) => self.stop(format!("cannot describe {kind:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A recording of a program that runs.
    fn kept(destination: &Destination) -> io::Result<Output> {
        Output::create(destination, None).inspect(Output::keep)
    }

    fn names(folder: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn a_program_that_does_not_start_costs_no_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let [new, replace] = [Destination::New(path.clone()), Destination::Replace(path.clone())];
        let numbered = Destination::Numbered(path.clone());
        for destination in [&new, &replace, &numbered] {
            let output = Output::create(destination, None).unwrap();
            output.block(BlockKind::Note, None, b"more");
            output.discard();
            assert_eq!(names(folder.path()), [] as [PathBuf; 0], "{destination:?}");
        }
        kept(&new).unwrap().block(BlockKind::Note, None, b"more");
        let old = std::fs::read(&path).unwrap();
        let output = Output::create(&replace, None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), old);
        output.discard();
        assert_eq!((names(folder.path()), std::fs::read(&path).unwrap()), (vec![path.clone()], old.clone()));
        kept(&replace).unwrap();
        assert_eq!(names(folder.path()), std::slice::from_ref(&path));
        assert!(std::fs::read(&path).unwrap().len() < old.len());
    }

    #[test]
    fn where_names_cannot_be_changed_the_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        kept(&Destination::New(path.clone())).unwrap().block(BlockKind::Note, None, b"what was there");
        let output = Output::create(&Destination::Replace(path.clone()), None).unwrap();
        output.block(BlockKind::Note, None, b"before");
        // As if it had been made elsewhere.
        output.reserved.lock().unwrap().as_mut().unwrap().forget_name();
        output.keep();
        assert!(!output.is_lost());
        output.block(BlockKind::Note, None, b"after");
        let mut expected = Writer::new(Vec::new()).unwrap();
        for note in [&b"before"[..], b"after"] {
            expected.block(BlockKind::Note, None, note).unwrap();
        }
        assert_eq!(std::fs::read(&path).unwrap(), *expected.sink_mut());
    }

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let [new, replace] = [Destination::New(path.clone()), Destination::Replace(path.clone())];
        assert!(kept(&new).is_ok());
        let old = std::fs::read(&path).unwrap();
        assert_eq!(kept(&new).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), old);
        assert!(kept(&replace).is_ok());
        std::fs::write(&path, "a letter to my aunt").unwrap();
        assert!(kept(&new).is_err());
        assert!(kept(&replace).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter to my aunt");
        assert!(kept(&Destination::New("/dev/null".into())).is_ok());
    }

    #[test]
    fn what_is_being_written_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for destination in [Destination::Replace(path.clone()), Destination::New(path.clone())] {
            let first = kept(&Destination::Replace(path.clone())).unwrap();
            assert!(is_in_use(&kept(&destination).err().unwrap()), "{destination:?}");
            assert!(!first.is_lost());
        }
        assert!(kept(&Destination::Replace(path.clone())).is_ok());
    }

    #[test]
    fn of_recordings_that_start_at_once_into_one_file_one_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("old");
        drop(kept(&Destination::New(old.clone())).unwrap());
        for round in 0..50 {
            // Another one each time: programs that other tests start may have inherited a lock until they execute.
            let path = folder.path().join(format!("{round}"));
            std::fs::copy(&old, &path).unwrap();
            let one = || kept(&Destination::Replace(path.clone()));
            // They are kept until all have tried.
            let made: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let made: Vec<_> = made.iter().filter_map(|made| made.as_ref().ok()).collect();
            assert_eq!(made.len(), 1, "round {round}");
            assert!(made.iter().all(|made| !made.is_lost()));
        }
    }

    #[test]
    fn who_reads_a_recording_that_is_replaced_goes_on_reading_it() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        std::os::unix::fs::symlink(&path, &link).unwrap();
        drop(kept(&Destination::New(path.clone())).unwrap());
        let (mut reader, old) = (File::open(&path).unwrap(), std::fs::read(&path).unwrap());
        let new = kept(&Destination::Replace(link.clone())).unwrap();
        new.block(BlockKind::Note, None, b"more");
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, old);
        assert!(std::fs::read(&path).unwrap().len() > old.len());
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_file_that_is_removed_while_it_is_written_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        let path = inside.join("a");
        let output = kept(&Destination::New(path.clone())).unwrap();
        assert!(!output.is_lost());
        std::fs::remove_dir_all(&inside).unwrap();
        assert!(output.is_lost());
    }

    #[test]
    fn each_rank_has_a_file() {
        let rank = Rank { rank: 3, ranks: Some(4) };
        let of = |destination: Destination| destination.of_rank(rank).path();
        assert_eq!(of(Destination::New("out/run.memtoll".into())), Path::new("out/run.rank3.memtoll"));
        assert_eq!(of(Destination::Replace("run".into())), Path::new("run.rank3"));
        assert_eq!(of(Destination::Numbered("app".into())), Path::new("app.rank3.memtoll"));
        assert_eq!(of(Destination::New("/dev/null".into())), Path::new("/dev/null"));
    }

    #[test]
    fn recordings_of_one_program_are_numbered() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = Destination::Numbered(folder.path().join("a.out"));
        let names = (0..12).map(|_| kept(&numbered).unwrap().path().to_owned());
        let names: Vec<_> = names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names[..3], ["a.out.memtoll", "a.out.2.memtoll", "a.out.3.memtoll"]);
        assert_eq!(names[11], "a.out.12.memtoll");
    }

    #[test]
    fn recordings_that_start_at_once_get_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = Destination::Numbered(folder.path().join("a"));
        let one = || kept(&numbered).unwrap().path().to_owned();
        let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 16);
    }
}
