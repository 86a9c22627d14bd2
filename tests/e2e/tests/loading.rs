//! Code that comes and goes while the program runs.

use memtoll_e2e::{Target, library, program, program_with};

#[test]
fn two_libraries_take_turns_at_the_same_address() {
    let (a, b) = (library("plugin.c", &["-DPLUGIN_A"]), library("plugin.c", &["-DPLUGIN_B"]));
    let recording = Target::new(program("take_turns.c")).arg(&a).arg(&b).record();
    assert_eq!(recording.outcome.stdout, "the same address\n", "this test proves nothing unless they meet");
    let report = recording.report();
    report.expect_allocations(&[("plugin_a_work", 200 * 3), ("plugin_b_work", 200 * 5)]);
    assert_eq!(report.function("plugin_a_work").bytes_allocated, 200 * 3 * 30);
    assert_eq!(report.function("plugin_b_work").bytes_allocated, 200 * 5 * 50);
    for (function, library) in [("plugin_a_work", &a), ("plugin_b_work", &b)] {
        let name = library.file_name().unwrap().to_str().unwrap();
        for site in report.sites.iter().filter(|site| site.is_in(function)) {
            assert!(site.module.as_deref().unwrap_or_default().ends_with(name), "{site:?}");
            assert!(site.file.as_deref().unwrap_or_default().ends_with("plugin.c"), "{site:?}");
        }
    }
}

#[test]
fn a_program_that_the_loader_was_asked_to_run_has_names() {
    let program = program("sizes.c");
    let report = Target::new("/lib64/ld-linux-x86-64.so.2").arg(&program).record().report();
    report.expect_allocations(&[("small_ones", 300), ("middle_ones", 100), ("large_ones", 10)]);
    for site in &report.sites {
        assert_eq!(site.module.as_deref(), program.to_str(), "{site:?}");
        assert!(site.file.as_deref().unwrap_or_default().ends_with("sizes.c"), "{site:?}");
    }
}

#[test]
fn a_c_program_may_get_to_know_cxx_late() {
    let plugin = library("plugin_cxx.cpp", &[]);
    let report = Target::new(program("loads_cxx.c")).arg(&plugin).record().report_with(&[]);
    report.expect_allocations(&[("global_begin", 3 * 7), ("global_end", 3 * 9), ("fill", 3 * 10 * 5)]);
    for function in ["global_begin", "global_end", "fill"] {
        assert_eq!((function, report.function(function).live_allocations_at_end), (function, 0));
    }
    // Destructors of a library are reached through __do_global_dtors_aux, which gcc makes without unwinding information.
    assert!(report.totals.truncated_stacks <= 2 * 3 * 9, "{:?}", report.totals);
}

/// A program with operators of its own has the tables of each new library patched, once it is loaded. Loading what is there
/// already, or nowhere, must not make the recorder look for it, and forget all it knows, at every event from then on.
#[test]
fn a_program_with_its_own_operators_may_load_libraries() {
    let plugin = library("plugin_cxx.cpp", &[]);
    let recording = Target::new(program_with("loads_much.cpp", &["-O2", "-rdynamic"])).arg(&plugin).record();
    assert_eq!(recording.outcome.stdout, "caught 10\nnowhere 1\nhere 1\n");
    let report = recording.report_with(&[]);
    report.expect_allocations(&[("global_begin", 7), ("global_end", 9), ("fill", 10 * 5), ("often", 3 * 10_000)]);
    assert!(report.recorder.stack_walks < 2_000, "{:?}", report.recorder);
}

#[test]
fn another_namespace_is_left_alone() {
    let plugin = library("plugin.c", &["-DPLUGIN_A"]);
    let report = Target::new(program("other_namespace.c")).arg(&plugin).record().report();
    report.expect_allocations(&[("own_work", 20), ("plugin_a_work", 0)]);
}
