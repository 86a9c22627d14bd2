//! Sources that cargo fetched: packages that the program depends on. Somebody else wrote them, so their callers lead.

use crate::library::{Owner, owner, qualified_name};
use crate::texts::Texts;
use memtoll_model::Frames;
use rustc_hash::FxHashSet;

/// Where packages lie: below the home of cargo, whatever that is called, and where Debian has them. What follows is a registry
/// or a repository, with folders of its packages, and the package.
const FOLDERS: &[(&str, usize)] = &[("/registry/src/", 2), ("/git/checkouts/", 3), ("/usr/share/cargo/registry/", 1)];

/// The packages of a recording.
#[derive(Default)]
pub struct Packages<'a> {
    /// Folders of those that have the program's `main`: of a program that cargo installed.
    of_program: FxHashSet<&'a str>,
}

impl<'a> Packages<'a> {
    /// Of the frames of a recording.
    pub fn of(frames: &'a Frames) -> Packages<'a> {
        let texts = frames.ids().map(|id| Texts::of(frames, id));
        let main = texts.filter(|texts| qualified_name(texts.function).ends_with("::main"));
        Packages { of_program: main.filter_map(|texts| folder(texts.file?)).collect() }
    }

    /// Whose a function is, as [`owner`] says it; that of a package which the program depends on is a library's.
    pub fn owner(&self, texts: &Texts) -> Owner {
        match owner(texts.function, texts.file, texts.module) {
            Owner::Program if self.is_dependency(texts.file) => Owner::Library,
            owner => owner,
        }
    }

    fn is_dependency(&self, file: Option<&str>) -> bool {
        file.and_then(folder).is_some_and(|folder| !self.of_program.contains(folder))
    }
}

/// The folder of the package that has a source file.
fn folder(file: &str) -> Option<&str> {
    FOLDERS.iter().find_map(|(start, depth)| {
        let begin = file.find(start)? + start.len();
        // The file itself is in the package.
        let (end, _) = file[begin..].match_indices('/').nth(depth - 1)?;
        Some(&file[..begin + end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "/home/me/.cargo/registry/src/index.example-0123456789abcdef/csv-1.4.0/src/reader.rs";
    const XSV: &str = "/home/me/.cargo/registry/src/index.example-0123456789abcdef/xsv-0.13.0/src/main.rs";

    #[test]
    fn packages_have_folders() {
        let cases = [
            (CSV, Some("/home/me/.cargo/registry/src/index.example-0123456789abcdef/csv-1.4.0")),
            (
                "/c/git/checkouts/serde-0123abcd/9f1e/serde/src/lib.rs",
                Some("/c/git/checkouts/serde-0123abcd/9f1e/serde"),
            ),
            ("/usr/share/cargo/registry/globset-0.4.9/src/lib.rs", Some("/usr/share/cargo/registry/globset-0.4.9")),
            ("/home/me/registry/src/main.rs", None),
            ("src/main.rs", None),
        ];
        for (file, expected) in cases {
            assert_eq!(folder(file), expected, "{file}");
        }
    }

    #[test]
    fn dependencies_are_libraries_and_the_program_is_not() {
        let owner = |packages: &Packages, file| {
            let function = "csv::reader::Reader::read";
            packages.owner(&Texts { function, file: Some(file), line: None, module: "/bin/a", shown_module: "/bin/a" })
        };
        let local = Packages::default();
        assert_eq!([CSV, XSV, "/src/app/src/main.rs"].map(|file| owner(&local, file)), {
            [Owner::Library, Owner::Library, Owner::Program]
        });
        let installed = Packages { of_program: folder(XSV).into_iter().collect() };
        assert_eq!([CSV, XSV].map(|file| owner(&installed, file)), [Owner::Library, Owner::Program]);
    }
}
