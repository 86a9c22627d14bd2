//! The private directory of a run: the recorder's file and the socket, out of reach of other users.
//!
//! `PARENT/TOKEN/libmemtoll.so` and `PARENT/socket`. PARENT can be entered but not listed by others and TOKEN cannot be
//! guessed, so a target that changes its user id still finds the recorder, and no other user can change it or talk to the
//! supervisor in its name.

use rustix::fs::{StatVfsMountFlags, statvfs};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The recorder that is built in.
pub static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmemtoll.so"));

/// The name of its file.
pub const RECORDER_NAME: &str = "libmemtoll.so";

pub struct PrivateDirectory {
    parent: PathBuf,
    token: [u64; 2],
    keep: bool,
}

/// Socket names hold 108 bytes; the recorder needs room for more behind the directory.
const LONGEST_PARENT: usize = 80;

fn usable(folder: &Path) -> bool {
    let text = folder.as_os_str().as_encoded_bytes();
    let speakable = text.len() <= LONGEST_PARENT - 20 && !text.iter().any(|b| matches!(b, b':' | b' ' | b'\t'));
    let executable = statvfs(folder).is_ok_and(|fs| !fs.f_flag.contains(StatVfsMountFlags::NOEXEC));
    folder.is_absolute() && speakable && executable
}

fn random_words() -> io::Result<[u64; 2]> {
    let mut bytes = [0; 16];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if read != bytes.len() {
        return Err(io::Error::other("no random numbers"));
    }
    let word = |half: &[u8]| half.iter().fold(0u64, |word, byte| word << 8 | u64::from(*byte));
    Ok([word(&bytes[..8]), word(&bytes[8..])])
}

impl PrivateDirectory {
    /// Makes it where files can be executed. `recorder` replaces the one that is built in.
    pub fn new(recorder: Option<&Path>) -> io::Result<PrivateDirectory> {
        let mut folders: Vec<PathBuf> = vec![std::env::temp_dir()];
        folders.extend(["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from));
        let mut failure = io::Error::other(
            "no directory for temporary files allows execution (tried $TMPDIR, /tmp, /var/tmp, /dev/shm)",
        );
        for folder in folders.into_iter().filter(|folder| usable(folder)) {
            match Self::new_in(&folder, recorder) {
                Ok(made) => return Ok(made),
                Err(error) => failure = io::Error::new(error.kind(), format!("{}: {error}", folder.display())),
            }
        }
        Err(failure)
    }

    fn new_in(folder: &Path, recorder: Option<&Path>) -> io::Result<PrivateDirectory> {
        let parent = tempfile::Builder::new().prefix("memtoll-").tempdir_in(folder)?.keep();
        let made = PrivateDirectory { parent, token: random_words()?, keep: false };
        let library = made.library();
        let inner = library.parent().unwrap_or(&made.parent);
        fs::create_dir(inner)?;
        match recorder {
            Some(path) => fs::copy(path, &library).map(drop)?,
            None => fs::write(&library, RECORDER)?,
        }
        fs::set_permissions(&library, Permissions::from_mode(0o555))?;
        fs::set_permissions(inner, Permissions::from_mode(0o711))?;
        fs::set_permissions(&made.parent, Permissions::from_mode(0o711))?;
        Ok(made)
    }

    pub fn parent(&self) -> &Path {
        &self.parent
    }

    pub fn token(&self) -> [u64; 2] {
        self.token
    }

    /// The recorder's file.
    pub fn library(&self) -> PathBuf {
        self.parent.join(format!("{:016x}{:016x}", self.token[0], self.token[1])).join(RECORDER_NAME)
    }

    /// Leaves the directory behind: processes that still run hand it on to programs that they start.
    pub fn leave(&mut self) {
        self.keep = true;
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.parent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables that a constructor filled with zeroes would cost each process that starts some 40 page faults.
    #[test]
    fn the_recorder_has_a_single_constructor() {
        use object::{Object, ObjectSection};
        let file = object::File::parse(RECORDER).unwrap();
        let size = file.section_by_name(".init_array").unwrap().size();
        // Its own, and the C compiler's, which does nothing.
        assert_eq!(size as usize, 2 * size_of::<usize>());
    }

    #[test]
    fn others_can_neither_list_nor_write() {
        let directory = PrivateDirectory::new(None).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(directory.parent()), 0o711);
        assert_eq!(mode(&directory.library()), 0o555);
        assert!(fs::read(directory.library()).unwrap().starts_with(b"\x7fELF"));
        let parent = directory.parent().to_owned();
        drop(directory);
        assert!(!parent.exists());
    }
}
