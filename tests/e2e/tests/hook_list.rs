//! The list of hooks, `recorder/src/hooks/hooks.def`, against the programs: each hooked function is called by one.

use memtoll_e2e::{library, program, program_with, run, workspace};
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn every_hooked_function_is_called_by_a_program() {
    let c23 = library("c23_library.c", &[]);
    let mut nm = Command::new("nm");
    nm.args(["--dynamic", "--undefined-only", "--without-symbol-versions", "--format=posix"]);
    for name in [
        "c_functions.c", "realloc_cases.c", "mappings.c", "operators.cpp", "handover.c", "thread_names.cpp",
        "starts.c", "loads_cxx.c", "other_namespace.c", "loads_own.c", "seccomp.c", "address_space.c", "limits.c",
        "last_state.c",
    ] {
        nm.arg(program(name));
    }
    nm.arg(program_with("c23_program.c", &["-O2", c23.to_str().unwrap()]));
    let outcome = run(nm);
    assert!(outcome.status.success(), "{outcome:?}");
    let mut called: BTreeSet<&str> = outcome.stdout.lines().filter_map(|line| line.split(' ').next()).collect();
    called.insert("cfree"); // by c23_frees.c, which looks it up while it runs

    let list = std::fs::read_to_string(workspace().join("recorder/src/hooks/hooks.def")).unwrap();
    let hooks = list.lines().filter(|line| line.starts_with("EVENT(") || line.starts_with("SILENT("));
    let symbols: Vec<&str> = hooks.map(|line| line.split('"').nth(1).expect("a symbol in quotes")).collect();
    assert!(symbols.len() > 50, "the list was not understood: {symbols:?}");
    let missing: Vec<&&str> = symbols.iter().filter(|symbol| !called.contains(*symbol)).collect();
    assert!(missing.is_empty(), "hooked, but called by no program of these tests: {missing:?}");
}
