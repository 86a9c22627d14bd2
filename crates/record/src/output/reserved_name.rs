//! The name of a recording of a program that does not run yet. What is written lies beside the file that has the name, an older
//! recording or an empty one, until the program runs. So a program that cannot start costs no recording.

use memtoll_trace::writer::Writer;
use rustix::io::Errno;
use std::fs::{File, Permissions};
use std::io::{self, Seek};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// As of other files: the user's mask takes bits away.
const PERMISSIONS: u32 = 0o666;

/// A name that no other memtoll takes meanwhile.
pub struct ReservedName {
    /// The file, where links lead.
    target: PathBuf,
    /// What has the name so far, locked.
    holder: File,
    /// Whether that is this memtoll's own, and empty.
    is_own: bool,
    /// Where the recording is; `None`: in a file without a name, since none can be made beside the target.
    beside: Option<TempPath>,
}

impl ReservedName {
    /// Reserves the name of a file that was just made.
    pub fn of_new(path: &Path, made: File) -> io::Result<(ReservedName, File)> {
        ReservedName::new(path, made, true)
    }

    /// Reserves the name of a file whose content is to be replaced.
    pub fn of_old(path: &Path, old: File) -> io::Result<(ReservedName, File)> {
        ReservedName::new(path, old, false)
    }

    fn new(path: &Path, holder: File, is_own: bool) -> io::Result<(ReservedName, File)> {
        // Another memtoll may have locked it first, or replaced it.
        if !lock(&holder) || !has_name(&holder, path) {
            return Err(in_use());
        }
        let target = std::fs::canonicalize(path)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".memtoll-").permissions(Permissions::from_mode(PERMISSIONS));
        let (file, beside) = match builder.tempfile_in(target.parent().unwrap_or(Path::new("/"))) {
            Ok(made) => {
                let (file, path) = made.into_parts();
                (file, Some(path))
            }
            Err(_) => (tempfile::tempfile()?, None),
        };
        // Once it has the name, other memtolls find it locked.
        lock(&file);
        Ok((ReservedName { target, holder, is_own, beside }, file))
    }

    /// Gives the recording its name. What has the name until now may be open elsewhere: it keeps its content.
    pub fn give_to(self, recording: &mut Writer<File>) -> io::Result<()> {
        let ReservedName { target, mut holder, beside, .. } = self;
        if beside.is_some_and(|beside| beside.persist(&target).is_ok()) {
            return Ok(());
        }
        // Where names cannot be changed, files can perhaps be written.
        let written = recording.sink_mut();
        written.rewind()?;
        holder.set_len(0)?;
        io::copy(written, &mut holder)?;
        *written = holder;
        Ok(())
    }

    /// As where no file can be made beside the target.
    #[cfg(test)]
    pub fn forget_name(&mut self) {
        self.beside = None;
    }

    /// Leaves everything as it was.
    pub fn give_up(self) {
        if self.is_own && has_name(&self.holder, &self.target) {
            let _ = std::fs::remove_file(&self.target);
        }
    }
}

/// Locks a recording against others that would write it. Whether that succeeded, or files cannot be locked there.
pub fn lock(file: &File) -> bool {
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

pub fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "another memtoll is writing it")
}

pub fn is_in_use(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
}

pub fn has_name(file: &File, path: &Path) -> bool {
    let identity = |about: std::fs::Metadata| (about.dev(), about.ino());
    file.metadata().ok().map(identity) == std::fs::metadata(path).ok().map(identity)
}
