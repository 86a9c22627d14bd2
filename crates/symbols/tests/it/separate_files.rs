//! Debug information in files of its own, and files with little or none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::*;
use memtoll_symbols::{DebugFolders, ModuleFile, Resolver};
use memtoll_trace::symbols::NameSource;

/// A program whose debug information was moved to another file.
struct Stripped {
    directory: tempfile::TempDir,
    program: PathBuf,
    /// File with the debug information.
    debug: PathBuf,
    /// Address of the probe `add`.
    address: u64,
    /// First address of the function that it was inlined into.
    start: u64,
    build_id: Vec<u8>,
}

impl Stripped {
    fn new(link: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = compile_shop(directory.path(), &["-g"]);
        let address = probes(&program)["add"];
        let start = function_around(&program, address);
        // Without a link, it does not lie beside the program: its build id would be enough.
        let place = if link { directory.path().to_owned() } else { directory.path().join("apart") };
        fs::create_dir_all(&place).unwrap();
        let debug = place.join("shop.debug");
        run("objcopy", &["--only-keep-debug", text(&program), text(&debug)]);
        run("strip", &[text(&program)]);
        if link {
            let option = format!("--add-gnu-debuglink={}", text(&debug));
            run("objcopy", &[&option, text(&program)]);
        }
        let build_id = build_id(&program);
        Stripped { directory, program, debug, address, start, build_id }
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
        vec![format!("shop+{:#x}", self.start)]
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
    // Nor does a build id lead to it.
    run("objcopy", &["--remove-section=.note.gnu.build-id", text(&stripped.debug)]);
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
}

#[test]
fn beside_the_program_by_build_id() {
    let stripped = Stripped::new(false);
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
    let beside = stripped.directory.path().join("shop.debug");
    fs::copy(&stripped.debug, &beside).unwrap();
    assert_eq!(stripped.chain(vec![]), add_chain());
    fs::remove_file(&beside).unwrap();
    // One of another build is left alone.
    let other = compile_shop(&stripped.directory.path().join("apart"), &["-g", "-O1"]);
    fs::rename(other, beside).unwrap();
    assert_eq!(stripped.chain(vec![]), stripped.no_names());
}

/// The chain, when files are also looked for in `folder` and below.
fn chain_with_folder(stripped: &Stripped, folder: PathBuf) -> Vec<String> {
    let mut folders = DebugFolders::like_system(vec![]);
    folders.add(folder);
    let module = ModuleFile { path: &stripped.program, build_id: &stripped.build_id };
    chain(&Resolver::with_folders(folders).resolve(&module, &[stripped.address]))
}

#[test]
fn in_a_folder_of_any_layout() {
    let stripped = Stripped::new(false);
    let build = stripped.directory.path().join("build");
    let deep = build.join("release/bin");
    fs::create_dir_all(&deep).unwrap();
    // What a build leaves beside the file that is wanted, and a link that leads around in a circle.
    fs::write(
        deep.join("notes"),
        "a text that is longer than the header of an ELF file, as most of the files of a build are\n",
    )
    .unwrap();
    fs::write(deep.join("empty"), "").unwrap();
    run("mkfifo", &[text(&deep.join("pipe"))]);
    compile_shop(&deep, &["-O1"]);
    std::os::unix::fs::symlink(&build, deep.join("up")).unwrap();
    assert_eq!(chain_with_folder(&stripped, build.clone()), stripped.no_names());
    fs::copy(&stripped.debug, deep.join("another-name")).unwrap();
    assert_eq!(chain_with_folder(&stripped, build), add_chain());
}

#[test]
fn in_a_copy_of_the_system() {
    let stripped = Stripped::new(false);
    let root = stripped.directory.path().join("root");
    let place = root.join(stripped.program.parent().unwrap().strip_prefix("/").unwrap());
    fs::create_dir_all(&place).unwrap();
    fs::copy(&stripped.debug, place.join("shop")).unwrap();
    assert_eq!(stripped.chain(vec![root]), add_chain());
}

/// Puts `.gnu_debugdata` with these contents into a program.
fn add_debug_data(program: &Path, contents: &Path) {
    let option = format!(".gnu_debugdata={}", text(contents));
    run("objcopy", &["--add-section", &option, text(program)]);
}

#[test]
fn mini_debug_info() {
    let stripped = Stripped::new(false);
    let mini = stripped.directory.path().join("mini");
    fs::copy(&stripped.debug, &mini).unwrap();
    run("objcopy", &["--strip-debug", text(&mini)]);
    let names = ["shop::sell(int)"];
    for (index, options) in
        [&["-9"][..], &["-1", "--check=crc32"], &["--check=none"], &["--check=sha256"]].iter().enumerate()
    {
        let program = stripped.directory.path().join(format!("shop{index}"));
        fs::copy(&stripped.program, &program).unwrap();
        run("xz", &[&["--force", "--keep"], *options, &[text(&mini)]].concat());
        add_debug_data(&program, &mini.with_extension("xz"));
        let resolved = resolve_with(&program, &stripped.build_id, vec![], stripped.address);
        assert_eq!(chain(&resolved), names, "{options:?}");
        assert_eq!((resolved.problem, resolved.source), (None, NameSource::Symbols));
    }
}

#[test]
fn damaged_mini_debug_info_is_said() {
    let stripped = Stripped::new(false);
    let contents = stripped.directory.path().join("contents");
    let nothing = fs::read("/dev/null").unwrap();
    let cut = {
        run("xz", &["--keep", text(&stripped.debug)]);
        let whole = fs::read(stripped.debug.with_extension("debug.xz")).unwrap();
        whole[..whole.len() / 2].to_vec()
    };
    // A file of zeros packs so well that it could fill the memory.
    let zeros = {
        let file = stripped.directory.path().join("zeros");
        fs::write(&file, vec![0; 64 << 20]).unwrap();
        run("xz", &["-1", text(&file)]);
        fs::read(file.with_extension("xz")).unwrap()
    };
    for (index, bytes) in
        [b"not xz at all, but long enough to be looked at".to_vec(), cut, zeros, nothing].iter().enumerate()
    {
        let program = stripped.directory.path().join(format!("damaged{index}"));
        fs::copy(&stripped.program, &program).unwrap();
        fs::write(&contents, bytes).unwrap();
        add_debug_data(&program, &contents);
        let resolved = resolve_with(&program, &stripped.build_id, vec![], stripped.address);
        assert_eq!(chain(&resolved), [format!("damaged{index}+{:#x}", stripped.start)]);
        assert_eq!(resolved.problem.is_some(), !bytes.is_empty(), "{:?}", resolved.problem);
    }
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

    // Without the second file names are lost, and an error says so.
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
        format!("the file at this path is another one now: build id expected {}, found {found}", "ab".repeat(20))
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
    let start = function_around(&program, probes["internal"]);
    run("strip", &[text(&program)]);
    assert_eq!(frames("exported"), ["shelf::exported(int)"]);
    // The symbols around it have sizes that end before.
    assert_eq!(frames("internal"), [format!("library+{start:#x}")]);
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
