//! Sizes of types by name, from every form of debug information.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::common::*;
use memtoll_symbols::{AddressBook, ModuleFile, Resolver};
use memtoll_trace::meta::Module;

/// What the compiler says: a program's lines of `NAME|SIZE ADDRESS`.
fn true_sizes(program: &Path) -> BTreeMap<String, u64> {
    let lines = run(program, &[]);
    let sizes = lines.lines().filter_map(|line| line.split_once('|'));
    sizes.map(|(name, rest)| (name.to_string(), rest.split(' ').next().unwrap().parse().unwrap())).collect()
}

fn found_sizes(program: &Path, names: &[&str]) -> BTreeMap<String, u64> {
    let names: BTreeSet<String> = names.iter().map(|name| (*name).to_string()).collect();
    let build_id = build_id(program);
    let module = ModuleFile { path: program, build_id: &build_id };
    let resolver = Resolver::with_debug_directories(vec![]);
    resolver.type_sizes(&module, &names).into_iter().collect()
}

fn check(program: &Path, unknown: &[&str]) {
    let mut expected = true_sizes(program);
    let names: Vec<String> = expected.keys().cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(names.len() > 10);
    let found = found_sizes(program, &names);
    expected.retain(|name, _| !unknown.contains(&name.as_str()));
    assert_eq!(found, expected);
}

#[test]
fn cpp_types() {
    let forms: &[&[&str]] = &[
        &["-g"],
        &["-g", "-gdwarf-4"],
        &["-g", "-fdebug-types-section"],
        &["-g", "-gdwarf-4", "-fdebug-types-section"],
        &["-g", "-gz"],
        &["-g", "-gsplit-dwarf"],
        &["-g", "-gsplit-dwarf", "-gdwarf-4"],
    ];
    for form in forms {
        let directory = tempfile::tempdir().unwrap();
        println!("{form:?}");
        // What a `typedef` in a type unit stands for is in another unit, known by a hash only.
        let unknown: &[&str] = if form.contains(&"-fdebug-types-section") { &["Unnamed"] } else { &[] };
        check(&compile_cpp(directory.path(), "types", form), unknown);
    }
}

#[test]
fn rust_types() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("types");
    let source = programs().join("types.rs");
    run("rustc", &["--edition=2024", "-O", "-g", text(&source), "-o", text(&program)]);
    check(&program, &[]);
}

#[test]
fn types_that_are_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_cpp(directory.path(), "types", &["-g"]);
    let absent = ["shop::Declared", "shop::Run", "TextAttributeRun::Item", "shop", "a<", "", "main::X"];
    assert!(found_sizes(&program, &absent).is_empty());
}

#[test]
fn without_debug_information_numbers_and_pointers_are_known() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_cpp(directory.path(), "types", &["-s"]);
    let sizes = found_sizes(&program, &["long", "Unnamed*", "Unnamed"]);
    assert_eq!(sizes, BTreeMap::from([("long".into(), 8), ("Unnamed*".into(), 8)]));
    assert_eq!(found_sizes_of_nothing(), BTreeMap::from([("int".into(), 4)]));
}

fn found_sizes_of_nothing() -> BTreeMap<String, u64> {
    let module = ModuleFile { path: Path::new("/nowhere"), build_id: &[] };
    let names = BTreeSet::from(["int".to_string(), "Unnamed".to_string()]);
    Resolver::new().type_sizes(&module, &names).into_iter().collect()
}

#[test]
fn types_of_single_files_that_differ_have_no_size() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let body = "struct Same { int a[2]; }; Same same; Row row;";
    let one = file(
        "one.cpp",
        &format!("namespace {{ struct Row {{ int a; }}; {body} }} void *f() {{ return sizeof(row) + (char *)&same; }}"),
    );
    let two = file(
        "two.cpp",
        &format!(
            "namespace {{ struct Row {{ int a[3]; }}; {body} }} void *g() {{ return sizeof(row) + (char *)&same; }} int main() {{}}"
        ),
    );
    let program = directory.path().join("two");
    run("g++", &["-g", text(&one), text(&two), "-o", text(&program)]);
    let sizes = found_sizes(&program, &["(anonymous namespace)::Row", "(anonymous namespace)::Same"]);
    assert_eq!(sizes, BTreeMap::from([("(anonymous namespace)::Same".into(), 8)]));
}

#[test]
fn damaged_debug_information_gives_fewer_sizes() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_cpp(directory.path(), "types", &["-g"]);
    let expected = true_sizes(&program);
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    let whole = fs::read(&program).unwrap();
    let damaged = directory.path().join("damaged");
    let mut state = 1u64;
    let mut lost = 0;
    for round in 0..60 {
        let mut bytes = whole.clone();
        for section in [".debug_info", ".debug_abbrev", ".debug_str"] {
            let (start, length) = section_range(&whole, section);
            for _ in 0..=round % 8 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                bytes[start + (state >> 33) as usize % length] = (state >> 24) as u8;
            }
        }
        fs::write(&damaged, bytes).unwrap();
        lost += usize::from(found_sizes(&damaged, &names) != expected);
    }
    assert!(lost > 0, "some damage is seen");
}

fn section_range(bytes: &[u8], name: &str) -> (usize, usize) {
    use object::{Object, ObjectSection};
    let file = object::File::parse(bytes).unwrap();
    let (start, length) = file.section_by_name(name).unwrap().file_range().unwrap();
    (start as usize, length as usize)
}

/// The way of a whole recording: from the addresses of calls in functions of vectors to the sizes of their elements.
#[test]
fn the_address_book_adds_sizes_of_elements() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_cpp(directory.path(), "types", &["-g"]);
    let bytes = fs::read(&program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let addresses: Vec<u64> = {
        use object::{Object, ObjectSymbol};
        let functions = file.symbols().filter(|symbol| symbol.name().is_ok_and(|name| name.starts_with("_Z3use")));
        functions.flat_map(|symbol| symbol.address()..symbol.address() + symbol.size()).collect()
    };
    let module = Module {
        path: text(&program).to_string(),
        build_id: build_id(&program).iter().map(|byte| format!("{byte:02x}")).collect(),
        bias: 0x1000,
        number: 0,
        start: 0,
        end: u64::MAX,
    };
    let mut book = AddressBook::default();
    book.add(&module, addresses.iter().map(|address| address + 0x1000));
    let symbols = book.resolve(&Resolver::new());
    let found: BTreeMap<String, u64> = symbols
        .type_sizes
        .iter()
        .map(|(module, name, size)| {
            assert_eq!(*module, 0);
            (symbols.strings[*name as usize].clone(), *size)
        })
        .collect();
    for (name, size) in true_sizes(&program) {
        assert_eq!(found.get(&name), Some(&size), "{name}");
    }
}
