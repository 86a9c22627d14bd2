//! The folder for what memtoll keeps between runs, in the user's own folder for caches. Files in it may go missing.

use rustix::process::geteuid;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Where it is or would be.
pub fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")))?;
    Some(caches.join("memtoll"))
}

/// Whether a file or folder belongs to this user, and no other user may write to it.
pub fn is_own(metadata: &fs::Metadata) -> bool {
    metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Makes a folder, and the one for caches around it, if the innermost one that exists is this user's: memtoll that is run by
/// sudo leaves nothing of root's in the home of another user, and makes no home that was not there.
pub fn make(folder: &Path) -> Option<()> {
    may_make(folder).then(|| DirBuilder::new().recursive(true).mode(0o700).create(folder).ok())?
}

pub fn may_make(folder: &Path) -> bool {
    let there = folder.ancestors().take(3).find_map(|folder| fs::metadata(folder).ok());
    there.is_some_and(|there| there.is_dir() && there.uid() == geteuid().as_raw())
}

/// Whether a hint of this name is to be given: once to each user of a machine. Where nothing can be kept, it is not.
pub fn is_first_time(hint: &str) -> bool {
    let first = |folder: PathBuf| {
        make(&folder)?;
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join(format!("said-{hint}"))).ok()
    };
    path(|name| std::env::var_os(name)).and_then(first).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_where_files_that_may_go_missing_belong() {
        let of = |caches: Option<&str>, home: Option<&str>| {
            let variable = |name: &str| if name == "HOME" { home } else { caches };
            path(|name| variable(name).map(OsString::from))
        };
        assert_eq!(of(Some("/c"), Some("/h")), Some("/c/memtoll".into()));
        assert_eq!(of(None, Some("/h")), Some("/h/.cache/memtoll".into()));
        assert_eq!(of(Some("c"), None), None);
    }
}
