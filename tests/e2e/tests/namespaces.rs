//! Plugins whose calls the loader binds past the recorder: opened with RTLD_DEEPBIND, or in namespaces of their own.

use memtoll_e2e::{Recording, Report, Target, library, program, scratch};
use std::path::Path;

const KINDS: [&str; 5] = ["by_malloc", "by_calloc", "by_realloc", "by_alignment", "by_strdup"];

/// Records the program, which has to do the same without the recorder.
fn recorded(how: &str, plugin: &Path, times: u64) -> (Recording, Report) {
    let target = Target::new(program("own_space.c")).arg(how).arg(plugin).arg(times.to_string());
    let target = target.env("LD_LIBRARY_PATH", plugin.parent().unwrap_or(Path::new("")));
    let recording = target.record();
    assert_eq!(recording.outcome.stdout, "fine\n", "{how}: {:?}", recording.outcome);
    assert_eq!(recording.outcome.status.code(), Some(0), "{how}: {:?}", recording.outcome);
    // Destructors are called by code without unwinding information.
    let report = recording.report_with(&["--wrappers"]);
    (recording, report)
}

/// What the plugin in C did, `times`.
#[track_caller]
fn expect_work(how: &str, report: &Report, times: u64) {
    for kind in KINDS {
        let of = report.function(kind);
        let reallocations = if kind == "by_realloc" { 60 * times } else { 0 };
        assert_eq!(
            (of.new_blocks, of.reallocations, of.frees, of.live_blocks),
            (60 * times, reallocations, 50 * times, 10 * times),
            "{how}: {kind}; sites:\n{}",
            report.listing()
        );
    }
    assert!(report.missing.is_empty(), "{how}: {:?}", report.missing);
    assert_eq!(report.totals.cut_off, 0, "{how}; sites:\n{}", report.listing());
}

#[test]
fn with_deep_binding() {
    let plugin = library("space_plugin.c", &[]);
    let lazy = library("space_plugin.c", &["-Wl,-z,lazy"]);
    let now = library("space_plugin.c", &["-Wl,-z,now", "-Wl,-z,relro"]);
    for (how, plugin) in [("local", &plugin), ("deep", &plugin), ("deep", &now), ("lazy", &lazy)] {
        let (recording, report) = recorded(how, plugin, 1);
        let outcome = &recording.outcome;
        expect_work(how, &report, 1);
        assert!(outcome.stderr_lines_with(&["constructors"]).is_empty(), "{outcome:?}");
    }
    // Without a path, the caller decides where to look: the loader is not called but jumped to.
    let name = Path::new(lazy.file_name().unwrap());
    let target = Target::new(program("own_space.c")).arg("name").arg(name);
    let recording = target.env("LD_LIBRARY_PATH", lazy.parent().unwrap()).record();
    assert_eq!(recording.outcome.stdout, "fine\n", "{:?}", recording.outcome);
    expect_work("name", &recording.report(), 1);
}

#[test]
fn in_a_namespace() {
    for options in [&["-Wl,-z,lazy"][..], &["-Wl,-z,now"]] {
        let plugin = library("space_plugin.c", options);
        expect_work("space", &recorded("space", &plugin, 1).1, 1);
        expect_work("threads", &recorded("threads", &plugin, 1).1, 4);
    }
}

/// Each has a heap of its own. (glibc has room for the thread-local storage of 11.)
#[test]
fn in_many_namespaces() {
    let plugin = library("space_plugin.c", &[]);
    expect_work("spaces", &recorded("spaces", &plugin, 9).1, 9);
    expect_work("again", &recorded("again", &plugin, 40).1, 40);
}

#[test]
fn in_a_forked_child() {
    let plugin = library("space_plugin.c", &[]);
    let (_, report) = recorded("fork", &plugin, 1);
    expect_work("fork", &report, 1);
    assert_eq!(report.processes.len(), 2);
}

/// The C++ library comes into the namespace, too. What the plugin's constructor allocates is there before the recorder looks: that is said.
#[test]
fn in_cxx() {
    let plugin = library("space_plugin.cpp", &[]);
    for how in ["deep", "space"] {
        let (recording, report) = recorded(how, &plugin, 1);
        let outcome = &recording.outcome;
        for kind in ["by_new", "by_new_array"] {
            let of = report.function(kind);
            assert_eq!((of.new_blocks, of.frees, of.live_blocks), (60, 50, 10), "{how}: {kind}\n{}", report.listing());
        }
        let thrown = report.function("by_exception");
        // Operator new has made the exceptions, so that only their frees are calls of their own.
        assert_eq!((thrown.new_blocks, thrown.frees, thrown.live_blocks), (5, 5 + 5, 0), "{how}\n{}", report.listing());
        let said = outcome.stderr_lines_with(&["what constructors of ", "space_plugin"]);
        assert_eq!(said.len(), 1, "{how}: {outcome:?}");
    }
}

/// The loader appends to its lists, and takes from them, while others are looked through; what one thread loads is not relocated yet
/// when another one looks.
#[test]
fn by_threads_at_the_same_time() {
    let folder = scratch();
    let plugin = library("space_plugin.c", &["-Wl,-z,relro"]);
    let copies = folder.path().join("plugin");
    for number in 0..8 {
        std::fs::copy(&plugin, format!("{}{number}", copies.display())).unwrap();
    }
    let (_, report) = recorded("storm", &copies, 60);
    // Each copy is a file of its own.
    expect_work("storm", &report, 8 * 60);
}

/// By its own C library's dlopen, which comes through the recorder as well.
#[test]
fn plugins_of_plugins() {
    let (inner, outer) = (library("space_plugin.c", &[]), library("opening_plugin.c", &[]));
    for how in ["local", "deep", "space"] {
        let target = Target::new(program("own_space.c")).arg(how).arg(&outer).env("OPENS", &inner);
        let recording = target.record();
        assert_eq!(recording.outcome.stdout, "fine\n", "{how}: {:?}", recording.outcome);
        let report = recording.report();
        expect_work(how, &report, 1);
        let own = report.sites.iter().find(|site| site.is_in("plugin_work") && site.line == Some(8)).unwrap();
        assert_eq!((own.metrics.new_blocks, own.metrics.frees), (1, 1), "{how}\n{}", report.listing());
    }
}
