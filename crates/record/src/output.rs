//! The file of a run, written by all workers, one block at a time.
//!
//! When it cannot be written on (disk full, a limit of the file's size), what was written stays readable: a block that
//! did not fit is cut off again, recording stops, and the reason is kept for the user.

use memtoll_trace::costs::{self, Cost};
use memtoll_trace::frame::{BlockKind, SIGNATURE};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::index::Extent;
use memtoll_trace::writer::Writer;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

pub struct Output {
    path: PathBuf,
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

    /// Opens the file. The system decides whether it exists, so that of two recordings that start at once neither
    /// writes into the other's file.
    fn open(&self) -> io::Result<(PathBuf, File)> {
        let exists = |why| io::Error::new(io::ErrorKind::AlreadyExists, why);
        match self {
            Destination::New(path) => match File::create_new(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_file_or_nothing(path) => {
                    Err(exists("it exists already; --force replaces an older recording"))
                }
                // No regular file can be lost: this does not truncate.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::options().write(true).open(path),
                opened => opened,
            }
            .map(|file| (path.clone(), file)),
            Destination::Replace(path) if is_something_else(path) => {
                Err(exists("it exists and is not a recording, so --force does not replace it"))
            }
            Destination::Replace(path) => File::create(path).map(|file| (path.clone(), file)),
            Destination::Numbered(name) => {
                let mut number = 1;
                loop {
                    let path = numbered(name, number);
                    match File::create_new(&path) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                        opened => return opened.map(|file| (path, file)),
                    }
                }
            }
        }
    }
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
    /// Makes the file.
    pub fn create(destination: &Destination, max_bytes: Option<u64>) -> io::Result<Output> {
        let (path, file) = destination.open()?;
        // Nobody is to write names into it meanwhile. Where files cannot be locked, that is left to the user.
        let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        let writer = Writer::new(file)?;
        Ok(Output {
            path,
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

    #[test]
    fn nothing_is_replaced_unasked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let [new, replace] = [Destination::New(path.clone()), Destination::Replace(path.clone())];
        assert!(Output::create(&new, None).is_ok());
        let old = std::fs::read(&path).unwrap();
        assert_eq!(Output::create(&new, None).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), old);
        assert!(Output::create(&replace, None).is_ok());
        std::fs::write(&path, "a letter to my aunt").unwrap();
        assert!(Output::create(&new, None).is_err());
        assert!(Output::create(&replace, None).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter to my aunt");
        assert!(Output::create(&Destination::New("/dev/null".into()), None).is_ok());
    }

    #[test]
    fn recordings_of_one_program_are_numbered() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = Destination::Numbered(folder.path().join("a.out"));
        let names = (0..12).map(|_| Output::create(&numbered, None).unwrap().path().to_owned());
        let names: Vec<_> = names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        assert_eq!(names[..3], ["a.out.memtoll", "a.out.2.memtoll", "a.out.3.memtoll"]);
        assert_eq!(names[11], "a.out.12.memtoll");
    }

    #[test]
    fn recordings_that_start_at_once_get_files_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let numbered = Destination::Numbered(folder.path().join("a"));
        let one = || Output::create(&numbered, None).unwrap().path().to_owned();
        let mut paths: Vec<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(one)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 16);
    }
}
