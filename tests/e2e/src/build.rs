//! Compiles the programs, once for each set of flags, into `target/e2e/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

/// The root of the repository.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tests/e2e lies in the workspace").to_owned()
}

/// The build's target directory: the one that holds the `debug/` or `release/` of the running test.
pub fn target_directory() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the running test");
    let profile = test.ancestors().find(|path| path.file_name().is_some_and(|name| name == "deps"));
    let target = profile.and_then(|deps| deps.ancestors().nth(2));
    target.unwrap_or_else(|| panic!("{} does not lie in a target directory", test.display())).to_owned()
}

/// The binary under test.
pub fn memtoll() -> PathBuf {
    if let Some(path) = std::env::var_os("MEMTOLL_BIN") {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "MEMTOLL_BIN is {}, which does not exist", path.display());
        return path;
    }
    let test = std::env::current_exe().expect("the path of the running test");
    let own_profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").join("memtoll");
    let candidates =
        [own_profile, target_directory().join("debug/memtoll"), target_directory().join("release/memtoll")];
    candidates.iter().find(|path| path.is_file()).cloned().unwrap_or_else(|| {
        panic!("no memtoll binary at {candidates:?}: run `cargo build --bin memtoll` first, or set MEMTOLL_BIN")
    })
}

/// The path of a source file in `programs/`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(name)
}

/// `programs/NAME`, compiled at `-O2 -g`.
pub fn program(name: &str) -> PathBuf {
    program_with(name, &["-O2"])
}

/// `programs/NAME`, compiled with `-g` and these flags (rustc: `-g` and these `-C` options). Flags that end in `.so` or
/// `.so.N` are files to link with; `musl-gcc` or `clang++` is the compiler.
pub fn program_with(name: &str, flags: &[&str]) -> PathBuf {
    compile(&source(name), flags)
}

/// A shared library made of `programs/NAME`.
pub fn library(name: &str, flags: &[&str]) -> PathBuf {
    let mut all = vec!["-O2", "-shared", "-fPIC"];
    all.extend(flags);
    compile(&source(name), &all)
}

/// The program NAME-VARIANT of the case study `casestudies/NAME`, built by its Makefile.
pub fn demo_program(name: &str, variant: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let out = target_directory().join("casestudies");
    let mut make = Command::new("make");
    make.arg("-s").arg("-C").arg(workspace().join("casestudies").join(name));
    make.arg(format!("OUT={}", out.display())).arg("CXX=g++").arg("CXXFLAGS=-O2 -g -DNDEBUG");
    // Inside `make test`, the outer make's job slots would be handed on through a closed descriptor.
    make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    execute(make);
    out.join(format!("{name}-{variant}"))
}

fn compile(source: &Path, flags: &[&str]) -> PathBuf {
    let directory = target_directory().join("e2e");
    fs::create_dir_all(&directory).expect("a directory for the compiled programs");
    let stem = source.file_name().expect("a file name").to_string_lossy();
    let suffix: String = flags
        .iter()
        .map(|flag| flag.rsplit('/').next().unwrap_or(flag).replace(|c: char| !c.is_ascii_alphanumeric(), ""))
        .collect::<Vec<_>>()
        .join("-");
    let output = directory.join(format!("{stem}-{suffix}"));

    // Tests run side by side, in threads and perhaps in processes: each compiles to a name of its own and moves the
    // result into place, which is harmless when two do it. Inside one process the lock saves the second compilation.
    static LOCKS: [Mutex<()>; 16] = [const { Mutex::new(()) }; 16];
    let slot = output.as_os_str().as_encoded_bytes().iter().fold(0usize, |h, b| h.wrapping_mul(31) + *b as usize) % 16;
    let _guard = LOCKS[slot].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if is_fresh(&output, source, flags) {
        return output;
    }
    let temporary = directory.join(format!("{stem}-{suffix}.{}", std::process::id()));
    execute(compiler(source, flags, &temporary));
    fs::rename(&temporary, &output).expect("the compiled program moves into place");
    output
}

/// Whether `output` is newer than everything it is made of.
fn is_fresh(output: &Path, source: &Path, flags: &[&str]) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let built = changed(output);
    let headers = ["e2e.h", "pages.h", "state.h"].map(self::source);
    let memtoll = workspace().join("remedies/include/memtoll.h");
    let linked = flags.iter().filter(|flag| flag.starts_with('/')).map(PathBuf::from);
    std::iter::once(source.to_owned())
        .chain(headers)
        .chain([memtoll])
        .chain(linked)
        .all(|input| changed(&input) < built)
}

fn compiler(source: &Path, flags: &[&str], output: &Path) -> Command {
    let is = |extension| source.extension().is_some_and(|e| e == extension);
    if is("rs") {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2021", "-g"]);
        for flag in flags {
            match *flag {
                "-O0" | "-O2" | "-O3" => rustc.arg(format!("-Copt-level={}", &flag[2..])),
                other => rustc.arg("-C").arg(other),
            };
        }
        rustc.arg("-o").arg(output).arg(source);
        return rustc;
    }
    let is_compiler = |flag: &&&str| ["musl-gcc", "clang++"].contains(*flag);
    let mut command = match flags.iter().find(is_compiler) {
        Some(other) => Command::new(other),
        None if is("cpp") => Command::new("g++"),
        None => Command::new("gcc"),
    };
    command.arg(if is("cpp") { "-std=c++20" } else { "-std=gnu17" });
    command.args(["-g", "-Wall", "-Wextra", "-pthread"]);
    command.arg("-I").arg(workspace().join("remedies/include"));
    let (linked, plain): (Vec<&str>, Vec<&str>) =
        flags.iter().filter(|flag| !is_compiler(flag)).partition(|flag| flag.starts_with('/'));
    command.args(plain).arg("-o").arg(output).arg(source).args(linked);
    command
}

fn execute(mut command: Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: is it installed?"));
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
}
