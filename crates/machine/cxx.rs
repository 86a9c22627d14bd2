// How the measuring programs are compiled. Included by build.rs and by tests/cxx.rs.

use std::path::{Path, PathBuf};

/// Like the recorder, the programs need nothing of the C++ runtime. -Werror is left to the tests: other compilers warn
/// of other things.
pub const FLAGS: &[&str] = &[
    "-std=c++20",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Wundef",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-pthread",
];

/// What the linker needs on Linux.
pub const LINK_LINUX: &[&str] = &["-s", "-nodefaultlibs", "-lc", "-lgcc", "-lpthread"];

/// The folders of the program `name`: its own, what the programs have in common, and what depends on the processor.
pub fn folders(name: &str) -> [PathBuf; 3] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    [root.join("machine/common"), root.join("machine").join(name), root.join("recorder/src/arch")]
}

/// The C++ files of the program `name`, less those for the other system.
pub fn sources(name: &str, other_system: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in folders(name) {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|file| {
        let name = file.to_string_lossy();
        name.ends_with(".cpp") && !name.ends_with(&format!("_{other_system}.cpp"))
    });
    files.sort();
    files
}
