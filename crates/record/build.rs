//! Compiles the recorder, which is then embedded in the binary, and what the compiler warns of, which a test reads.
//!
//! With debug information (`[profile.dist]`), that goes to a file of its own, `libmemtoll.so.debug`.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Those of recorder/CMakeLists.txt, less -Werror (other compilers warn of other things); tests/recorder_build.rs compares them.
const FLAGS: &[&str] = &[
    "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wundef", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
    "-fvisibility=hidden", "-fPIC", "-fno-plt", "-fno-optimize-sibling-calls",
];
const LINK: &[&str] = &["-shared", "-Wl,-Bsymbolic", "-Wl,-z,now", "-Wl,-z,defs", "-nodefaultlibs", "-lc", "-lgcc"];

/// The recorder's units of translation, compiled side by side: each is all files of these folders. File by file, most of the
/// time would go into reading the same headers again. Other folders hold what only tests and checks need.
const UNITS: &[(&str, &[&str])] = &[("core", &["src", "src/threads", "src/unwind"]), ("hooks", &["src/hooks"])];

/// Those of the processor's folder, a line each.
fn processor_flags(recorder: &Path, processor: &str) -> Vec<String> {
    let path = recorder.join("src/arch").join(processor).join("compiler_flags.txt");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// The C++ files in a folder, without its subfolders.
fn sources(folder: &Path) -> Vec<PathBuf> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "cpp"));
    files.sort();
    files
}

/// Moves the debug information of `library` to `library.debug`. The names of functions stay.
fn split_debug_information(library: &Path) {
    let debug = library.with_extension("so.debug");
    let objcopy = |arguments: &[&OsStr]| {
        let status = Command::new("objcopy").args(arguments).status();
        let status = status.unwrap_or_else(|error| panic!("cannot run objcopy, a part of binutils: {error}"));
        assert!(status.success(), "objcopy {arguments:?}: {status}");
    };
    objcopy(&["--only-keep-debug".as_ref(), library.as_os_str(), debug.as_os_str()]);
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    objcopy(&["--strip-debug".as_ref(), &link, library.as_os_str()]);
}

fn main() {
    let variable = |name: &str| std::env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    // As it is now, not as it was compiled: a clone may have been moved.
    let recorder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../recorder");
    let recorder = recorder.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", recorder.display()));
    let out = PathBuf::from(variable("OUT_DIR"));
    let processor = variable("CARGO_CFG_TARGET_ARCH");
    let processor_flags = processor_flags(&recorder, &processor.to_string_lossy());
    let with_debug_information = variable("DEBUG") == "true";
    let remedies = recorder.join("../remedies/include");
    println!("cargo::rerun-if-changed={}", remedies.join("memtoll/config.hpp").display());
    println!("cargo::rerun-if-changed={}", recorder.join("src/arch").display());

    let compiler = || cc::Build::new().cpp(true).no_default_flags(true).warnings(false).get_compiler().to_command();
    let cannot_run = |error| -> ! { panic!("cannot run a C++ compiler ({:?}): {error}", compiler()) };
    let compile = |(name, folders): &(&str, &[&str])| {
        let mut text = String::new();
        for file in folders.iter().flat_map(|folder| sources(&recorder.join(folder))) {
            let _ = writeln!(text, "#include \"{}\"", file.display());
        }
        let unit = out.join(name).with_extension("cpp");
        std::fs::write(&unit, text).unwrap_or_else(|error| panic!("{}: {error}", unit.display()));
        let mut command = compiler();
        command.args(FLAGS).args(&processor_flags).arg("-I").arg(&remedies);
        if with_debug_information {
            // Debug files of release packages do not say where they were built.
            let root = recorder.parent().unwrap_or(&recorder).display();
            command.arg("-g").arg(format!("-ffile-prefix-map={root}=memtoll"));
        }
        command.arg("-c").arg(&unit).arg("-o").arg(unit.with_extension("o")).stderr(Stdio::piped());
        command.spawn().unwrap_or_else(|error| cannot_run(error))
    };
    let running: Vec<_> = UNITS.iter().map(compile).collect();
    let mut said = String::new();
    for compiler in running {
        let output = compiler.wait_with_output().unwrap_or_else(|error| cannot_run(error));
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "the recorder does not compile; a C++20 compiler is needed: {said}");
    }
    std::fs::write(out.join("warnings.txt"), &said).unwrap_or_else(|error| panic!("{}: {error}", out.display()));

    let library = out.join("libmemtoll.so");
    let objects = UNITS.iter().map(|(name, _)| out.join(name).with_extension("o"));
    let mut link = compiler();
    link.arg("-o").arg(&library).args(objects).args(LINK);
    // Debuggers find the debug information by it. Some linkers write one only when asked.
    link.args(with_debug_information.then_some("-Wl,--build-id=sha1"));
    let status = link.status().unwrap_or_else(|error| cannot_run(error));
    assert!(status.success(), "the recorder cannot be linked: {link:?}");
    if with_debug_information {
        split_debug_information(&library);
    }
}
