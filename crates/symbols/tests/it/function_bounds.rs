//! Functions that nothing names are known by where they begin, which the unwinding rules tell.

use crate::common::*;
use memtoll_symbols::{ModuleFile, Resolver};
use std::path::{Path, PathBuf};

fn program(folder: &Path, options: &[&str]) -> PathBuf {
    let (source, program) = (programs().join("bounds.c"), folder.join("bounds"));
    let common = ["-O1", "-falign-functions=32", "-fno-toplevel-reorder", text(&source), "-o", text(&program)];
    run("gcc", &[options, &common].concat());
    program
}

fn names(program: &Path, addresses: &[u64]) -> Vec<String> {
    let module = ModuleFile { path: program, build_id: &build_id(program) };
    let resolved = Resolver::with_debug_directories(vec![]).resolve(&module, addresses);
    resolved.frames.into_iter().map(|mut chain| chain.remove(0).function).collect()
}

#[test]
fn all_addresses_of_a_stripped_function_have_the_name_of_its_first() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), &[]);
    let [before, after] = ["before", "after"].map(|name| function(&program, name));
    run("strip", &[text(&program)]);
    let of = |start: u64| format!("bounds+{start:#x}");
    let asked = [before.start, before.end - 1, after.start, after.start + 4, after.end - 1];
    let told = [before.start, before.start, after.start, after.start, after.start].map(of);
    assert_eq!(names(&program, &asked), told);
    assert_eq!(names(&program, &[1]), [of(1)], "no code");
}

/// OCaml exports where the code of each file ends, and C's code comes next.
#[test]
fn a_label_names_no_function_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), &["-rdynamic"]);
    let after = function(&program, "after");
    run("strip", &[text(&program)]);
    assert_eq!(names(&program, &[after.end - 1]), [format!("bounds+{:#x}", after.start)]);
}

#[test]
fn without_unwinding_rules_each_address_has_a_name_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let program = program(folder.path(), &["-fno-asynchronous-unwind-tables", "-fno-exceptions"]);
    let after = function(&program, "after");
    run("strip", &[text(&program)]);
    assert_eq!(names(&program, &[after.start + 4]), [format!("bounds+{:#x}", after.start + 4)]);
}
