//! Stacks that do not simply grow and shrink. Every stack must be complete, and every block on the right function.

use memtoll_e2e::{Target, program, program_with};

const LEVELS: [&[&str]; 4] = [&["-O0"], &["-O2"], &["-O3"], &["-O2", "-fno-omit-frame-pointer"]];

#[test]
fn exceptions_through_twenty_frames() {
    for flags in LEVELS {
        let report = Target::new(program_with("exceptions.cpp", flags)).record().report();
        report.expect_new_blocks(&[("held", 10_000), ("after_catch", 1000)]);
        // And for each exception itself and its message; libstdc++'s reserve.
        assert_eq!(report.totals.metrics.new_blocks, 11_000 + 2 * 500 + 1);
        assert_eq!(report.function("held").live_blocks, 0);
    }
}

#[test]
fn longjmp_over_frames_that_allocated() {
    for flags in LEVELS {
        let report = Target::new(program_with("longjmp.c", flags)).record().report();
        report.expect_new_blocks(&[("deep", 3000), ("deep_leaf", 300), ("other_leaf", 300)]);
        assert_eq!(report.totals.metrics.new_blocks, 3600);
    }
}

#[test]
fn longjmp_out_of_a_signal_handler() {
    let report = Target::new(program("longjmp_from_signal.c")).record().report();
    report.expect_new_blocks(&[("handler_work", 200), ("main_work", 400)]);
    assert_eq!(report.totals.metrics.new_blocks, 600);
}

#[test]
fn fibers_on_stacks_of_their_own() {
    for flags in LEVELS {
        let report = Target::new(program_with("fibers.c", flags)).record().report();
        report.expect_new_blocks(&[("first_work", 999), ("second_work", 999), ("main_work", 500)]);
        assert_eq!(report.totals.metrics.new_blocks, 2499);
    }
}

#[test]
fn fibers_are_shown_below_their_entries() {
    let recording = Target::new(program("fibers.c")).record();
    let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
    let of = |function: &str| -> Vec<&str> { collapsed.lines().filter(|line| line.contains(function)).collect() };
    assert!(!of("first_work").is_empty() && !of("second_work").is_empty(), "{collapsed}");
    assert!(
        of("first_work").iter().all(|line| line.contains("first_inner") && !line.contains("second")),
        "{collapsed}"
    );
    assert!(of("second_work").iter().all(|line| line.contains("second;") && !line.contains("first")), "{collapsed}");
}

#[test]
fn a_fiber_that_begins_in_assembly_has_whole_stacks() {
    let recording = Target::new(program("fiber_begins.c")).record();
    recording.report().expect_new_blocks(&[("fiber_work", 100)]);
    let text = recording.text(&[]);
    assert!(!text.contains("cut off"), "{text}");
}

#[test]
fn coroutines() {
    let source = std::fs::read_to_string(memtoll_e2e::source("coroutines.cpp")).unwrap();
    let told = 1 + source.lines().position(|line| line.contains("Generator numbers(")).unwrap() as u64;
    // Clang 14 has coroutines, but does not tell the standard library.
    let clang = ["clang++", "-D__cpp_impl_coroutine=201902L"];
    let of_clang = LEVELS.iter().map(|flags| [&clang[..], flags].concat());
    for flags in LEVELS.iter().map(|flags| flags.to_vec()).chain(of_clang) {
        let report = Target::new(program_with("coroutines.cpp", &flags)).record().report();
        report.expect_new_blocks(&[("payload", 700), ("numbers", 100)]);
        let frame = report.sites.iter().find(|site| site.is_in("numbers")).unwrap();
        assert_eq!(frame.line, Some(told), "{flags:?}: {frame:?}");
        // The frames of the coroutines; libstdc++'s reserve.
        assert_eq!(report.totals.metrics.new_blocks, 700 + 100 + 1);
    }
}

#[test]
fn handlers_on_an_alternate_stack() {
    for flags in LEVELS {
        let report = Target::new(program_with("signal_stack.c", flags)).record().report();
        report.expect_new_blocks(&[("on_alternate", 200), ("on_own", 200), ("between", 1000)]);
        assert_eq!(report.totals.metrics.new_blocks, 1400);
    }
}

#[test]
fn a_handler_may_interrupt_the_recorder_itself() {
    let recording = Target::new(program("alarm.c")).record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    let line = recording.outcome.stderr_lines_with(&["alarms", "calls"]).concat();
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [alarms, calls] = numbers[..] else { panic!("{:?}", recording.outcome) };
    let report = recording.report();
    report.expect_new_blocks(&[("on_alarm", alarms)]);
    assert_eq!(report.function("spin").null_frees, calls);
    assert_eq!(report.totals.metrics.live_blocks, 0);
}

#[test]
fn frames_of_variable_size_realigned_and_large() {
    for flags in LEVELS {
        let report = Target::new(program_with("frames.cpp", flags)).record().report_with(&["--wrappers"]);
        report.expect_new_blocks(&[
            ("leaf", 2510),
            ("variable", 2500),
            ("realigned", 2000),
            ("both", 1000),
            ("large", 100),
            ("recursive", 30),
        ]);
    }
}

#[test]
fn realigned_frames_have_their_callers() {
    let recording = Target::new(program("frames.cpp")).record();
    let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
    let through_all = ["main", "both", "realigned", "variable", "leaf"];
    let found = collapsed.lines().any(|line| {
        let mut rest = line;
        through_all.iter().all(|name| match rest.find(name) {
            Some(at) => {
                rest = &rest[at + name.len()..];
                true
            }
            None => false,
        })
    });
    assert!(found, "no stack {through_all:?} in\n{collapsed}");
}

#[test]
fn twenty_thousand_levels_of_recursion() {
    let recording = Target::new(program("deep_recursion.c")).record();
    let report = recording.report_with(&[]);
    assert_eq!(report.new_blocks("down"), 20_000);
    assert_eq!(report.totals.metrics.live_blocks, 0);
}

#[test]
fn stack_depth_is_a_limit_that_is_reported() {
    let recording = Target::new(program("frames.cpp")).option("--stack-depth").option("32").record();
    let report = recording.report_with(&["--wrappers"]);
    assert_eq!(report.new_blocks("leaf"), 2510);
    // Allocations and frees of `recursive`, deeper than 32 levels, and of the leaf below it; nothing else is so deep.
    assert_eq!(report.totals.cut_off, 2 * 10 * (2 + 1));
}

#[test]
fn a_tail_call_leaves_no_frame() {
    let report = Target::new(program("tail_calls.c")).record().report();
    report.expect_new_blocks(&[("caller", 100), ("wrapper", 0), ("outer_wrapper", 0)]);
    let report = Target::new(program_with("tail_calls.c", &["-O0"])).record().report();
    report.expect_new_blocks(&[("wrapper", 100)]);
}

#[test]
fn stacks_go_on_through_code_without_unwinding_information() {
    let recording = Target::new(program("jit.c")).record();
    let report = recording.report_with(&[]);
    assert_eq!(report.totals.metrics.new_blocks, 200);
    assert_eq!(report.new_blocks("ordinary"), 100);
    assert_eq!(report.totals.cut_off, 0, "{:?}", report.totals);
    assert_eq!(report.totals.metrics.live_blocks, 0);
    // What is less sure is marked, and nothing else.
    let tree = recording.text(&["--tree"]);
    let marked: Vec<&str> = tree.lines().filter(|line| line.contains("no unwind tables")).collect();
    assert_eq!(marked.len(), 2, "{tree}");
    assert!(marked.iter().all(|line| line.contains("0x") && line.contains("(generated code, ")), "{tree}");
    let files = without_tables(&recording);
    assert_eq!(
        files,
        serde_json::json!([{
            "path": "(generated code)", "frames": 2,
            "stacks": 2, "allocations": 200, "ending_stacks": 0, "ending_allocations": 0,
        }])
    );
    let note = "with the frame pointer, which is less sure: (generated code) (2 frames): 2 stacks (100.0 % of all allocations) pass\n";
    assert!(recording.text(&[]).contains(note), "{}", recording.text(&[]));
    let parts = recording.text(&["--tree", "--format", "json"]);
    assert_eq!(parts.matches("\"without_tables\": true").count(), 2, "{parts}");
}

/// The files of a report's JSON that have no unwind tables for code in stacks.
fn without_tables(recording: &memtoll_e2e::Recording) -> serde_json::Value {
    let report: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    report["without_tables"].clone()
}

/// Stacks end in code that has no tables and hides its return address.
#[test]
fn files_where_stacks_end_are_named() {
    let recording = Target::new(program("ends_unread.c")).record();
    let report = recording.report_with(&[]);
    assert_eq!(report.totals.cut_off, 30, "{:?}", report.totals);
    let files = without_tables(&recording);
    assert_eq!((files[0]["stacks"].as_u64(), files[0]["ending_stacks"].as_u64()), (Some(0), Some(1)), "{files}");
    assert!(files[0]["path"].as_str().unwrap().contains("ends_unread"), "{files}");
    assert_eq!(files[0]["ending_allocations"], 30, "{files}");
    let text = recording.text(&[]);
    assert!(text.contains(": 1 stack (50.0 % of all allocations) ends"), "{text}");
    // Tables tell where other code's callers are.
    let plain = Target::new(program("plain_runs.c")).record();
    assert_eq!(without_tables(&plain), serde_json::json!([]));
}

/// A call with a stack pointer that is no multiple of 16: what glibc bears, the recorder does.
#[test]
fn calls_with_a_misaligned_stack() {
    let recording = Target::new(program("misaligned.c")).record();
    assert_eq!(recording.outcome.status.code(), Some(0), "{:?}", recording.outcome);
    // Five new blocks by each of 64 * 500 rounds in main, of one in a thread and in a child, of two after a library came and went.
    recording.report().expect_new_blocks(&[("off_by_8", 5 * (64 * 500 + 4))]);
    let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
    for function in ["main_work", "thread_work", "child_work", "after_load"] {
        assert!(collapsed.lines().any(|line| line.contains(function)), "{function}: {collapsed}");
    }
}
