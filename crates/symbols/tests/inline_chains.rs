//! Inlined functions and lines, from every form of debug information.

mod common;

use std::path::Path;

use common::*;
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
    run(
        "objcopy",
        &["--remove-section=.debug_aranges", text(&program)],
    );
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
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g", "-gsplit-dwarf"]);
    let dwo = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "dwo"))
        .expect("the compiler wrote a .dwo file");
    check_add_chain(&program);

    // Packed into one file.
    let package = directory.path().join("shop.dwp");
    run("dwp", &["-e", text(&program), "-o", text(&package)]);
    std::fs::remove_file(&dwo).unwrap();
    check_add_chain(&program);

    // Lost: the function and the line are still known, the inlined functions are not.
    std::fs::remove_file(&package).unwrap();
    let resolved = resolve(&program, probes(&program)["add"]);
    assert_eq!(chain(&resolved), [shop("shop::sell(int)", "add:probe")]);
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
    assert_eq!(
        frames("hidden"),
        [shop("(anonymous namespace)::hidden()", "hidden:probe")]
    );
    assert_eq!(
        frames("hidden_inline"),
        [
            shop(
                "(anonymous namespace)::hidden_inline",
                "hidden_inline:probe"
            ),
            shop("main", "main:hidden_inline")
        ]
    );
    assert_eq!(
        frames("lambda"),
        [
            shop("main::{lambda}::operator()", "lambda:probe"),
            shop("main", "main:lambda")
        ]
    );
}

#[test]
fn rust() {
    for mangling in ["legacy", "v0"] {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("crate");
        let source = programs().join("crate.rs");
        let option = format!("-Csymbol-mangling-version={mangling}");
        run(
            "rustc",
            &[
                "--edition=2024",
                "-O",
                "-g",
                &option,
                text(&source),
                "-o",
                text(&program),
            ],
        );
        let resolved = resolve(&program, probes(&program)["sell"]);
        let frames = chain(&resolved);
        let line = |marker| line_of("crate.rs", marker);
        let cart = match mangling {
            // The older mangling leaves out what generic parameters stand for.
            "legacy" => "crate::shop::Cart<T>::add",
            _ => "<crate::shop::Cart<u32>>::add",
        };
        assert_eq!(
            frames,
            [
                format!("crate::here crate.rs:{}", line("here:asm")),
                format!("{cart} crate.rs:{}", line("add:here")),
                format!("crate::sell crate.rs:{}", line("sell:add")),
            ]
        );
    }
}

#[test]
fn answers_come_in_the_order_asked() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let probes = probes(&program);
    let asked = [
        probes["lambda"],
        u64::MAX,
        probes["add"],
        0,
        probes["lambda"],
        probes["plain"],
    ];
    let build_id = build_id(&program);
    let module = ModuleFile {
        path: &program,
        build_id: &build_id,
    };
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
