//! The C++ compiler compares `recorder/src/wire.hpp` with this side: what differs does not compile.

use super::{CONSTANTS, NUMBERS, Record, STRUCTS};
use memtoll_trace::ids::NodeId;
use std::fmt::Write;
use std::process::Command;

pub struct Struct {
    pub name: &'static str,
    pub bytes: usize,
    pub fields: &'static [Field],
}

pub struct Field {
    pub name: &'static str,
    pub offset: usize,
    pub bytes: usize,
}

pub struct Numbers {
    pub cxx: &'static str,
    pub names: &'static [(&'static str, u64)],
}

/// `REALLOC_FROM` as the recorder has it: `kReallocFrom`.
fn cxx_name(name: &str) -> String {
    let words = name.split('_').map(|word| format!("{}{}", &word[..1], word[1..].to_lowercase()));
    format!("k{}", words.collect::<String>())
}

/// A program that compiles if both sides agree.
fn program(structs: &[Struct], numbers: &[Numbers]) -> String {
    let mut text = String::from("#include \"wire.hpp\"\nusing namespace memtoll::wire;\n");
    for Struct { name, bytes, fields } in structs {
        writeln!(text, "static_assert(sizeof({name}) == {bytes});").unwrap();
        for field in fields.iter().filter(|field| !field.name.starts_with('_')) {
            let Field { offset, bytes, .. } = field;
            let member = field.name.trim_end_matches('_'); // a keyword of Rust
            writeln!(text, "static_assert(__builtin_offsetof({name}, {member}) == {offset});").unwrap();
            writeln!(text, "static_assert(sizeof {name}::{member} == {bytes});").unwrap();
        }
    }
    for (index, Numbers { cxx, names }) in numbers.iter().enumerate() {
        let scope = if *cxx == "Clock" { "Clock" } else { cxx.rsplit_once("::").map_or("", |(outer, _)| outer) };
        // A switch that lacks an enumerator of the recorder's does not compile either.
        writeln!(text, "void numbers{index}({cxx} number) {{ switch (number) {{").unwrap();
        for (name, _) in *names {
            writeln!(text, "case {scope}::{}:", cxx_name(name)).unwrap();
        }
        writeln!(text, "break; }} }}").unwrap();
        for (name, number) in *names {
            let name = cxx_name(name);
            writeln!(text, "static_assert(static_cast<uint64_t>({scope}::{name}) == {number}u);").unwrap();
        }
    }
    for (name, value) in CONSTANTS {
        writeln!(text, "static_assert({} == {value}u);", cxx_name(name)).unwrap();
    }
    text
}

/// Whether the program compiles, and what the compiler says.
fn compile(program: &str) -> (bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("contract.cpp");
    std::fs::write(&file, program).unwrap();
    let recorder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recorder/src");
    let mut command = Command::new("c++");
    command.args(["-std=c++20", "-fsyntax-only", "-Werror=switch", "-Wno-invalid-offsetof", "-I", recorder]);
    let outcome = command.arg(&file).output().unwrap();
    (outcome.status.success(), String::from_utf8_lossy(&outcome.stderr).into_owned())
}

#[test]
fn both_languages_agree_on_every_field_and_number() {
    let (agree, messages) = compile(&program(STRUCTS, NUMBERS));
    assert!(agree, "{messages}");
}

/// The test above can fail.
#[test]
fn swapped_fields_and_missing_numbers_are_noticed() {
    let field = |name, offset| Field { name, offset, bytes: 8 };
    let swapped = vec![field("head", 0), field("size", 8), field("address", 16), field("tail", 24)];
    let (agree, messages) = compile(&program(&[Struct { name: "Record", bytes: 32, fields: Vec::leak(swapped) }], &[]));
    assert!(!agree && messages.contains("size"), "{messages}");
    let numbers = Numbers { cxx: "GuardBits", names: &[("RECORDER_AT_WORK", 1)] };
    let (agree, messages) = compile(&program(&[], &[numbers]));
    assert!(!agree && messages.contains("kCountsAtEnd"), "{messages}");
}

#[test]
fn the_parts_of_a_record_stand_where_the_recorder_puts_them() {
    let record = Record { head: 0x1234_5678_9abc_de85, address: 7, size: 0xabcd_0000_0001_0002, tail: 0x11_0000_0022 };
    assert_eq!((record.kind(), record.ticks()), (0x85, 0x12_3456_789a_bcde));
    assert_eq!((record.bytes(), record.detail()), (0x1_0002, 0xabcd));
    assert_eq!((record.duration(), record.node()), (0x11, NodeId::new(0x22)));
}

/// Roots stand in recordings as they are.
#[test]
fn roots_are_those_of_the_file_format() {
    use super::root;
    use memtoll_trace::nodes;
    assert_eq!(root::ROOT_COMPLETE, nodes::ROOT_COMPLETE.get());
    assert_eq!(root::ROOT_NO_RULE, nodes::ROOT_NO_RULE.get());
    assert_eq!(root::ROOT_TOO_DEEP, nodes::ROOT_TOO_DEEP.get());
    assert_eq!(root::ROOT_BAD_FRAME, nodes::ROOT_BAD_FRAME.get());
    assert_eq!(root::ROOT_TREE_FULL, nodes::ROOT_TREE_FULL.get());
}
