//! The file of a run, written by all workers, one block at a time.
//!
//! When it cannot be written on (disk full, a limit of the file's size), what was written stays readable: a block that
//! did not fit is cut off again, recording stops, and the reason is kept for the user.

use memtoll_trace::frame::{BlockKind, SIGNATURE};
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

/// Whether there is a file with content that is no recording.
fn is_something_else(path: &Path) -> bool {
    let mut start = [0; SIGNATURE.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|data| data.is_file() && data.len() > 0);
    is_file && !File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok_and(|()| start == *SIGNATURE)
}

impl Output {
    /// Makes the file. An older recording of that name is replaced; anything else is left alone.
    pub fn create(path: &Path, max_bytes: Option<u64>) -> io::Result<Output> {
        if is_something_else(path) {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists and is not a memtoll recording"));
        }
        let writer = Writer::new(File::create(path)?)?;
        Ok(Output {
            path: path.to_owned(),
            bytes: AtomicU64::new(writer.written()),
            writer: Mutex::new(writer),
            max_bytes: max_bytes.unwrap_or(u64::MAX),
            stopped: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            problem: Mutex::new(None),
        })
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

    /// Writes a block of events, unless the file would grow beyond its limit.
    pub fn events(&self, image: u32, payload: &[u8]) {
        if self.stopped() {
            return;
        }
        if self.bytes().saturating_add(payload.len() as u64) > self.max_bytes {
            self.stop(format!("the recording reached --max-size ({} bytes); later events are missing", self.max_bytes));
            return;
        }
        self.block(BlockKind::Events, image, payload);
    }

    /// Writes a block.
    pub fn block(&self, kind: BlockKind, image: u32, payload: &[u8]) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.broken.load(Relaxed) {
            return;
        }
        let good = writer.written();
        if let Err(error) = writer.block(kind, image, payload) {
            self.broken.store(true, Relaxed);
            // What cannot be cut off either is damage that a reader will report.
            let _ = writer.sink_mut().set_len(good);
            drop(writer);
            self.stop(format!(
                "{} cannot be written any further: {error}; later events are missing",
                self.path.display()
            ));
            return;
        }
        self.bytes.store(writer.written(), Relaxed);
    }

    /// Writes a block that is JSON.
    pub fn json<T: serde::Serialize>(&self, kind: BlockKind, image: u32, value: &T) {
        match serde_json::to_vec(value) {
            Ok(payload) => self.block(kind, image, &payload),
            Err(error) => self.stop(format!("cannot describe {kind:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recordings_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(Output::create(&path, None).is_ok());
        assert!(Output::create(&path, None).is_ok());
        std::fs::write(&path, "a letter to my aunt").unwrap();
        assert!(Output::create(&path, None).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter to my aunt");
    }
}
