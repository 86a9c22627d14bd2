//! Stacks through code without unwind tables, up to the program's entry: what runtimes compile, with the names of their perf maps, and
//! Go's.

use memtoll_e2e::{Recording, Target, scratch, source};
use std::process::Command;

/// Stacks with all of these words in this order, and how many calls have them.
fn calls(recording: &Recording, words: &[&str]) -> u64 {
    let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
    let has = |stack: &str| {
        let mut rest = stack;
        words.iter().all(|word| rest.split_once(word).inspect(|(_, behind)| rest = behind).is_some())
    };
    let of = collapsed.lines().filter_map(|line| line.rsplit_once(' ')).filter(|(stack, _)| has(stack));
    of.map(|(_, calls)| calls.parse::<u64>().unwrap()).sum()
}

/// Runtimes leave their maps.
fn remove_maps(recording: &Recording) {
    for process in &recording.report_with(&[]).processes {
        let _ = std::fs::remove_file(format!("/tmp/perf-{}.map", process.pid));
    }
}

#[test]
fn java_with_frame_pointers_has_stacks_to_the_thread() {
    let classes = scratch();
    let status = Command::new("javac").arg("-d").arg(classes.path()).arg(source("Inflates.java")).status();
    assert!(status.expect("javac: install openjdk-17-jdk-headless").success());
    let options = [
        "-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions", "-XX:+DumpPerfMapAtExit", "-Xbatch",
        "-XX:TieredStopAtLevel=1", "-Xmx64m", "-cp",
    ];
    let recording = Target::new("java").args(options).arg(classes.path()).arg("Inflates").record();
    let report = recording.report_with(&[]);
    assert!(report.totals.cut_off * 1000 <= report.totals.events, "{:?}", report.totals);
    // Inflates.main was interpreted, and so were the first calls of the others.
    let all = calls(&recording, &["Java_java_util_zip_Inflater_init", "inflateInit2_"]);
    let of_main = ["clone3;", "JavaMain;", ";Interpreter;", "Java_java_util_zip_Inflater_init;", "inflateInit2_"];
    assert_eq!((all, calls(&recording, &of_main)), (20_000, 20_000));
    let named = ["JavaMain;", "Inflates.outer;Inflates.outer;", "java.util.zip.Inflater.<init>;", "inflateInit2_"];
    let named = calls(&recording, &named);
    assert!(named > 15_000, "{named} of {all} have names");
    assert!(recording.text(&["--tree"]).contains("Inflates.outer (generated code, no unwind tables)"));
    remove_maps(&recording);
}

#[test]
fn node_with_native_frames_has_stacks_to_main_with_lines() {
    /// Four calls for each of the hashes of hashes.js.
    const HASHED: u64 = 4 * 5000;
    let options = ["--perf-basic-prof", "--interpreted-frames-native-stack"];
    let recording = Target::new("node").args(options).arg(source("hashes.js")).record();
    let report = recording.report_with(&[]);
    assert!(report.totals.cut_off * 1000 <= report.totals.events, "{:?}", report.totals);
    // Optimized code has what descend calls inlined, from some round on.
    let deep = ["node::Start", "descend;descend;descend;descend;", "node::crypto::Hash::New"];
    let named = calls(&recording, &deep);
    assert!(named >= HASHED, "{named}");
    assert!(calls(&recording, &["_start;", "node::Start", ";get all done;digest;"]) > 0);
    let tree = recording.text(&["--tree", "--min-percent", "0"]);
    for place in ["descend (hashes.js:12, no unwind tables)", "get all done (hashes.js:9, no unwind tables)"] {
        assert!(tree.contains(place), "{place}: {tree}");
    }
    remove_maps(&recording);
    let recording = Target::new("node").args(options).arg("--no-opt").arg(source("hashes.js")).record();
    let deep = ["node::Start", "descend;descend;descend;descend;digest;createHash;", "node::crypto::Hash::New"];
    let named = calls(&recording, &deep);
    assert!(named >= HASHED, "{named}");
    remove_maps(&recording);
}

/// Go calls C on another stack than the goroutine's.
#[test]
fn stacks_cross_the_border_from_c_to_goroutines() {
    let folder = scratch();
    let program = folder.path().join("cgo");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(source("cgo.go")).env("CGO_ENABLED", "1");
    assert!(build.status().expect("go: install golang-go").success());
    let recording = Target::new(&program).record();
    let grab = ["_Cfunc_grab;grab"];
    let of_main = ["runtime.main;", "main.main;main.outer;main.inner;", "runtime.asmcgocall;", "_Cfunc_grab;grab"];
    let grown = "main.grown;".repeat(21);
    let of_other = ["main.main.func1;", &grown, "main.outer;main.inner;", "runtime.asmcgocall;", "_Cfunc_grab;grab"];
    let of_other = calls(&recording, &of_other);
    assert_eq!((calls(&recording, &grab), calls(&recording, &of_main), of_other), (1500, 1000, 500));
}
