//! Reads source files. A recording may come from anybody, and name any file as a source: only what is called and looks like
//! a source file is read.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Endings of the names of source files.
const ENDINGS: [&str; 32] = [
    "ada", "adb", "ads", "asm", "c", "c++", "cc", "cpp", "cppm", "cu", "cxx", "d", "f", "f90", "go", "h", "h++", "hh",
    "hpp", "hxx", "inc", "inl", "ipp", "ixx", "l", "m", "mm", "nim", "rs", "tcc", "y", "zig",
];

/// Larger files are not shown, bytes.
const LARGEST: u64 = 8 << 20;

#[derive(Debug, PartialEq)]
pub struct SourceFile {
    /// What is in it.
    pub text: String,
    /// Whether it was changed after the recording began.
    pub is_newer: bool,
}

/// Why a source file is not read.
#[derive(Debug, thiserror::Error)]
pub enum NotRead {
    /// Nobody asked for texts.
    #[error("memtoll view --sources shows the text of source files.")]
    NotAsked,
    /// Its path is not absolute.
    #[error("The recording names this file without its folder.")]
    NoFolder,
    /// It may be any file.
    #[error("This file is not called like a source file.")]
    Name,
    /// It may lead to any file.
    #[error("This file is a symbolic link: only files themselves are shown.")]
    Link,
    /// It does not exist.
    #[error("This file is not on this machine.")]
    Absent,
    /// A folder, a pipe or the like.
    #[error("This is not a plain file.")]
    NoFile,
    /// Nobody writes such source files.
    #[error("This file is larger than {} MiB.", LARGEST >> 20)]
    Large,
    /// It has a null byte.
    #[error("This file is no text.")]
    NoText,
    /// What the system says.
    #[error("cannot read this file: {0}")]
    Io(std::io::Error),
}

/// The file with this path, of a recording that began at `recorded`, ns since 1970.
pub fn read(path: &str, recorded: u64) -> Result<SourceFile, NotRead> {
    let file = Path::new(path);
    if !file.is_absolute() {
        return Err(NotRead::NoFolder);
    }
    let ending = file.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if !ending.is_some_and(|ending| ENDINGS.contains(&ending.as_str())) {
        return Err(NotRead::Name);
    }
    // A link could lead to any file, and a pipe has no end.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    let failed = |error: std::io::Error| match error.raw_os_error() {
        Some(libc::ELOOP) => NotRead::Link,
        Some(libc::ENOENT) => NotRead::Absent,
        _ => NotRead::Io(error),
    };
    let mut open = options.open(file).map_err(failed)?;
    let about = open.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(NotRead::NoFile);
    }
    let mut bytes = Vec::new();
    open.by_ref().take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(NotRead::Large);
    }
    if bytes.contains(&0) {
        return Err(NotRead::NoText);
    }
    let began: SystemTime = UNIX_EPOCH + Duration::from_nanos(recorded);
    let is_newer = about.modified().is_ok_and(|changed| changed > began);
    Ok(SourceFile { text: String::from_utf8_lossy(&bytes).into_owned(), is_newer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_what_is_a_source_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("a.cpp"), "int a;\n").unwrap();
        fs::write(path("id_rsa"), "secret").unwrap();
        fs::write(path("shadow.txt"), "secret").unwrap();
        fs::write(path("b.c"), b"\x7fELF\0").unwrap();
        fs::write(path("large.c"), vec![b' '; LARGEST as usize + 1]).unwrap();
        symlink(path("id_rsa"), path("link.c")).unwrap();
        symlink(path("a.cpp"), path("link.cpp")).unwrap();
        fs::create_dir(path("folder.h")).unwrap();
        assert_eq!(
            read(&path("a.cpp"), u64::MAX / 2).unwrap(),
            SourceFile { text: "int a;\n".to_owned(), is_newer: false }
        );
        assert!(read(&path("a.cpp"), 0).unwrap().is_newer);
        let refused = [
            ("id_rsa", "not called"),
            ("shadow.txt", "not called"),
            ("b.c", "no text"),
            ("large.c", "larger"),
            ("link.c", "symbolic link"),
            ("link.cpp", "symbolic link"),
            ("folder.h", "plain file"),
            ("none.c", "not on this machine"),
        ];
        for (name, why) in refused {
            let error = read(&path(name), 0).unwrap_err();
            assert!(error.to_string().contains(why), "{name}: {error}");
        }
        assert!(matches!(read("a.cpp", 0), Err(NotRead::NoFolder)));
    }

    #[test]
    fn a_pipe_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe.c");
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        assert!(matches!(read(path.to_str().unwrap(), 0), Err(NotRead::NoFile)));
    }
}
