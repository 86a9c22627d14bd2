//! Whether the recorder can be loaded into a program: its file says.

use crate::{c_library, private_directory};
use memtoll_processor::HERE;
use object::LittleEndian;
use object::elf::{DT_NEEDED, DT_SONAME, DT_STRSZ, DT_STRTAB, DynamicTag, FileHeader64, PT_INTERP, ProgramHeader64};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::read::{ReadCache, ReadRef};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What the recorder can do with a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It can be recorded, as far as one can see.
    Recordable,
    /// It cannot, and why; but its children perhaps can.
    Unrecordable(String),
    /// It would be disturbed by the attempt.
    Disturbed(String),
}

/// The file that `execvp` would execute for `name`, or why it would not.
pub fn find(name: &Path) -> io::Result<PathBuf> {
    if name.as_os_str().as_encoded_bytes().contains(&b'/') {
        return is_executable(name).map(|()| name.to_owned());
    }
    if name.as_os_str().is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "an empty name; expected a program to record"));
    }
    let list = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    let found = std::env::split_paths(&list).map(|folder| folder.join(name)).find(|path| is_executable(path).is_ok());
    found.ok_or_else(|| {
        let why = match name.exists() {
            true => format!("no such program in PATH; the file in this directory is ./{}", name.display()),
            _ if name.as_os_str().as_encoded_bytes().contains(&b' ') => {
                "no such program in PATH; its arguments are words of their own, without quotes around all".to_owned()
            }
            false => "no such program in PATH".to_owned(),
        };
        io::Error::new(io::ErrorKind::NotFound, why)
    })
}

fn is_executable(path: &Path) -> io::Result<()> {
    let data = fs::metadata(path)?;
    let refused = |why| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    match data.permissions().mode() & 0o111 {
        _ if !data.is_file() => refused("not a regular file; expected a program"),
        0 => refused("not executable; run chmod +x on a program, or give a script to its interpreter"),
        _ => Ok(()),
    }
}

/// Why the system did not start the program at `path`, which is executable. Where what should interpret or load a file is
/// missing, the system says the same as where the file itself is.
pub fn not_started(path: &Path, why: io::Error) -> io::Error {
    let missing = || {
        let start = start_of(path).ok()?;
        let by = match start.strip_prefix(b"#!") {
            Some(line) => PathBuf::from(interpreter(line)?),
            None => {
                let header = FileHeader64::<LittleEndian>::parse(&*start).ok()?;
                loader(header.program_headers(LittleEndian, &*start).ok()?, &*start)?
            }
        };
        (why.kind() == io::ErrorKind::NotFound && !by.exists()).then_some(by)
    };
    match missing() {
        Some(by) => {
            io::Error::new(why.kind(), format!("it is to be run by {}, which is not there; install that", by.display()))
        }
        None => why,
    }
}

/// Inspects the program at `path`, following the interpreters of scripts.
pub fn inspect(path: &Path) -> Verdict {
    inspect_for(path, private_directory::RECORDER)
}

/// The same for another recorder, whose file has this content.
pub fn inspect_for(path: &Path, recorder: &[u8]) -> Verdict {
    inspect_at(path, recorder, 0)
}

const LONGEST_START: u64 = 64 * 1024;

fn inspect_at(path: &Path, recorder: &[u8], depth: u32) -> Verdict {
    let Ok(metadata) = fs::metadata(path) else { return Verdict::Recordable };
    // Executable but not readable: let the loader decide.
    let Ok(start) = start_of(path) else { return Verdict::Recordable };
    if let Some(line) = start.strip_prefix(b"#!") {
        return match interpreter(line) {
            Some(interpreter) if depth < 4 => inspect_at(Path::new(&interpreter), recorder, depth + 1),
            _ => Verdict::Recordable,
        };
    }
    let mode = metadata.mode();
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    if (mode & 0o4000 != 0 && metadata.uid() != user) || (mode & 0o2000 != 0 && metadata.gid() != group) {
        return Verdict::Unrecordable(format!(
            "{} is set-user-id or set-group-id: the loader ignores LD_PRELOAD for it; record it as its owner",
            path.display()
        ));
    }
    inspect_elf(path, recorder, &start)
}

fn start_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(LONGEST_START as usize);
    File::open(path)?.take(LONGEST_START).read_to_end(&mut start)?;
    Ok(start)
}

/// The program that a script is run by, of what follows `#!`.
fn interpreter(line: &[u8]) -> Option<String> {
    let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next()?);
    line.split_whitespace().next().map(str::to_owned)
}

fn inspect_elf(path: &Path, recorder: &[u8], start: &[u8]) -> Verdict {
    if !start.starts_with(b"\x7fELF") {
        return Verdict::Recordable;
    }
    let foreign = || {
        Verdict::Disturbed(format!(
            "{} is not a 64-bit {} program; this version of memtoll records only those",
            path.display(),
            HERE.name
        ))
    };
    let Ok(header) = FileHeader64::<LittleEndian>::parse(start) else { return foreign() };
    if header.e_machine(LittleEndian) != HERE.elf_machine {
        return foreign();
    }
    let Ok(segments) = header.program_headers(LittleEndian, start) else { return Verdict::Recordable };
    if let Some(loader) = loader(segments, start) {
        let library = CLibrary::of(&loader);
        if library.is_none() {
            return Verdict::Disturbed(format!(
                "{} is loaded by {}, not by the loader of glibc or musl: another C library, which memtoll does not record",
                path.display(),
                loader.display()
            ));
        }
        if let Some(library) =
            names_of(path, DT_NEEDED).into_iter().find(|name| SANITIZERS.iter().any(|start| name.starts_with(start)))
        {
            return Verdict::Disturbed(format!(
                "{} needs {library}, a sanitizer, which must be loaded before any other library; build it without",
                path.display()
            ));
        }
        if library == Some(CLibrary::Musl) {
            return Verdict::Recordable; // musl's symbols have no versions
        }
        return match c_library::too_old(&loader, recorder) {
            Some(old) => Verdict::Disturbed(format!(
                "{} runs with {}, an old C library: it lacks {}, which memtoll's recorder needs; use a newer one",
                path.display(),
                old.library.display(),
                old.missing.join(", ")
            )),
            None => Verdict::Recordable,
        };
    }
    // The loader itself, which loads the program that it is given, and the recorder before that.
    if names_of(path, DT_SONAME).iter().any(|name| name.starts_with("ld-linux")) {
        return Verdict::Recordable;
    }
    Verdict::Unrecordable(format!(
        "{} is statically linked: there is no loader to bring the recorder in; link it dynamically (for C++: without -static)",
        path.display()
    ))
}

/// The files that the loader of the program at `path` loads with it, in its order; none where it cannot. Nothing of them runs:
/// the loader only lists them.
pub fn libraries(path: &Path) -> Vec<String> {
    let loader = || {
        let file = ReadCache::new(File::open(path).ok()?);
        let header = FileHeader64::<LittleEndian>::parse(&file).ok()?;
        loader(header.program_headers(LittleEndian, &file).ok()?, &file)
    };
    let Some(loader) = loader().filter(|loader| CLibrary::of(loader).is_some()) else { return Vec::new() };
    let list = Command::new(loader).arg("--list").arg(path).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let list = list.map(|output| output.stdout).unwrap_or_default();
    // Lines are `libc.so.6 => /lib/libc.so.6 (0x7f3892000000)`, of the loader without a name.
    let path = |line: &str| Some(line.split_once(" => ")?.1.rsplit_once(" (0x")?.0.to_owned());
    String::from_utf8_lossy(&list).lines().filter_map(path).collect()
}

/// Which C library a loader belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CLibrary {
    Glibc,
    Musl,
}

impl CLibrary {
    fn of(loader: &Path) -> Option<CLibrary> {
        let name = loader.file_name()?;
        if name == HERE.loader_name() {
            Some(CLibrary::Glibc)
        } else {
            (name == HERE.musl_loader_name()).then_some(CLibrary::Musl)
        }
    }
}

/// The loader that a program names. `None`: it is statically linked, or a loader itself.
fn loader<'data>(segments: &[ProgramHeader64<LittleEndian>], file: impl ReadRef<'data>) -> Option<PathBuf> {
    let interpreter = segments.iter().find(|segment| segment.p_type(LittleEndian) == PT_INTERP)?;
    let name = interpreter.data(LittleEndian, file).unwrap_or_default();
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').into())
}

/// Libraries that refuse to start, or crash, behind another one. `recorder/src/hooks/started_programs.cpp` has the same list.
const SANITIZERS: &[&str] = &["libasan.so", "libtsan.so", "libclang_rt.asan", "libclang_rt.tsan"];

/// The names behind a tag in the dynamic section of the file at `path`, such as the libraries that it needs; empty where
/// that cannot be read.
fn names_of(path: &Path, tag: DynamicTag) -> Vec<String> {
    let Ok(file) = File::open(path) else { return Vec::new() };
    let file = ReadCache::new(file);
    let list = || {
        let header = FileHeader64::<LittleEndian>::parse(&file).ok()?;
        let segments = header.program_headers(LittleEndian, &file).ok()?;
        let entries = segments.iter().find_map(|segment| segment.dynamic(LittleEndian, &file).ok().flatten())?;
        let value = |tag: DynamicTag| {
            entries.iter().filter(move |entry| entry.d_tag(LittleEndian) == tag).map(|entry| entry.d_val(LittleEndian))
        };
        let (at, bytes) = (value(DT_STRTAB).next()?, value(DT_STRSZ).next()?);
        let strings =
            segments.iter().find_map(|segment| segment.data_range(LittleEndian, &file, at, bytes).ok().flatten())?;
        let name = |start: u64| strings.get(usize::try_from(start).ok()?..)?.split(|byte| *byte == 0).next();
        Some(value(tag).filter_map(name).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    };
    list().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_programs_and_scripts_are_recordable() {
        assert_eq!(inspect(&find(Path::new("sh")).unwrap()), Verdict::Recordable);
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#! /bin/sh -e\nexit 1\n").unwrap();
        assert_eq!(inspect(&script), Verdict::Recordable);
        let why = |name: &str| find(Path::new(name)).unwrap_err().to_string();
        assert_eq!(why("no-such-program-anywhere"), "no such program in PATH");
        assert_eq!(why("Cargo.toml"), "no such program in PATH; the file in this directory is ./Cargo.toml");
        assert!(why("/no/such/program").contains("No such file"));
        assert!(why("/").starts_with("not a regular file"));
        assert!(why("./Cargo.toml").starts_with("not executable"));
        assert!(why("").starts_with("an empty name"));
        assert!(why("sh -c true").contains("words of their own"));
    }

    #[test]
    fn a_script_without_its_interpreter_says_so() {
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(script.path(), "#!/no/such/shell -e\n").unwrap();
        let missing = || std::io::Error::from_raw_os_error(libc::ENOENT);
        let why = not_started(script.path(), missing()).to_string();
        assert!(why.contains("/no/such/shell, which is not there"), "{why}");
        std::fs::write(script.path(), "#!/bin/sh\n").unwrap();
        assert_eq!(not_started(script.path(), missing()).to_string(), missing().to_string());
    }

    #[test]
    fn the_loader_itself_is_not_a_static_program() {
        let loader = Path::new(HERE.loader);
        assert_eq!(inspect(loader), Verdict::Recordable);
    }

    #[test]
    fn static_and_foreign_programs_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.c");
        std::fs::write(&source, "int main(void) { return 0; }").unwrap();
        let program = folder.path().join("a");
        let compile = std::process::Command::new("cc").arg("-static").arg(&source).arg("-o").arg(&program).status();
        assert!(compile.unwrap().success());
        assert!(matches!(inspect(&program), Verdict::Unrecordable(why) if why.contains("statically linked")));
        let mut bytes = std::fs::read(&program).unwrap();
        bytes[4] = 1; // ELFCLASS32
        std::fs::write(&program, bytes).unwrap();
        assert!(matches!(inspect(&program), Verdict::Disturbed(_)));
    }
}
