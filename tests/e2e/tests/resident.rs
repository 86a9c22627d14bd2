//! The largest resident set is that of the run without memtoll, and the recorder's own memory keeps its bounds.

use memtoll_e2e::{Recording, Target, printed, program, run};
use serde_json::Value;
use std::process::Command;

const MIB: f64 = 1024.0 * 1024.0;

/// What the recorder may have in a program, bytes: docs/recording.md.
fn bound(threads: usize) -> f64 {
    6.0 * MIB + (threads - 1) as f64 * 0.25 * MIB
}

/// Linux counts a process's pages on each processor, and adds these counts up when one comes to a batch of 32 pages, or of
/// twice the number of processors. What is missing until then differs between runs.
fn kernels_error() -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
    (processors * 32.max(2 * processors) * 4096) as f64
}

/// The largest resident set of the plain run, bytes: that of the program or of one of its children.
fn plain_peak(target: &Target) -> f64 {
    let plain = target.plain_command();
    let mut command = Command::new(program("peak_of.c"));
    command.arg(plain.get_program()).args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    printed(&outcome.stdout, "peak") as f64 * 1024.0
}

/// As the report says, bytes.
#[derive(Debug)]
struct Recorded {
    program: f64,
    recorder: f64,
    error: f64,
}

impl Recorded {
    /// `figures`: the JSON of the totals or of a process.
    fn of(figures: &Value) -> Recorded {
        let number = |name: &str| figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {figures}"));
        Recorded {
            program: number("resident_peak_bytes"),
            recorder: number("recorder_resident_bytes"),
            error: number("resident_peak_error_bytes"),
        }
    }

    #[track_caller]
    fn holds(&self, plain: f64) {
        assert!((self.program - plain).abs() <= self.error + kernels_error(), "{self:?}, plain {plain}");
    }
}

fn report(recording: &Recording) -> Value {
    serde_json::from_str(&recording.text(&["--format", "json"])).expect("JSON")
}

/// Of the process that has the largest one.
fn recorded(target: &Target) -> Recorded {
    let recording = target.record_alone();
    let text = recording.text(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("without the recorder's own "), "{text}");
    let told = report(&recording);
    let processes = told["processes"].as_array().expect("processes").iter().map(Recorded::of);
    processes.max_by(|a, b| a.program.total_cmp(&b.program)).expect("a process")
}

fn median(mut values: [f64; 3]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[1]
}

/// The recorded figure is the plain run's within its error, and the recorder keeps to its bound. In the middle of three runs,
/// it is within 2 % for one thread; threads that begin at once may all grow between two looks.
#[track_caller]
fn agrees(target: &Target, threads: usize) {
    let plain = median([(); 3].map(|()| plain_peak(target)));
    let runs = [(); 3].map(|()| recorded(target));
    for run in &runs {
        run.holds(plain);
        let Recorded { program, recorder, error } = run;
        assert!(*recorder <= bound(threads), "{run:?} for {threads} threads");
        assert!(*recorder > 250_000.0, "the recorder's file alone takes more: {run:?}");
        let most = if threads == 1 { 0.05 } else { 0.2 };
        assert!(*error > 0.019 * program && *error <= most * plain, "{run:?}, plain {plain}");
    }
    let program = median(runs.each_ref().map(|run| run.program));
    let share = if threads == 1 { 0.02 } else { 0.05 };
    assert!((program - plain).abs() <= share * plain + kernels_error(), "{runs:?}, plain {plain}");
}

fn resident(how: &str, mib: u32) -> Target {
    Target::new(program("resident.c")).arg(how).arg(mib.to_string())
}

#[test]
fn of_one_thread() {
    agrees(&resident("PLAIN", 40), 1);
}

#[test]
fn of_a_peak_before_the_recorder_grew() {
    agrees(&resident("EARLY", 40), 1);
}

#[test]
fn of_forty_threads() {
    agrees(&resident("THREADS", 60), 41);
}

#[test]
fn of_forked_children() {
    agrees(&resident("FORKS", 50), 1);
}

const JSON: &str = "
import json
rows = [{'name': 'n%d' % i, 'values': [i, i * 2, str(i)], 'more': {'a': i, 'b': None}} for i in range(15000)]
for round in range(4):
    json.loads(json.dumps(rows))
";

#[test]
fn of_a_program_in_the_place_of_a_larger_one() {
    let recording = resident("EXEC", 40).record();
    let told = report(&recording);
    let runs: Vec<Recorded> = told["processes"].as_array().expect("processes").iter().map(Recorded::of).collect();
    let [first, second] = runs.as_slice() else { panic!("{runs:?}") };
    first.holds(plain_peak(&resident("PLAIN", 40)));
    second.holds(plain_peak(&resident("PLAIN", 20)));
    assert!(second.error < 3.0 * MIB, "{second:?}");
}

#[test]
fn of_a_small_program_with_many_libraries() {
    // Its libraries' unwinding tables are a large part of it. In the middle of three runs, the kernel's error is no excuse.
    let target = Target::new("/usr/bin/python3").args(["-c", "import json"]);
    let plain = median([(); 3].map(|()| plain_peak(&target)));
    let runs = [(); 3].map(|()| recorded(&target));
    let program = median(runs.each_ref().map(|run| run.program));
    let error = median(runs.each_ref().map(|run| run.error));
    assert!((program - plain).abs() <= error, "{runs:?}, plain {plain}");
}

#[test]
fn of_python() {
    // Each object from malloc: millions of calls, from tens of thousands of places.
    agrees(&Target::new("/usr/bin/python3").args(["-c", JSON]).env("PYTHONMALLOC", "malloc"), 1);
}

#[test]
fn of_a_program_with_deep_stacks() {
    // Ever new stacks, 240 frames deep: more frames than the index of the stack tree remembers.
    agrees(&resident("DEEP", 30), 1);
}

/// As the report says of the end, and of a process's CPU time, bytes and ns.
fn number(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().unwrap_or_else(|| panic!("{name}: {figures}"))
}

/// Whether a process said a last word, or memtoll looked shortly before its end: on a machine that is busy, it may come late.
fn was_seen(figures: &Value) -> bool {
    figures["resident_unseen_ns"].as_f64().is_none_or(|ns| ns < 0.1e9)
}

/// However a process ends, its resident set is known, where it was largest and in the end, and its CPU time.
fn is_known_after(ways: &[&str], rest_ms: u32) {
    let target = |way: &str| Target::new(program("last_state.c")).arg(way).arg(rest_ms.to_string());
    let plain = median([(); 3].map(|()| plain_peak(&target("exit"))));
    for way in ways {
        let told = report(&target(way).record());
        let process = &told["processes"][0];
        for figures in [process, &told["totals"]] {
            let recorded = Recorded::of(figures);
            recorded.holds(plain);
            let (at_end, error) =
                (number(figures, "resident_at_end_bytes"), number(figures, "resident_at_end_error_bytes"));
            let truth = plain - 30.0 * MIB;
            assert!((at_end - truth).abs() <= error + kernels_error(), "{way}: {at_end} ± {error}, plain {truth}");
            assert!(at_end <= recorded.program, "{way}: {figures}");
            if rest_ms > 0 && was_seen(figures) {
                assert!(recorded.error < 3.0 * MIB && error < 3.0 * MIB, "{way}: {recorded:?}, at the end ± {error}");
            }
            let cpu = number(figures, "cpu_ns") / 1e6;
            assert!((95.0..250.0).contains(&cpu), "{way}: {cpu} ms");
        }
        let has_last_word = !["exit_group", "segv", "kill", "exec fails", "vfork"].contains(way);
        assert_eq!(process["resident_unseen_ns"].is_null(), has_last_word, "{way}: {process}");
    }
}

#[test]
fn of_a_process_that_says_a_last_word() {
    is_known_after(&["exit", "_exit", "_Exit", "quick_exit", "abort", "thread"], 0);
}

#[test]
fn of_a_process_that_is_killed() {
    // An exec that failed, and a child on its memory that ended, are not its end.
    is_known_after(&["kill", "segv", "exit_group", "exec fails", "vfork"], 300);
}

#[test]
fn of_a_process_that_is_killed_at_work_is_known_within_its_error() {
    is_known_after(&["kill"], 0);
}

/// The highest sum at one instant, and what its error is below, bytes: infinite where a process was last seen long before its end.
fn together(how: &str) -> (Recorded, f64) {
    let told = report(&Target::new(program("together.c")).arg(how).record());
    let (processes, totals) = (told["processes"].as_array().expect("processes"), Recorded::of(&told["totals"]));
    assert_eq!(processes.len(), 5, "{told}");
    for process in processes.iter().skip(1) {
        let child = Recorded::of(process);
        let error = if was_seen(process) { 2.0 * MIB } else { child.error + kernels_error() };
        assert!((child.program - 21.0 * MIB).abs() < error, "{how}: {process}");
    }
    let at_end = number(&told["totals"], "resident_at_end_bytes");
    assert!(at_end < 5.0 * MIB, "the program itself at its end: {at_end}");
    let most = if processes.iter().all(was_seen) { 6.0 * MIB } else { f64::INFINITY };
    (totals, most)
}

#[test]
fn of_processes_is_what_they_have_at_one_instant() {
    for how in ["ALL", "KILLED"] {
        let (all, most) = together(how);
        assert!(all.error < most, "{how}: {all:?}");
        assert!((all.program - 84.0 * MIB).abs() < all.error.max(6.0 * MIB), "{how}: {all:?}");
    }
    let (turns, _) = together("TURNS");
    let (least, most) = (turns.program - turns.error, turns.program + turns.error);
    assert!(least < 24.0 * MIB && (22.0 * MIB..46.0 * MIB).contains(&most), "one after the other: {turns:?}");
}
