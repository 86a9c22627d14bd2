//! Debug information in files of its own, and files with little or none.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::*;
use memtoll_symbols::{ModuleFile, Resolver};

/// A program whose debug information was moved to another file.
struct Stripped {
    directory: tempfile::TempDir,
    program: PathBuf,
    /// File with the debug information.
    debug: PathBuf,
    /// Address of the probe `add`.
    address: u64,
    build_id: Vec<u8>,
}

impl Stripped {
    fn new(link: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = compile_shop(directory.path(), &["-g"]);
        let address = probes(&program)["add"];
        let debug = directory.path().join("shop.debug");
        run("objcopy", &["--only-keep-debug", text(&program), text(&debug)]);
        run("strip", &[text(&program)]);
        if link {
            let option = format!("--add-gnu-debuglink={}", text(&debug));
            run("objcopy", &[&option, text(&program)]);
        }
        let build_id = build_id(&program);
        Stripped { directory, program, debug, address, build_id }
    }

    /// Puts the debug file where a build id leads, and returns the debug directory.
    fn install_by_build_id(&self) -> PathBuf {
        let root = self.directory.path().join("debug-root");
        let hex: String = self.build_id.iter().map(|b| format!("{b:02x}")).collect();
        let file = root.join(format!(".build-id/{}/{}.debug", &hex[..2], &hex[2..]));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::rename(&self.debug, file).unwrap();
        root
    }

    fn chain(&self, debug_directories: Vec<PathBuf>) -> Vec<String> {
        let resolved = resolve_with(&self.program, &self.build_id, debug_directories, self.address);
        assert_eq!(resolved.problem, None);
        chain(&resolved)
    }

    fn no_names(&self) -> Vec<String> {
        vec![format!("shop+{:#x}", self.address)]
    }
}

#[test]
fn by_build_id() {
    let stripped = Stripped::new(false);
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
    let root = stripped.install_by_build_id();
    let elsewhere = PathBuf::from("/nonexistent");
    assert_eq!(stripped.chain(vec![elsewhere, root]), add_chain());
}

#[test]
fn by_debug_link_beside_the_program() {
    let stripped = Stripped::new(true);
    assert_eq!(stripped.chain(vec![]), add_chain());
    let below = stripped.directory.path().join(".debug");
    fs::create_dir(&below).unwrap();
    fs::rename(&stripped.debug, below.join("shop.debug")).unwrap();
    assert_eq!(stripped.chain(vec![]), add_chain());
}

#[test]
fn by_debug_link_in_a_debug_directory() {
    let stripped = Stripped::new(true);
    let root = stripped.directory.path().join("debug-root");
    let below_root = stripped.directory.path().strip_prefix("/").unwrap();
    let place = root.join(below_root);
    fs::create_dir_all(&place).unwrap();
    fs::rename(&stripped.debug, place.join("shop.debug")).unwrap();
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
    assert_eq!(stripped.chain(vec![root]), add_chain());
}

#[test]
fn a_debug_link_with_another_checksum_is_not_followed() {
    let stripped = Stripped::new(true);
    let mut bytes = fs::read(&stripped.debug).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&stripped.debug, bytes).unwrap();
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
}

#[test]
fn shared_debug_information_of_dwz() {
    // The path in the link is one that exists nowhere.
    let data = dwz_data();
    let program = data.join("shop.debug");
    let address = dwz_address();
    let build_id = build_id(&program);
    let resolved = resolve_with(&program, &build_id, vec![data], address);
    assert_eq!(resolved.problem, None);
    assert_eq!(chain(&resolved), add_chain());

    // Without the second file names are lost, and that is said.
    let resolved = resolve_with(&program, &build_id, vec![], address);
    assert_eq!(resolved.frames[0].last().unwrap().function, "shop::sell(int)");
    let problem = resolved.problem.unwrap();
    assert!(problem.contains("was not found"), "{problem}");
}

#[test]
fn a_file_that_changed_is_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let address = probes(&program)["add"];
    let resolved = resolve_with(&program, &[0xab; 20], vec![], address);
    assert_eq!(chain(&resolved), [format!("shop+{address:#x}")]);
    assert!(!resolved.has_lines);
    let found: String = build_id(&program).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(
        resolved.problem.unwrap(),
        format!("the file changed since the recording: build id expected {}, found {found}", "ab".repeat(20))
    );
    // A recording without a build id cannot tell.
    assert_eq!(chain(&resolve_with(&program, &[], vec![], address)), add_chain());
}

#[test]
fn the_debug_file_stands_in_for_a_module_that_is_gone() {
    let stripped = Stripped::new(false);
    let root = stripped.install_by_build_id();
    // Another program at the same place.
    run("g++", &["-x", "c", "/dev/null", "-shared", "-o", text(&stripped.program)]);
    assert_eq!(stripped.chain(vec![root.clone()]), add_chain());
    fs::remove_file(&stripped.program).unwrap();
    assert_eq!(stripped.chain(vec![root]), add_chain());
}

#[test]
fn only_dynamic_symbols() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["-fvisibility=hidden", "-rdynamic"];
    let program = compile_cpp(directory.path(), "library", &options);
    let probes = probes(&program);
    let frames = |name: &str| chain(&resolve(&program, probes[name]));
    assert_eq!(frames("exported"), ["shelf::exported(int)"]);
    assert_eq!(frames("internal"), ["(anonymous namespace)::internal()"]);
    run("strip", &[text(&program)]);
    assert_eq!(frames("exported"), ["shelf::exported(int)"]);
    // The symbols around it have sizes that end before.
    assert_eq!(frames("internal"), [format!("library+{:#x}", probes["internal"])]);
    assert!(!resolve(&program, probes["exported"]).has_lines);
}

#[test]
fn modules_that_are_no_files() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    run("mkfifo", &[text(&pipe)]);
    let empty = directory.path().join("empty");
    fs::write(&empty, "").unwrap();
    let script = directory.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    let expected = [
        ("[vdso]", "[vdso]+0x10", false),
        ("[heap]", "[heap]+0x10", false),
        ("", "[unknown]+0x10", false),
        ("//anon", "anon+0x10", false),
        ("/", "[unknown]+0x10", true),
        ("/usr/lib/libgone.so.1", "libgone.so.1+0x10", true),
        ("/memfd:jit (deleted)", "memfd:jit+0x10", true),
        ("/dev/zero", "zero+0x10", true),
        (text(&pipe), "pipe+0x10", true),
        (text(&empty), "empty+0x10", true),
        (text(&script), "script+0x10", true),
    ];
    for (path, name, is_problem) in expected {
        for build_id in [&[][..], &[1][..], &[1; 20][..]] {
            let module = ModuleFile { path: Path::new(path), build_id };
            let resolved = Resolver::new().resolve(&module, &[0x10]);
            assert_eq!(chain(&resolved), [name], "{path}");
            assert_eq!(resolved.problem.is_some(), is_problem, "{path}");
        }
    }
}

#[test]
fn a_deleted_file_that_is_back() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let address = probes(&program)["add"];
    let deleted = format!("{} (deleted)", text(&program));
    let resolved = resolve_with(Path::new(&deleted), &build_id(&program), vec![], address);
    assert_eq!(chain(&resolved), add_chain());
    let unknown = resolve_with(Path::new(&deleted), &[], vec![], address);
    assert_eq!(chain(&unknown), [format!("shop+{address:#x}")]);
    assert!(unknown.problem.is_some());
}
