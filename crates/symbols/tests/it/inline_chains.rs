//! Inlined functions and lines, from every form of debug information.

use std::path::Path;

use crate::common::*;
use memtoll_symbols::{ModuleFile, Resolver};

fn check_add_chain(program: &Path) {
    let resolved = resolve(program, probes(program)["add"]);
    assert_eq!(chain(&resolved), add_chain());
    assert_eq!(resolved.problem, None);
    assert!(resolved.has_lines);
}

#[test]
fn dwarf_5_and_4() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let directory = tempfile::tempdir().unwrap();
        check_add_chain(&compile_shop(directory.path(), &["-g", version]));
    }
}

#[test]
fn without_address_table() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    run("objcopy", &["--remove-section=.debug_aranges", text(&program)]);
    check_add_chain(&program);
}

#[test]
fn compressed_sections() {
    for form in ["zlib", "zlib-gnu", "zstd"] {
        let directory = tempfile::tempdir().unwrap();
        let program = compile_shop(directory.path(), &["-g"]);
        let option = format!("--compress-debug-sections={form}");
        run("objcopy", &[&option, text(&program)]);
        check_add_chain(&program);
    }
}

#[test]
fn split_debug_information() {
    for version in ["-gdwarf-5", "-gdwarf-4"] {
        let directory = tempfile::tempdir().unwrap();
        let program = compile_shop(directory.path(), &["-g", "-gsplit-dwarf", version]);
        check_add_chain(&program);

        // Lost: the function and the line are still known, the inlined functions are not.
        std::fs::remove_file(dwo_file(directory.path())).unwrap();
        let resolved = resolve(&program, probes(&program)["add"]);
        assert_eq!(chain(&resolved), [shop("shop::sell(int)", "add:probe")]);
    }
}

#[test]
fn packed_split_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    // The `dwp` of binutils crashes on DWARF 5.
    let options = ["-g", "-gsplit-dwarf", "-gdwarf-4"];
    let program = compile_shop(directory.path(), &options);
    let package = directory.path().join("shop.dwp");
    run("dwp", &["-e", text(&program), "-o", text(&package)]);
    std::fs::remove_file(dwo_file(directory.path())).unwrap();
    check_add_chain(&program);
}

#[test]
fn split_debug_information_beside_a_moved_program() {
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("made");
    let moved = directory.path().join("moved");
    std::fs::create_dir(&made).unwrap();
    compile_shop(&made, &["-g", "-gsplit-dwarf"]);
    std::fs::rename(&made, &moved).unwrap();
    check_add_chain(&moved.join("shop"));
}

#[test]
fn functions_without_a_linkage_name() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let probes = probes(&program);
    let frames = |name: &str| chain(&resolve(&program, probes[name]));
    assert_eq!(frames("plain"), [shop("plain_c", "plain:probe")]);
    assert_eq!(frames("hidden"), [shop("(anonymous namespace)::hidden()", "hidden:probe")]);
    assert_eq!(
        frames("hidden_inline"),
        [shop("(anonymous namespace)::hidden_inline", "hidden_inline:probe"), shop("main", "main:hidden_inline")]
    );
    assert_eq!(frames("lambda"), [shop("main::{lambda}::operator()", "lambda:probe"), shop("main", "main:lambda")]);
}

#[test]
fn rust() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("crate");
    let source = programs().join("crate.rs");
    // Names in the older mangling, which cannot be asked for in a stable compiler, are tested with `demangle`.
    let options = ["--edition=2024", "-O", "-g", "-Csymbol-mangling-version=v0"];
    let files = [text(&source), "-o", text(&program)];
    run("rustc", &[&options[..], &files[..]].concat());
    let resolved = resolve(&program, probes(&program)["sell"]);
    let line = |marker| line_of("crate.rs", marker);
    assert_eq!(
        chain(&resolved),
        [
            format!("crate::here crate.rs:{}", line("here:asm")),
            format!("<crate::shop::Cart<u32>>::add crate.rs:{}", line("add:here")),
            format!("crate::sell crate.rs:{}", line("sell:add")),
        ]
    );
}

#[test]
fn answers_come_in_the_order_asked() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let probes = probes(&program);
    let asked = [probes["lambda"], u64::MAX, probes["add"], 0, probes["lambda"], probes["plain"]];
    let build_id = build_id(&program);
    let module = ModuleFile { path: &program, build_id: &build_id };
    let resolver = Resolver::with_debug_directories(vec![]);
    let resolved = resolver.resolve(&module, &asked);
    assert_eq!(resolved.frames.len(), asked.len());
    for (address, frames) in asked.iter().zip(&resolved.frames) {
        assert_eq!(resolver.resolve(&module, &[*address]).frames[0], *frames);
    }
    assert_eq!(resolved.frames[1][0].function, "shop+0xffffffffffffffff");
    assert_eq!(resolved.frames[3][0].function, "shop+0x0");
    assert!(resolver.resolve(&module, &[]).frames.is_empty());
}
