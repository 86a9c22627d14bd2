//! The cache that debuginfod's clients share.
//!
//! ```text
//! CACHE/0123…ef/debuginfo   the debug file of the build id 0123…ef
//!                           empty: no server had it, at the time when the file was last changed
//! CACHE/cache_miss_s        seconds for which such an empty file counts
//! ```

use std::fs::{self, File, FileTimes};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// For how long servers are not asked again if the cache does not say.
const MISS_COUNTS_FOR: Duration = Duration::from_secs(600);

/// What the cache knows of a build id.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Its debug file is here.
    File,
    /// No server had it, not long ago.
    Missing,
    Nothing,
}

pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub(crate) fn new(folder: PathBuf) -> Cache {
        Cache { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the debug file of a build id lies, or will.
    pub(crate) fn place(&self, build_id: &str) -> PathBuf {
        self.folder.join(build_id).join("debuginfo")
    }

    pub(crate) fn look_up(&self, build_id: &str) -> Known {
        let place = self.place(build_id);
        let Ok(data) = fs::metadata(&place) else { return Known::Nothing };
        if data.len() > 0 {
            // The clients throw away what was not read for a week, and not all file systems notice when a file is read.
            let now = FileTimes::new().set_accessed(SystemTime::now());
            let _ = File::open(&place).and_then(|file| file.set_times(now));
            return Known::File;
        }
        let text = fs::read_to_string(self.folder.join("cache_miss_s"));
        let seconds = text.ok().and_then(|text| text.trim().parse().ok());
        let counts_for = seconds.map_or(MISS_COUNTS_FOR, Duration::from_secs);
        let age = data.modified().ok().and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
        if age <= counts_for {
            return Known::Missing;
        }
        let _ = fs::remove_file(place);
        Known::Nothing
    }

    /// A file to write the debug file of a build id into.
    pub(crate) fn begin(&self, build_id: &str) -> io::Result<tempfile::NamedTempFile> {
        let folder = self.folder.join(build_id);
        fs::create_dir_all(&folder)?;
        tempfile::Builder::new().prefix("debuginfo.").tempfile_in(folder)
    }

    /// Puts the debug file of a build id where all look for it.
    pub(crate) fn finish(&self, build_id: &str, file: tempfile::NamedTempFile) -> io::Result<()> {
        file.persist(self.place(build_id))?;
        Ok(())
    }

    /// Notes that no server has it.
    pub(crate) fn note_missing(&self, build_id: &str) {
        let place = self.place(build_id);
        let made = fs::create_dir_all(self.folder.join(build_id)).and_then(|()| File::create_new(place));
        // Without the note, servers are asked again next time.
        drop(made);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_counts_for_a_while() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("new/cache"));
        assert_eq!(cache.look_up("ab"), Known::Nothing);
        cache.note_missing("ab");
        assert_eq!(cache.look_up("ab"), Known::Missing);
        let place = cache.place("ab");
        let ago = |seconds| SystemTime::now() - Duration::from_secs(seconds);
        let age = |seconds| File::open(&place).unwrap().set_modified(ago(seconds)).unwrap();
        age(500);
        assert_eq!(cache.look_up("ab"), Known::Missing);
        fs::write(cache.folder().join("cache_miss_s"), "400\n").unwrap();
        assert_eq!(cache.look_up("ab"), Known::Nothing);
        assert!(!place.exists());
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().to_owned());
        let file = cache.begin("ab").unwrap();
        fs::write(file.path(), "ELF").unwrap();
        assert_eq!(cache.look_up("ab"), Known::Nothing);
        cache.finish("ab", file).unwrap();
        assert_eq!(cache.look_up("ab"), Known::File);
        // One that was thrown away leaves nothing behind.
        drop(cache.begin("cd").unwrap());
        assert_eq!(fs::read_dir(folder.path().join("cd")).unwrap().count(), 0);
    }
}
