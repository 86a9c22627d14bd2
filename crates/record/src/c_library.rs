//! Whether a program's C library is new enough for the recorder.
//!
//! A loader that does not find a version of symbols in a library refuses the program, and with it everything, if it is a
//! preloaded library that asks. So the two are compared before: what the recorder's file needs, and what the library defines.

use object::LittleEndian;
use object::elf::{FileHeader64, VER_FLG_WEAK};
use object::read::elf::FileHeader;
use object::read::{ReadCache, ReadRef};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A version of a library's symbols, such as `GLIBC_2.17` of `libc.so.6`.
#[derive(Debug, PartialEq, Eq)]
struct Version {
    library: String,
    name: String,
}

/// A library without versions that the recorder needs.
#[derive(Debug, PartialEq, Eq)]
pub struct TooOld {
    pub library: PathBuf,
    pub missing: Vec<String>,
}

/// The first library of those that come with the loader at `loader` that `recorder`, a file's content, cannot be loaded with.
/// `None` if it can, or if that is not known.
pub fn too_old(loader: &Path, recorder: &[u8]) -> Option<TooOld> {
    let needed = needed_versions(recorder)?;
    // glibc's loader and libc.so.6 are of the same version and lie in the same folder.
    let folders = [loader.canonicalize().ok()?.parent()?.to_owned(), loader.parent()?.to_owned()];
    let mut libraries: Vec<&str> = needed.iter().map(|version| version.library.as_str()).collect();
    libraries.dedup();
    libraries.into_iter().find_map(|name| {
        let library = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())?;
        let defined = defined_versions(&ReadCache::new(File::open(&library).ok()?))?;
        let missing: Vec<String> = needed
            .iter()
            .filter(|version| version.library == name && !defined.contains(&version.name))
            .map(|version| version.name.clone())
            .collect();
        (!missing.is_empty()).then_some(TooOld { library, missing })
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The versions without which the loader refuses a file. `None`: the file is damaged, or says nothing of versions.
fn needed_versions<'data, R: ReadRef<'data>>(file: R) -> Option<Vec<Version>> {
    let sections = FileHeader64::<LittleEndian>::parse(file).ok()?.sections(LittleEndian, file).ok()?;
    let (mut libraries, strings) = sections.gnu_verneed(LittleEndian, file).ok()??;
    let strings = sections.strings(LittleEndian, file, strings).ok()?;
    let mut needed = Vec::new();
    while let Some((library, mut versions)) = libraries.next().ok()? {
        let library = text(library.file(LittleEndian, strings).ok()?);
        while let Some(version) = versions.next().ok()? {
            if version.vna_flags.get(LittleEndian) & VER_FLG_WEAK != VER_FLG_WEAK {
                let name = text(version.name(LittleEndian, strings).ok()?);
                needed.push(Version { library: library.clone(), name });
            }
        }
    }
    Some(needed)
}

/// The versions that a library's symbols have. `None`: it is damaged, or has none.
fn defined_versions<'data, R: ReadRef<'data>>(file: R) -> Option<Vec<String>> {
    let sections = FileHeader64::<LittleEndian>::parse(file).ok()?.sections(LittleEndian, file).ok()?;
    let (mut versions, strings) = sections.gnu_verdef(LittleEndian, file).ok()??;
    let strings = sections.strings(LittleEndian, file, strings).ok()?;
    let mut defined = Vec::new();
    while let Some((_, mut names)) = versions.next().ok()? {
        // The first name is its own, the others are those of versions that it comprises.
        if let Some(name) = names.next().ok()? {
            defined.push(text(name.name(LittleEndian, strings).ok()?));
        }
    }
    Some(defined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_directory::RECORDER;
    use memtoll_processor::HERE;

    const LOADER: &str = HERE.loader;

    #[test]
    fn this_systems_c_library_is_new_enough() {
        assert_eq!(too_old(Path::new(LOADER), RECORDER), None);
        assert!(needed_versions(RECORDER).unwrap().iter().any(|version| version.library == "libc.so.6"));
    }

    #[test]
    fn a_c_library_lacks_versions() {
        let folder = tempfile::tempdir().unwrap();
        let loader = folder.path().join(HERE.loader_name());
        std::fs::copy(LOADER, &loader).unwrap();
        assert_eq!(too_old(&loader, RECORDER), None, "no C library is there");
        // The loader's versions are few, as an old C library's.
        std::fs::copy(LOADER, folder.path().join("libc.so.6")).unwrap();
        let old = too_old(&loader, RECORDER).unwrap();
        assert_eq!(old.library, folder.path().join("libc.so.6").canonicalize().unwrap());
        assert!(old.missing.iter().all(|version| version.starts_with("GLIBC_2.1")), "{old:?}");
        assert!(!old.missing.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_not_complained_of() {
        assert_eq!(too_old(Path::new("/no/such/loader"), RECORDER), None);
        assert_eq!(too_old(Path::new(LOADER), b"no recorder"), None);
        let folder = tempfile::tempdir().unwrap();
        let loader = folder.path().join(HERE.loader_name());
        std::fs::write(&loader, "not a loader").unwrap();
        std::fs::write(folder.path().join("libc.so.6"), "not a library").unwrap();
        assert_eq!(too_old(&loader, RECORDER), None);
    }
}
