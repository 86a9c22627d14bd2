//! Several processes: one run, one file, a section for each.

use memtoll_e2e::{CostReport, Report, Target, install, program, run, scratch, source};
use serde_json::Value;
use std::path::Path;

/// `tiny.c` allocates 42 blocks and exits with its argument.
const TINY: u64 = 42;

#[test]
fn both_sides_of_a_fork_are_recorded() {
    let report = Target::new(program("fork_both.c")).record().report();
    report.expect_new_blocks(&[
        ("before_fork", 50),
        ("parent_side", 100),
        ("child_side", 200),
        ("grandchild_side", 300),
    ]);
    let of = |allocations: u64| {
        let mut found = report.processes.iter().filter(|process| process.totals.metrics.new_blocks == allocations);
        found.next().unwrap_or_else(|| panic!("no process with {allocations}: {:?}", report.processes))
    };
    let (parent, child, grandchild) = (of(150), of(200), of(300));
    assert_eq!(report.processes.len(), 3, "{:?}", report.processes);
    assert_eq!(child.parent, Some(parent.pid));
    assert_eq!(grandchild.parent, Some(child.pid));
    assert_eq!([parent, child, grandchild].map(|process| process.exit_code()), [Some(6), Some(5), Some(4)]);
    // The child gave back copies of its parent's blocks, not its parent's blocks.
    assert_eq!(parent.totals.metrics.live_blocks, 150);
    assert_eq!(child.totals.metrics.live_blocks, 200);
    assert_eq!(grandchild.totals.metrics.live_blocks, 300);
    assert_eq!(report.totals.metrics.frees, 50);
}

#[test]
fn a_line_says_which_process_ran_it() {
    let tiny = program("tiny.c");
    let recording = Target::shell("\"$1\" 3; \"$1\" 4", &[&tiny]).record();
    let name = tiny.file_name().unwrap().to_str().unwrap();
    let pids: Vec<i64> = recording.report().processes.iter().map(|process| process.pid).collect();
    let [_, first, second] = pids.iter().map(i64::to_string).collect::<Vec<_>>().try_into().unwrap();
    let where_of = |options: &[&str]| {
        let text = recording.text(&[&["--metric", "bytes"], options].concat());
        let line = text.lines().find(|line| line.contains("work (tiny.c:")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no line of work: {text}"))
    };
    let all = where_of(&[]);
    assert!(all.ends_with(&format!(" in processes of {name}")), "{all}");
    let summary = recording.text(&[]);
    assert!(summary.contains(&format!("work (tiny.c:5) in processes of {name}")), "{summary}");
    // Among the processes that count, there is no other program to tell apart, then no other process.
    let both = where_of(&["--process", &first, "--process", &second]);
    assert!(!both.contains(" in "), "{both}");
    let one = where_of(&["--process", &first]);
    assert!(!one.contains(" in "), "{one}");
    let with_shell = where_of(&["--process", "sh", "--process", &second]);
    assert!(with_shell.ends_with(&format!(" in {name} {second}")), "{with_shell}");
    let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let sites = json["sites"].as_array().unwrap();
    let work = sites.iter().find(|site| site["function"] == "work").unwrap();
    assert_eq!(work["ran_in"], serde_json::json!({ "pid": null, "programs": [name] }));
}

#[test]
fn a_fork_may_come_before_the_first_allocation() {
    let report = Target::new(program("fork_first.c")).record().report();
    report.expect_new_blocks(&[("parent_side", 50), ("child_side", 200)]);
    let mut found: Vec<u64> = report.processes.iter().map(|process| process.totals.metrics.new_blocks).collect();
    found.sort_unstable();
    assert_eq!(found, [50, 200], "{:?}", report.processes);
}

#[test]
fn a_fork_may_come_while_other_threads_allocate() {
    let report = Target::new(program("fork_threads.c")).record().report();
    assert_eq!(report.new_blocks("child_side"), 20 * 10);
    assert_eq!(report.processes.len(), 21);
}

#[test]
fn a_shell_script_is_followed() {
    let tiny = program("tiny.c");
    let recording = Target::shell("\"$1\" 3; \"$1\" 4 | cat; exec \"$1\" 5", &[&tiny]).record();
    assert_eq!(recording.outcome.status.code(), Some(5));
    let report = recording.report();
    assert_eq!(report.new_blocks("work"), 3 * TINY);
    let with = |allocations| report.processes.iter().filter(|p| p.totals.metrics.new_blocks == allocations).count();
    assert_eq!(with(TINY), 3, "{:?}", report.processes);
    assert!(report.processes.iter().any(|process| process.program() == "cat"), "{:?}", report.processes);
}

/// Starts `tiny.c` in each of these ways and expects a number of allocations of the starter.
fn started(ways: &[&str], starter: u64, tiny_runs: bool) {
    let (starts, tiny) = (program("starts.c"), program("tiny.c"));
    for way in ways {
        let report = Target::new(&starts).arg(way).arg(&tiny).record().report();
        let found = (*way, report.new_blocks("starter_work"), report.new_blocks("work"));
        assert_eq!(found, (*way, starter, if tiny_runs { TINY } else { 0 }), "{:?}", report.processes);
    }
}

#[test]
fn spawned_programs_are_recorded() {
    started(&["posix_spawn", "posix_spawnp", "spawn-no-environment"], 5, true);
}

#[test]
fn programs_started_by_every_fork_are_recorded() {
    started(&["fork", "_Fork", "vfork", "system"], 5, true);
}

#[test]
fn every_form_of_exec_is_followed() {
    started(&["exec-v", "exec-ve", "exec-vp", "exec-vpe", "exec-l", "exec-lp", "exec-fd", "exec-at"], 5, true);
    started(&["exec-ve-no-environment", "exec-le"], 5, true);
}

/// By clone and clone3 themselves, or by the C library's clone.
#[test]
fn processes_and_threads_started_by_hand_are_recorded() {
    let ways: [(&str, usize); 5] =
        [("process", 2), ("vfork", 1), ("thread", 1), ("clone3-process", 2), ("clone3-thread", 1)];
    for (way, processes) in ways {
        let report = Target::new(program("handwritten.c")).arg(way).record().report();
        report.expect_new_blocks(&[("before", 10), ("started_work", 20), ("after", 30)]);
        assert_eq!(report.processes.len(), processes, "{way}: {:?}", report.processes);
        let totals = &report.totals.metrics;
        assert_eq!((totals.new_blocks, totals.frees), (60, 60), "{way}");
    }
}

/// Whatever is mapped above the stack of a thread that was started by hand, the thread's stacks end with its first function.
#[test]
fn a_stack_ends_with_its_mapping() {
    for way in ["clone3-thread-below-code", "clone3-thread-below-data"] {
        let recording = Target::new(program("handwritten.c")).arg(way).record();
        recording.report().expect_new_blocks(&[("before", 10), ("started_work", 20), ("after", 30)]);
        let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
        let stacks: Vec<&str> = collapsed.lines().filter(|line| line.contains("started_work")).collect();
        assert!(!stacks.is_empty(), "{way}: {collapsed}");
        assert!(stacks.iter().all(|stack| stack.starts_with("clone3;starts;started_work;")), "{way}: {collapsed}");
    }
}

#[test]
fn a_failed_exec_changes_nothing() {
    started(&["vfork-fails", "exec-fails"], 10, false);
}

#[test]
fn an_exec_keeps_the_process_and_begins_a_new_section() {
    let report = Target::new(program("starts.c")).arg("exec-v").arg(program("tiny.c")).record().report();
    let sections: Vec<(i64, u64)> =
        report.processes.iter().map(|process| (process.pid, process.totals.metrics.new_blocks)).collect();
    let [(before, 5), (after, TINY)] = sections[..] else { panic!("{:?}", report.processes) };
    assert_eq!(before, after);
}

#[test]
fn a_daemon_is_recorded_to_its_end() {
    let directory = scratch();
    let file = directory.path().join("written by the daemon");
    let recording = Target::new(program("daemon.c")).arg(&file).record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    assert!(file.exists(), "the recording ended before the daemon did; {:?}", recording.outcome);
    assert_eq!(recording.report().new_blocks("daemon_work"), 300);
    // Nobody waits for it, so it is in no parent's count of its children; yet the whole comprises it.
    let Some(costs) = CostReport::of(&recording, &[]) else { return };
    assert!(costs.function("daemon_work").minor_faults >= 700, "{}", costs.listing());
    costs.expect_all_faults();
    let microseconds: u64 = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    // The two clocks differ by a few percent; what others took is a small part of it.
    assert!(costs.number("/totals/cpu_ns") >= microseconds * 900, "of {microseconds} us: {}", costs.json["totals"]);
}

/// What short processes keep adds up, and so do their peaks. It is news if they keep a good part of what they take.
#[test]
fn what_several_processes_keep_is_compared_with_what_they_take() {
    let keeps = program("keeps.c");
    let found = |word: &str| {
        let script = "for i in 1 2 3 4 5; do \"$1\" $2; done";
        let recording = Target::shell(script, &[&keeps, Path::new(word)]).record();
        let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        let findings = report["findings"].as_array().unwrap();
        // One line is one finding, and the dearest comes first in it.
        let says = |finding: &Value| {
            let also = finding["also"].as_array().into_iter().flatten();
            std::iter::once(finding).chain(also).any(|part| part["id"] == "never-freed")
        };
        let is = findings.iter().any(|finding| finding["function"] == "take" && says(finding));
        (is, format!("{findings:?}, {}, {}", report["totals"], report["notes"]))
    };
    let ((all, told), (one, of_one)) = (found("all"), found(""));
    assert!(all, "of ten blocks, ten are kept: {told}");
    assert!(!one, "of ten blocks, one is kept: {of_one}");
}

#[test]
fn a_compiler_and_its_stages_are_recorded() {
    let directory = scratch();
    let object = directory.path().join("compiled.o");
    let target = Target::new("g++").args(["-O2", "-c"]).arg(source("compile_me.cpp")).arg("-o").arg(&object);
    assert!(run(target.plain_command()).status.success());
    let plain = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    let recording = target.record_alone();
    assert!(recording.outcome.status.success(), "{:?}", recording.outcome);
    assert!(std::fs::read(&object).unwrap() == plain, "the object file differs under memtoll");
    let report = recording.report_with(&[]);
    // The assembler makes 85 allocations, and some 60 more where a locale is set.
    for (stage, at_least) in [("g++", 100), ("cc1plus", 10_000), ("as", 50)] {
        let allocations = sum_of(&report, stage);
        assert!(allocations >= at_least, "{stage}: {allocations} allocations; {:?}", report.processes);
    }
    assert!(report.totals.cut_off * 1000 <= report.totals.events, "{:?}", report.totals);
}

fn sum_of(report: &Report, program: &str) -> u64 {
    let running = report.processes.iter().filter(|process| process.program() == program);
    running.map(|process| process.totals.metrics.new_blocks).sum()
}

#[test]
fn a_program_that_is_not_there_is_said_so() {
    let recording = Target::new(Path::new("/nowhere/program")).record_alone();
    let outcome = &recording.outcome;
    assert_eq!(outcome.status.code(), Some(127), "{outcome:?}");
    assert!(!outcome.stderr_lines_with(&["/nowhere/program"]).is_empty(), "{outcome:?}");
    assert_eq!(outcome.stdout, "");
}

/// Name, executable and title are three facts.
#[test]
fn a_title_is_no_name() {
    let folder = scratch();
    let (file, link) = (folder.path().join("the-binary"), folder.path().join("my-server-with-a-long-name"));
    install(&program("titles.c"), &file);
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let arguments = ["some", "long", "arguments", "for", "the", "title"];
    let recording = Target::new(&link).args(arguments).record();
    let told: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let processes = told["processes"].as_array().unwrap();
    let mut command = vec![link.to_str().unwrap()];
    command.extend(arguments);
    let titles = [
        Value::Null,
        "app: worker 0 dir=/var/lib/x mode=a b".into(),
        "app: worker 1 dir=/var/lib/x mode=a b".into(),
        "io/worker 2".into(),
    ];
    let mut by_pid: Vec<&Value> = processes.iter().collect();
    by_pid.sort_by_key(|process| process["pid"].as_u64());
    assert_eq!(by_pid.len(), titles.len(), "{told}");
    for (process, title) in by_pid.iter().zip(&titles) {
        assert_eq!(process["name"], "my-server-with-a-long-name", "{process}");
        assert_eq!(process["executable"], file.to_str().unwrap(), "{process}");
        assert_eq!(process["command"], serde_json::json!(command), "{process}");
        assert_eq!(process["title"], *title, "{process}");
    }
    let text = recording.text(&[]);
    assert!(text.contains("(title: app: worker 1 dir=/var/lib/x mode=a b)"), "{text}");
    // A process is found by each of them, and not by a part of free text.
    let found = |name: &str| {
        let report = recording.report_with(&["--process", name]);
        report.processes.iter().map(|process| process.totals.metrics.new_blocks).sum::<u64>()
    };
    assert_eq!((found("my-server-with-a-long-name"), found("the-binary"), found("io/worker 2")), (300, 300, 100));
    let mut part = std::process::Command::new(memtoll_e2e::memtoll());
    part.args(["report", "--process", "x mode=a b"]).arg(&recording.file);
    assert!(!run(part).status.success());
}

#[test]
fn a_script_is_called_as_it_was_started() {
    let folder = scratch();
    let (text, script) = (folder.path().join("text"), folder.path().join("tool.sh"));
    std::fs::write(&text, "#!/bin/sh\nexec true\n").unwrap();
    install(&text, &script);
    let recording = Target::new(&script).record();
    let told: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let names: Vec<&Value> = told["processes"].as_array().unwrap().iter().map(|process| &process["name"]).collect();
    assert_eq!(names, ["tool.sh", "true"], "{told}");
}

#[test]
fn nothing_is_live_of_a_process_that_has_ended() {
    // The first child ends before the second begins; each keeps what it has allocated.
    let script = "\"$1\" >/dev/null; sleep 1; \"$1\" >/dev/null";
    let recording = Target::shell(script, &[&program("keeps.c")]).record();
    let whole = recording.report();
    let live = |report: &Report| {
        let own = report.processes.iter().filter(|process| process.program().contains("keeps"));
        own.map(|process| process.totals.metrics.live_bytes).collect::<Vec<_>>()
    };
    let at_end = live(&whole);
    assert!(at_end.len() == 2 && at_end.iter().all(|bytes| *bytes > 0), "{at_end:?}");
    // While the shell sleeps, neither is there.
    let between = recording.report_with(&["--at", "0.8s"]);
    assert_eq!(live(&between), [0, 0]);
}
