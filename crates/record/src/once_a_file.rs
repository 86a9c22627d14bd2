//! What is read of a file is read once, however many processes execute it.

use rustc_hash::FxHashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What tells a file from all others, also from one that was written anew: device, inode, time of its last change (seconds,
/// nanoseconds). Of a file that is gone, its path.
type Key = Result<(u64, u64, i64, i64), PathBuf>;

fn key(path: &Path) -> Key {
    let about = fs::metadata(path).map_err(|_| path.to_owned())?;
    Ok((about.dev(), about.ino(), about.ctime(), about.ctime_nsec()))
}

/// What is known of files.
pub struct OnceAFile<T>(Mutex<FxHashMap<Key, Arc<T>>>);

impl<T> Default for OnceAFile<T> {
    fn default() -> Self {
        OnceAFile(Mutex::default())
    }
}

impl<T> OnceAFile<T> {
    /// What `read` finds in the file at `path`, if that is not known.
    pub fn get(&self, path: &Path, read: impl FnOnce() -> T) -> Arc<T> {
        let key = key(path);
        let locked = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().get(&key) {
            return known.clone();
        }
        // Not under the lock: a large file takes a while.
        let found = Arc::new(read());
        locked().entry(key).or_insert(found).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_once_and_again_when_another_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let known = OnceAFile::default();
        let read = || fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(*known.get(&path, read), "", "there is none");
        fs::write(&path, "first").unwrap();
        assert_eq!(*known.get(&path, read), "first");
        assert_eq!(*known.get(&path, || unreachable!("it was read")), "first");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(*known.get(&link, || unreachable!("it is the same file")), "first");
        let other = folder.path().join("other");
        fs::write(&other, "second").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(*known.get(&path, read), "second");
    }
}
