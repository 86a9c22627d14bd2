//! Code that comes and goes while the program runs.

use memtoll_e2e::{Recording, Report, Target, install, is_root, library, program, program_with, run, scratch};
use serde_json::Value;
use std::path::Path;

#[test]
fn two_libraries_take_turns_at_the_same_address() {
    let (a, b) = (library("plugin.c", &["-DPLUGIN_A"]), library("plugin.c", &["-DPLUGIN_B"]));
    let recording = Target::new(program("take_turns.c")).arg(&a).arg(&b).record();
    assert_eq!(recording.outcome.stdout, "the same address\n", "this test proves nothing unless they meet");
    let report = recording.report();
    report.expect_new_blocks(&[("plugin_a_work", 200 * 3), ("plugin_b_work", 200 * 5)]);
    assert_eq!(report.function("plugin_a_work").bytes, 200 * 3 * 30);
    assert_eq!(report.function("plugin_b_work").bytes, 200 * 5 * 50);
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
    let report = Target::new(memtoll_processor::HERE.loader).arg(&program).record().report();
    report.expect_new_blocks(&[("small_ones", 300), ("middle_ones", 100), ("large_ones", 10)]);
    for site in &report.sites {
        assert_eq!(site.module.as_deref(), program.to_str(), "{site:?}");
        assert!(site.file.as_deref().unwrap_or_default().ends_with("sizes.c"), "{site:?}");
    }
}

#[test]
fn a_c_program_may_get_to_know_cxx_late() {
    let plugin = library("plugin_cxx.cpp", &[]);
    let report = Target::new(program("loads_cxx.c")).arg(&plugin).record().report_with(&[]);
    report.expect_new_blocks(&[("global_begin", 3 * 7), ("global_end", 3 * 9), ("fill", 3 * 10 * 5)]);
    for function in ["global_begin", "global_end", "fill"] {
        assert_eq!((function, report.function(function).live_blocks), (function, 0));
    }
    // Destructors of a library are reached through __do_global_dtors_aux, which gcc makes without unwinding information.
    assert!(report.totals.cut_off <= 2 * 3 * 9, "{:?}", report.totals);
}

/// A program with operators of its own has the tables of each new library patched, once it is loaded. Loading what is there
/// already, or nowhere, must not make the recorder look for it, and forget all it knows, at every event from then on.
#[test]
fn a_program_with_its_own_operators_may_load_libraries() {
    let plugin = library("plugin_cxx.cpp", &[]);
    let recording = Target::new(program_with("loads_much.cpp", &["-O2", "-rdynamic"])).arg(&plugin).record();
    assert_eq!(recording.outcome.stdout, "caught 10\nnowhere 1\nhere 1\n");
    let report = recording.report_with(&[]);
    report.expect_new_blocks(&[("global_begin", 7), ("global_end", 9), ("fill", 10 * 5), ("often", 3 * 10_000)]);
    assert!(report.recorder.stack_walks < 2_000, "{:?}", report.recorder);
}

#[test]
fn another_namespace_is_recorded() {
    let plugin = library("plugin.c", &["-DPLUGIN_A"]);
    let report = Target::new(program("other_namespace.c")).arg(&plugin).record().report();
    report.expect_new_blocks(&[("own_work", 20), ("plugin_a_work", 3)]);
}

const NO_BUILD_ID: &str = "-Wl,--build-id=none";

/// Records `gone.c` in a directory of its own. The sites of the plugins, and what the recording says of its files.
fn gone(way: &str, a: &Path, b: &Path) -> (Report, Vec<Value>) {
    let directory = scratch();
    let own = directory.path().join("gone");
    install(&program("gone.c"), &own);
    let target = Target::new(&own).arg(way).arg(a).arg(b);
    let file = directory.path().join("run.memtoll");
    let mut command = target.record_command(&file);
    command.current_dir(directory.path());
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let recording = Recording::of(outcome, file, directory);
    let json: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let of_plugins = |module: &&Value| {
        let path = module["path"].as_str().unwrap_or_default();
        path.contains("unpacked") || path.contains("gone")
    };
    let modules = json["modules"].as_array().unwrap().iter().filter(of_plugins).cloned().collect();
    (recording.report(), modules)
}

/// These functions have lines of their source, and nobody complains.
fn has_lines(report: &Report, modules: &[Value], functions: &[&str]) {
    for function in functions {
        let sites: Vec<_> = report.sites.iter().filter(|site| site.is_in(function)).collect();
        assert!(!sites.is_empty(), "{function}: {}", report.listing());
        assert!(sites.iter().all(|site| site.line.is_some()), "{sites:?}");
    }
    for module in modules {
        assert_eq!((&module["names"], &module["problem"]), (&"debug_info".into(), &Value::Null), "{module}");
    }
}

#[test]
fn a_library_that_is_deleted_once_it_is_loaded_has_names() {
    for flags in [&["-DPLUGIN_A"][..], &["-DPLUGIN_A", NO_BUILD_ID]] {
        let a = library("plugin.c", flags);
        for way in ["unlink", "memfd"] {
            let (report, modules) = gone(way, &a, &a);
            assert_eq!(report.new_blocks("plugin_a_work"), 3, "{way}: {}", report.listing());
            has_lines(&report, &modules, &["plugin_a_work"]);
        }
    }
}

#[test]
fn two_libraries_of_one_path_are_told_apart() {
    for id in ["-Wl,--build-id", NO_BUILD_ID] {
        let (a, b) = (library("plugin.c", &["-DPLUGIN_A", id]), library("plugin.c", &["-DPLUGIN_B", id]));
        let (report, modules) = gone("replace", &a, &b);
        report.expect_new_blocks(&[("plugin_a_work", 3), ("plugin_b_work", 5)]);
        has_lines(&report, &modules, &["plugin_a_work", "plugin_b_work"]);
        // The same functions, built in another way.
        let again = library("plugin.c", &["-DPLUGIN_A", "-fno-omit-frame-pointer", "-fcf-protection=none", id]);
        let (report, modules) = gone("replace", &a, &again);
        let of_library = |module: &&Value| module["path"].as_str().unwrap_or_default().contains("/unpacked.so");
        assert_eq!(modules.iter().filter(of_library).count(), 2, "{modules:?}");
        has_lines(&report, &modules, &["plugin_a_work"]);
        let sites: Vec<_> = report.sites.iter().filter(|site| site.is_in("plugin_a_work")).collect();
        assert_eq!(sites.iter().map(|site| site.metrics.new_blocks).collect::<Vec<_>>(), [3, 3], "{sites:?}");
        assert_ne!(sites[0].module, sites[1].module);
    }
}

#[test]
fn an_executable_that_deletes_itself_has_names() {
    let a = library("plugin.c", &["-DPLUGIN_A"]);
    let (report, modules) = gone("self", &a, &a);
    assert_eq!(report.new_blocks("own_block"), 1);
    has_lines(&report, &modules, &["own_block"]);
}

#[test]
fn files_that_only_the_program_can_see_have_names() {
    let directory = scratch();
    // In a mount namespace of its own, which is gone when the program has ended. Nobody holds the file system meanwhile.
    let script = "mount -t tmpfs none \"$1\" && cp \"$2\" \"$1/hidden\" && \"$1/hidden\" && umount \"$1\"";
    let users: &[&str] = if is_root() { &[] } else { &["-r"] };
    let sizes = program("sizes.c");
    let target = Target::new("unshare").arg("-m").args(users).args(["sh", "-c", script, "sh"]);
    let report = target.arg(directory.path()).arg(&sizes).record().report_with(&[]);
    report.expect_new_blocks(&[("small_ones", 300), ("middle_ones", 100), ("large_ones", 10)]);
    assert!(report.sites.iter().filter(|site| site.is_in("small_ones")).all(|site| site.line.is_some()));
}
