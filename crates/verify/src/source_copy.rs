//! A copy of a program's sources, in which it is built and run: the sources themselves stay as they are.

use crate::Error;
use crate::command::CommandLine;
use crate::run::{Expected, run};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder with more in it is more than sources. Bytes.
const LARGEST: u64 = 2 << 30;

/// A copy. It goes when it is dropped.
pub struct Copied {
    root: PathBuf,
    folder: TempDir,
    /// Where the user is, as seen from the root; the root itself, if that is not below it.
    at: PathBuf,
}

impl Copied {
    /// Copies the folder `root`: of a git repository, the files that git does not ignore; else all. Commands are those of a
    /// user who is in the folder `here`.
    pub fn of(root: &Path, here: &Path) -> io::Result<Copied> {
        let root = root.canonicalize()?;
        let at = here.strip_prefix(&root).map(Path::to_owned).unwrap_or_default();
        let copied = Copied { folder: tempfile::Builder::new().prefix("memtoll").tempdir()?, root, at };
        let files = match copied.root.join(".git").exists() {
            true => listed_by_git(&copied.root)?,
            false => all_below(&copied.root)?,
        };
        let mut bytes = 0;
        for file in &files {
            bytes += copied.take(file)?;
            if bytes > LARGEST {
                let root = copied.root.display();
                return Err(io::Error::other(format!(
                    "{root} holds more than 2 GiB: name the sources' folder (--root)"
                )));
            }
        }
        Ok(copied)
    }

    /// What a file of the sources is in the copy; nothing if it is not below the root.
    pub fn place(&self, path: &Path) -> Option<PathBuf> {
        Some(self.folder.path().join(normal(path).strip_prefix(&self.root).ok()?))
    }

    /// Changes a file of the copy.
    pub fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let place = self.place(path).and_then(|place| place.canonicalize().ok());
        let folder = self.folder.path().canonicalize()?;
        let place = place.filter(|place| place.starts_with(&folder)).ok_or_else(|| {
            io::Error::other(format!(
                "{} is in no copy of {}: git ignores it, or a link leads to it",
                path.display(),
                self.root.display()
            ))
        })?;
        fs::write(place, text)
    }

    /// Whether a build made something else here than there: other programs and libraries, whatever debug information says of
    /// where and of what they were made. Where there are none, other files. `changed` is the source that was changed.
    pub fn differs(&self, other: &Copied, changed: &Path) -> io::Result<bool> {
        let (own, others) = (all_below(self.folder.path())?, all_below(other.folder.path())?);
        let [programs, of_other] = [(self, &own), (other, &others)].map(|(copied, files)| copied.programs(files));
        if !programs.is_empty() || !of_other.is_empty() {
            return Ok(programs != of_other);
        }
        if own.len() != others.len() {
            return Ok(true);
        }
        let changed = self.place(changed);
        for file in own.iter().filter(|file| changed.as_ref() != Some(&self.folder.path().join(file))) {
            let [one, another] = [self, other].map(|copied| copied.folder.path().join(file));
            if one.is_file() && (!another.is_file() || !is_same(&one, &another)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What is loaded of the programs and libraries among files, but for the names of this folder in it.
    fn programs(&self, files: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
        let folder = self.folder.path().as_os_str().as_bytes();
        let loaded = |file: &PathBuf| {
            let mut bytes = memtoll_symbols::loaded_content(&self.folder.path().join(file))?;
            let mut at = 0;
            while let Some(found) = bytes[at..].windows(folder.len()).position(|window| window == folder) {
                at += found;
                bytes[at..at + folder.len()].fill(0);
            }
            Some((file.clone(), bytes))
        };
        files.iter().filter_map(loaded).collect()
    }

    /// Copies a file with its times, so that what is built already stays newer than its sources. A link into the sources
    /// becomes one into the copy. How many bytes it has.
    fn take(&self, file: &Path) -> io::Result<u64> {
        let (from, to) = (self.root.join(file), self.folder.path().join(file));
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        let data = fs::symlink_metadata(&from)?;
        if data.is_symlink() {
            let target = fs::read_link(&from)?;
            let inside = if target.is_absolute() { self.place(&target) } else { None };
            symlink(inside.unwrap_or(target), to)?;
            return Ok(0);
        }
        let bytes = fs::copy(from, &to)?;
        // A file that is read-only keeps the time of the copy.
        if let (Ok(file), Ok(time)) = (File::options().append(true).open(to), data.modified()) {
            file.set_modified(time)?;
        }
        Ok(bytes)
    }

    /// Builds it there.
    pub fn build(&self, side: &str, command: &str) -> Result<(), Error> {
        let command = CommandLine::typed(command).within(&self.folder.path().join(&self.at));
        run(&command, &Expected { side, exit_code: 0, looks_at_exit: false }, None, None).map(drop)
    }

    /// The copy of the program that a command starts.
    pub fn program(&self, words: &[OsString]) -> Result<PathBuf, NotInCopy> {
        let program = words.first().map(PathBuf::from).ok_or(NotInCopy::NoCommand)?;
        // What is named without a folder is looked for in PATH, and is no program of the sources.
        let has_folder = program.components().count() > 1;
        let found = if has_folder { self.place(&normal(&self.root.join(&self.at).join(&program))) } else { None };
        let found = found.ok_or_else(|| NotInCopy::Elsewhere { program, root: self.root.clone() })?;
        match found.is_file() {
            true => Ok(found),
            false => {
                let name = found.strip_prefix(self.folder.path()).unwrap_or(&found);
                Err(NotInCopy::NotBuilt { name: name.to_owned(), root: self.root.clone() })
            }
        }
    }

    /// A command of the sources' program as one of the copy's program.
    pub fn command(&self, words: &[OsString]) -> Result<CommandLine, NotInCopy> {
        let program = self.program(words)?;
        let arguments = words.iter().skip(1).map(|word| {
            let place = self.place(Path::new(word)).filter(|_| Path::new(word).is_absolute());
            place.map_or_else(|| word.clone(), OsString::from)
        });
        let words: Vec<OsString> = std::iter::once(program.into()).chain(arguments).collect();
        Ok(CommandLine::words(&words).within(&self.folder.path().join(&self.at)))
    }
}

/// Why a command is none of the copy's.
#[derive(Debug, thiserror::Error)]
pub enum NotInCopy {
    /// It has no words.
    #[error("there is no command")]
    NoCommand,
    /// Its program is none of the sources'.
    #[error("{} is not below {}: give the program that is built there", program.display(), root.display())]
    Elsewhere {
        program: PathBuf,
        /// The folder of the sources.
        root: PathBuf,
    },
    /// The build did not make the program.
    #[error("the build made no {} in a copy of {}", name.display(), root.display())]
    NotBuilt {
        /// The program's path below the folder of the sources.
        name: PathBuf,
        /// That folder.
        root: PathBuf,
    },
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => drop(normal.pop()),
            component => normal.push(component),
        }
    }
    normal
}

/// The files of a repository that git does not ignore, from its folder.
fn listed_by_git(root: &Path) -> io::Result<Vec<PathBuf>> {
    let listed = Command::new("git").arg("-C").arg(root).args(["ls-files", "-coz", "--exclude-standard"]).output()?;
    if !listed.status.success() {
        return Err(io::Error::other(format!("git ls-files: {}", String::from_utf8_lossy(&listed.stderr).trim())));
    }
    let names = listed.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let paths = names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())));
    // What is deleted and not yet committed is listed, too; so are submodules, as folders.
    let mut files = Vec::new();
    for path in paths {
        match fs::symlink_metadata(root.join(&path)) {
            Ok(data) if data.is_dir() => {
                files.extend(all_below(&root.join(&path))?.into_iter().map(|file| path.join(file)))
            }
            Ok(_) => files.push(path),
            Err(_) => {}
        }
    }
    Ok(files)
}

/// All files below a folder, but not those of git.
fn all_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            match entry.file_type()? {
                kind if kind.is_dir() && entry.file_name() != ".git" => folders.push(path),
                kind if kind.is_file() || kind.is_symlink() => files.push(path),
                _ => {}
            }
        }
    }
    Ok(files)
}

/// Whether two files have the same bytes.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(fs::metadata(one)?.len() == fs::metadata(other)?.len() && fs::read(one)? == fs::read(other)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_built_and_named_in_the_copy() {
        let sources = tempfile::tempdir().unwrap();
        let root = sources.path().canonicalize().unwrap();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a"), "text").unwrap();
        symlink("a", root.join("src/b")).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options().append(true).open(root.join("src/a")).unwrap().set_modified(old).unwrap();
        let copied = Copied::of(&root, Path::new("/")).unwrap();
        let place = copied.place(&root.join("src/a")).unwrap();
        assert_eq!(fs::metadata(&place).unwrap().modified().unwrap(), old);
        assert!(copied.place(Path::new("/etc/passwd")).is_none());
        let words = |all: &[&str]| all.iter().map(OsString::from).collect::<Vec<_>>();
        let program = root.join("out/app").display().to_string();
        assert!(
            matches!(copied.command(&words(&[&program])), Err(NotInCopy::NotBuilt { name, .. }) if name == Path::new("out/app"))
        );
        copied.build("before", "mkdir out && cp src/b out/app").unwrap();
        let input = root.join("src/a").display().to_string();
        let command = copied.command(&words(&[&program, &input, "x"])).unwrap();
        assert!(
            command.shown().ends_with("/src/a x") && !command.shown().contains(root.to_str().unwrap()),
            "{command:?}"
        );
        assert!(matches!(copied.command(&words(&["git"])), Err(NotInCopy::Elsewhere { .. })));
        assert!(!root.join("out").exists());
    }

    #[test]
    fn nothing_leads_back_to_the_sources() {
        let sources = tempfile::tempdir().unwrap();
        let root = sources.path().canonicalize().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(root.join("real.cpp"), "before").unwrap();
        fs::write(elsewhere.path().join("far.cpp"), "before").unwrap();
        symlink(root.join("real.cpp"), root.join("link.cpp")).unwrap();
        symlink(elsewhere.path().join("far.cpp"), root.join("far.cpp")).unwrap();
        let copies = [(); 2].map(|()| Copied::of(&root, &root).unwrap());
        copies[1].write(&root.join("link.cpp"), "after").unwrap();
        let copy = copies[1].place(&root.join("sub/../real.cpp")).unwrap();
        assert_eq!(fs::read_to_string(copy).unwrap(), "after", "the link leads into the copy");
        let far = copies[1].write(&root.join("far.cpp"), "after").unwrap_err().to_string();
        assert!(far.contains("a link leads to it"), "{far}");
        assert!(copies[1].write(&root.join("missing.cpp"), "after").is_err());
        for original in [root.join("real.cpp"), elsewhere.path().join("far.cpp")] {
            assert_eq!(fs::read_to_string(original).unwrap(), "before");
        }
    }

    #[test]
    fn a_build_that_makes_the_same_is_seen() {
        let sources = tempfile::tempdir().unwrap();
        let root = sources.path().canonicalize().unwrap();
        fs::write(root.join("a.c"), "before").unwrap();
        let [before, after] = [(); 2].map(|()| Copied::of(&root, &root).unwrap());
        after.write(&root.join("a.c"), "after").unwrap();
        for copied in [&before, &after] {
            copied.build("side", "cp /dev/null app").unwrap();
        }
        assert!(!after.differs(&before, &root.join("a.c")).unwrap());
        // The program may be the same, and a library another one.
        for copied in [&before, &after] {
            copied.build("side", "cp a.c liba.so").unwrap();
        }
        assert!(after.differs(&before, &root.join("a.c")).unwrap());
    }

    #[test]
    fn where_a_program_was_built_makes_no_difference() {
        let sources = tempfile::tempdir().unwrap();
        let root = sources.path().canonicalize().unwrap();
        for (name, text) in [("used.c", "int main(void) { return __FILE__[0]; }\n"), ("other.c", "int other;\n")] {
            fs::write(root.join(name), text).unwrap();
        }
        let [before, after] = [(); 2].map(|()| Copied::of(&root, &root).unwrap());
        let build = |options: &str| {
            for copied in [&before, &after] {
                copied.build("side", &format!("gcc {options} \"$PWD/used.c\" -o app")).unwrap();
            }
        };
        after.write(&root.join("other.c"), "long other;\n").unwrap();
        build("-g -Wl,--build-id");
        let app = |copied: &Copied| fs::read(copied.folder.path().join("app")).unwrap();
        assert_ne!(app(&before), app(&after), "the debug information names the folder");
        assert!(!after.differs(&before, &root.join("other.c")).unwrap());
        after.write(&root.join("used.c"), "int main(void) { return 7; }\n").unwrap();
        build("-g -Wl,--build-id");
        assert!(after.differs(&before, &root.join("used.c")).unwrap());
    }
}
