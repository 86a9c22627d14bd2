//! Files that are there as a whole, or not at all.

use std::fs::{File, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// What may be done with a new file.
const MODE: u32 = 0o644;
/// What may be done with a new folder.
const FOLDER_MODE: u32 = 0o755;

/// Whether something has this name that writing would replace: a terminal, a pipe or `/dev/null` stays what it is.
pub fn is_taken(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() || about.is_dir())
}

/// Writes a file: it has its name, and replaces what had it, when it is done. A link stays, and so does what is no file: that
/// is written to.
///
/// # Errors
///
/// If it cannot be written. Then, nothing has changed.
pub fn write(path: &Path, content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> std::io::Result<()> {
    if path.exists() && !is_taken(path) {
        let mut out = BufWriter::new(File::options().write(true).open(path)?);
        content(&mut out)?;
        return out.flush();
    }
    let behind = path.canonicalize();
    let path = behind.as_deref().unwrap_or(path);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary(folder, |folder| tempfile::NamedTempFile::new_in(folder))?;
    let mut out = BufWriter::new(file.as_file_mut());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    file.as_file().set_permissions(Permissions::from_mode(MODE))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Makes a temporary file or folder in `folder`. Its errors do not name what the user has never heard of.
fn temporary<T>(folder: &Path, make: impl FnOnce(&Path) -> std::io::Result<T>) -> std::io::Result<T> {
    std::fs::metadata(folder)?;
    make(folder).map_err(|error| error.kind().into())
}

/// Writes a folder of files with this extension: it has its name when it is done, and replaces a folder of such files that had
/// it.
///
/// # Errors
///
/// If it cannot be written, or the folder that has its name has other files. Then, nothing has changed.
pub fn write_folder(
    path: &Path,
    extension: &str,
    content: impl FnOnce(&Path) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if path.is_dir() {
        for file in std::fs::read_dir(path)? {
            let file = file?.path();
            if !file.is_file() || file.extension().is_none_or(|found| found != extension) {
                let why = format!("expected only .{extension} files in a folder to replace, found {}", file.display());
                return Err(std::io::Error::new(std::io::ErrorKind::AlreadyExists, why));
            }
        }
    }
    let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = temporary(beside, |beside| {
        tempfile::Builder::new().permissions(Permissions::from_mode(FOLDER_MODE)).tempdir_in(beside)
    })?;
    content(folder.path())?;
    // What was there goes away when the new one is done.
    let old = tempfile::Builder::new().tempdir_in(beside)?;
    let replaced = old.path().join("replaced");
    if path.is_dir() {
        std::fs::rename(path, &replaced)?;
    }
    let renamed = std::fs::rename(folder.path(), path);
    if renamed.is_err() && replaced.exists() {
        std::fs::rename(&replaced, path)?;
    }
    if renamed.is_ok() {
        drop(folder.keep());
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, symlink};

    #[test]
    fn an_error_does_not_name_the_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing/page.html");
        let errors = [write(&missing, |_| Ok(())), write_folder(&missing, "parquet", |_| Ok(()))];
        for error in errors {
            assert_eq!(error.unwrap_err().to_string(), "No such file or directory (os error 2)");
        }
    }

    #[test]
    fn links_and_devices_stay_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = |out: &mut dyn Write| out.write_all(b"new");
        std::fs::write(at("file"), "old").unwrap();
        symlink("file", at("link")).unwrap();
        write(&at("link"), text).unwrap();
        assert!(std::fs::symlink_metadata(at("link")).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(at("file")).unwrap(), "new");
        // As /dev/null, which root could replace.
        symlink("/dev/null", at("null")).unwrap();
        write(&at("null"), text).unwrap();
        assert!(std::fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(std::fs::symlink_metadata(at("null")).unwrap().is_symlink());
        assert!(is_taken(&at("file")) && is_taken(folder.path()) && !is_taken(&at("null")));
    }
}
