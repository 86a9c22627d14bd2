//! When the pages of a process are looked at, beside its end and its peak.

use memtoll_e2e::{
    Outcome, Recording, Target, is_root, memtoll, program, read_report, run, scratch, skipped, wait_until,
};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const MIB: u64 = 1 << 20;

fn target(what: &str) -> Target {
    Target::new(program("page_looks.c")).arg(what)
}

/// The balance at a look.
fn resident(recording: &Recording, at: &str) -> Value {
    let json = recording.text(&["--resident", "--at", at, "--format", "json"]);
    serde_json::from_str::<Value>(&json).expect("JSON")["resident"].clone()
}

/// All looks that the recording has.
fn looks(recording: &Recording) -> Vec<Value> {
    let json = recording.text(&["--list", "looks", "--format", "json"]);
    let list = serde_json::from_str::<Value>(&json).expect("JSON");
    list["looks"].as_array().expect("looks").clone()
}

#[test]
fn a_mark_is_a_look_at_the_pages() {
    let recording = target("marks").record_alone();
    for (at, mappings) in [("loaded", 32 * MIB), ("fill", 12 * MIB), ("end", 0)] {
        let found = resident(&recording, at);
        assert_eq!(found["mappings"], mappings, "{at}: {found}");
    }
    let loaded = resident(&recording, "loaded");
    assert_eq!((&loaded["cause"], &loaded["mark"]["name"]), (&"mark".into(), &"loaded".into()));
    let (mark, look) = (loaded["mark"]["at_ns"].as_u64(), loaded["at_ns"].as_u64());
    assert!(mark > Some(0) && mark <= look, "it does not come before its mark: {loaded}");
    let text = recording.text(&["--resident", "--at", "loaded"]);
    assert!(text.contains(" after mark \"loaded\": "), "{text}");
    let list = recording.text(&["--list", "looks"]);
    assert!(["loaded", "fill", "end"].iter().all(|at| list.contains(at)), "{list}");
}

#[test]
fn a_mark_without_a_look_is_told() {
    let recording = target("marks").record_alone();
    let refused = |at: &str| {
        let refused = read_report(&recording.file, &["--resident", "--at", at]);
        assert!(!refused.status.success());
        refused.stderr
    };
    assert!(refused("unloaded").contains("no mark \"unloaded\"; it has: fill, loaded"), "{}", refused("unloaded"));
    let why = refused("7G");
    assert!(why.contains("memtoll did not look at the pages when the resident set had passed 7.0 GiB"), "{why}");
    assert!(why.contains("expected --at ") && why.contains("loaded"), "{why}");
    let why = read_report(&recording.file, &["--flat", "--at", "loaded"]).stderr;
    assert!(
        why.contains("goes with --resident, or with --metric resident, ") && why.contains("such as 1.25s"),
        "{why}"
    );
    let why = read_report(&recording.file, &["--metric", "pinned", "--at", "unloaded"]).stderr;
    assert!(why.contains("no mark \"unloaded\"; it has: fill, loaded"), "{why}");
}

#[test]
fn call_sites_have_what_they_had_at_each_look() {
    const BLOCKS: u64 = 100_000;
    const PAGE: u64 = 4096;
    let recording = target("blocks").record_alone();
    let number = |value: &Value, name: &str| value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"));
    let rows = |at: &str, group: &str| {
        let json =
            recording.text(&["--metric", "pinned", "--at", at, "--group", group, "--limit", "100", "--format", "json"]);
        let answer: Value = serde_json::from_str(&json).expect("JSON");
        answer["sites"].as_array().expect("sites").clone()
    };
    let sum = |rows: &[Value], key: &str| rows.iter().map(|row| number(row, key)).sum::<u64>();
    let sparse_at = format!("{}ns", number(&resident(&recording, "sparse"), "at_ns"));
    for at in ["filled", "sparse", "peak", "end", &sparse_at] {
        let balance = resident(&recording, at);
        for group in ["site", "line", "thread", "size"] {
            let rows = rows(at, group);
            for (key, part) in [
                ("resident_bytes", "live"),
                ("never_touched_bytes", "never_touched"),
                ("slack_bytes", "slack"),
                ("pinned_bytes", "pinned"),
            ] {
                assert_eq!(sum(&rows, key), number(&balance, part), "{at} by {group}: {key}");
            }
            let both = sum(&rows, "resident_bytes") + sum(&rows, "never_touched_bytes");
            assert_eq!(both, sum(&rows, "live_bytes"), "{at} by {group}");
        }
    }
    let of_blocks = |at: &str| {
        let rows = rows(at, "line");
        let row = rows.iter().find(|row| row["function"] == "blocks").expect("the line");
        (number(row, "resident_bytes"), number(row, "pinned_bytes"))
    };
    let (filled, sparse) = (of_blocks("filled"), of_blocks("sparse"));
    let kept = BLOCKS.div_ceil(64);
    assert_eq!((filled.0, sparse.0), (BLOCKS * 100, kept * 100));
    // A page for each block that stays, and a second one for those of 112 bytes that lie on a border.
    assert!(filled.1 < 16 * PAGE, "{filled:?}");
    assert!((kept * (PAGE - 112)..kept * PAGE * 11 / 10).contains(&sparse.1), "{sparse:?}");
    let tree = recording.text(&["--tree", "--metric", "pinned", "--at", "sparse"]);
    assert!(tree.contains("pinned: ") && tree.contains("blocks"), "{tree}");
    let short = Target::new(program("temporary.c")).record();
    let why = read_report(&short.file, &["--metric", "pinned", "--at", "peak"]).stderr;
    assert!(why.contains("memtoll looks at the pages of processes that use 20 ms of CPU time or 16 MiB"), "{why}");
}

#[test]
fn of_many_marks_few_are_looked_at() {
    let recording = target("many").record_alone();
    let looks = looks(&recording);
    let at_marks = looks.iter().filter(|look| look["cause"] == "mark").count();
    // The first 16, the 32nd and the 64th, as far as they cost no more than 1 % of the CPU time.
    let wanted = 18;
    assert!((1..=wanted).contains(&at_marks), "{looks:?}");
    let passed_over = wanted - at_marks;
    let summary = recording.text(&[]);
    let says = summary.contains("did not look at the pages at");
    assert_eq!(says, passed_over > 0, "{at_marks} looks: {summary}");
    assert!(!says || summary.contains(&format!(" at the pages at {passed_over} mark")), "{at_marks} looks: {summary}");
}

#[test]
fn a_size_is_looked_at_before_the_kernel_kills() {
    let target = target("killed").option("--snapshot-at").option("40M").option("--snapshot-at").option("70M");
    let recording = target.record_alone();
    for (at, bytes) in [("40M", 40 * MIB), ("70M", 70 * MIB)] {
        let found = resident(&recording, at);
        assert_eq!((&found["cause"], &found["passed"]), (&"size".into(), &bytes.into()));
        let number = |name: &str| found[name].as_u64().expect("a number");
        // One step more, and the program and its libraries.
        assert!((bytes - MIB..bytes + 24 * MIB).contains(&number("rss")), "{found}");
        assert!(number("mappings") + 16 * MIB > bytes, "the program's own memory: {found}");
    }
    assert!(looks(&recording).iter().all(|look| look["cause"] != "end"), "it was killed");
    let text = recording.text(&["--resident", "--at", "40M"]);
    assert!(text.contains(", when it had passed 40.0 MiB: "), "{text}");
}

/// What looks for peaks are called depends on the others.
#[test]
fn only_the_highest_look_is_called_so() {
    let recording = target("killed").record_alone();
    let looks = looks(&recording);
    let size = |look: &Value| look["rss"].as_u64().expect("a size");
    let highest = looks.iter().map(size).max().expect("a look");
    for look in looks.iter().filter(|look| look["cause"] == "peak") {
        let text = recording.text(&["--resident", "--at", &format!("{}ns", look["at_ns"])]);
        let expected = match size(look) == highest {
            _ if looks.len() == 1 => ", at the only look: ",
            true => ", at the highest look: ",
            false => ", at a peak until then: ",
        };
        assert!(text.contains(expected), "{look} of {looks:?}: {text}");
    }
}

/// A program that waits for a line, and the memtoll that started it, if one did.
struct Waiting {
    child: Child,
    pid: u32,
}

/// A test that has failed leaves nothing behind.
impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Waiting {
    /// With 24 MiB of its own.
    fn start(mut command: Command) -> Waiting {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Waiting { pid: line.trim().parse().expect("its number"), child }
    }

    fn end(mut self) {
        self.child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        self.child.wait().unwrap();
    }
}

fn snapshot(pid: u32) -> Outcome {
    let mut command = Command::new(memtoll());
    command.args(["snapshot", &pid.to_string()]);
    run(command)
}

/// The pages of the program are what memtoll was asked for.
fn expect_snapshot(file: &Path, snapshot: &Outcome) {
    assert!(snapshot.status.success(), "{snapshot:?}");
    let at = snapshot.stdout.trim().rsplit(' ').next().expect("a time");
    let json = read_report(file, &["--resident", "--at", at, "--format", "json"]);
    let answer: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let found = &answer["resident"];
    assert_eq!((&found["cause"], &found["mappings"]), (&"asked".into(), &(24 * MIB).into()), "{found}");
    let text = read_report(file, &["--resident", "--at", at]).stdout;
    assert!(text.contains(", when it was asked for: "), "{text}");
}

#[test]
fn pages_are_looked_at_when_somebody_asks() {
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let program = Waiting::start(target("asked").record_command(&file));
    let done = snapshot(program.pid);
    assert!(done.stdout.contains("; who holds it: memtoll report "), "{done:?}");
    // The recording can be read while it grows.
    wait_until("the look to be written", || read_report(&file, &["--list", "looks"]).stdout.contains("asked"));
    if is_root() {
        let mut other = Command::new(memtoll());
        other.args(["snapshot", &program.pid.to_string()]).uid(65534);
        let refused = run(other);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert!(refused.stderr.contains("other users are recording, too"), "{refused:?}");
    } else {
        skipped("another user needs root");
    }
    program.end();
    expect_snapshot(&file, &done);
}

#[test]
fn a_process_that_was_running_is_looked_at() {
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let program = Waiting::start(target("asked").plain_command());
    let mut attach = Command::new(memtoll());
    attach.args(["attach", &program.pid.to_string(), "-o"]).arg(&file);
    let mut attached = attach.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(attached.stderr.take().unwrap());
    let mut begun = String::new();
    said.read_line(&mut begun).unwrap();
    let done = snapshot(program.pid);
    assert!(done.status.success(), "{begun}{done:?}");
    program.end();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(attached.wait().unwrap().success(), "{rest}");
    let json = read_report(&file, &["--list", "looks", "--format", "json"]);
    assert!(json.stdout.contains("\"asked\""), "{json:?}");
}

#[test]
fn what_is_not_recorded_is_not_looked_at() {
    let refused = snapshot(std::process::id());
    assert_eq!(refused.status.code(), Some(1));
    assert!(refused.stderr.contains("is not being recorded: expected one that memtoll record"), "{refused:?}");
    // No process has so large a number.
    let refused = snapshot(u32::MAX);
    assert!(refused.stderr.contains("there is no process"), "{refused:?}");
}

/// What the program has for two milliseconds only, a look every 5 to 40 ms hardly ever sees as a whole.
#[test]
fn memory_is_looked_at_before_it_is_given_back() {
    /// On a busy machine memtoll may be late, and the program does not wait for long.
    const TRIES: u32 = 6;
    for (what, mappings, in_heap) in [("brief_mapping", 48, 0), ("brief_block", 40, 8), ("brief_heap", 40, 8)] {
        let is_whole = |found: &Value| {
            let number = |name: &str| found[name].as_u64().expect("a number");
            let bytes = number("live") + number("free_pages") + number("pinned");
            number("mappings") == mappings * MIB
                && ((in_heap * MIB).saturating_sub(MIB / 64)..(in_heap + 1) * MIB).contains(&bytes)
        };
        let mut seen = (0..TRIES).map(|_| resident(&target(what).record_alone(), "peak"));
        assert!(seen.any(|found| is_whole(&found)), "no look saw all of {what}");
    }
}

/// A program that ends while memtoll is stopped, for as many ms.
fn stopped_at_end(milliseconds: &str, options: &[&str]) -> Recording {
    let target = Target::new(program("stopped_at_end.c")).arg(milliseconds);
    options.iter().fold(target, |target, option| target.option(option)).record_alone()
}

#[test]
fn a_process_waits_at_its_end_for_a_memtoll_that_was_stopped() {
    let looks = looks(&stopped_at_end("1000", &["--no-leak-search"]));
    let at_end = looks.iter().find(|look| look["cause"] == "end").unwrap_or_else(|| panic!("{looks:?}"));
    assert!(at_end["rss"].as_u64() > Some(24 * MIB), "{looks:?}");
}

#[test]
fn a_look_that_did_not_come_is_said() {
    let recording = stopped_at_end("5000", &[]);
    assert!(looks(&recording).iter().all(|look| look["cause"] != "end"));
    let report = recording.text(&[]);
    let in_one_line = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "it waited 3 s at its end for memtoll, which did not answer";
    assert_eq!(in_one_line.matches(why).count(), 1, "{report}");
    let refused = read_report(&recording.file, &["--resident", "--at", "end"]);
    assert!(!refused.status.success() && refused.stderr.contains(why), "{refused:?}");
    let search = "memtoll did not search the program's memory at its end, as it ended before memtoll was done, ";
    assert!(in_one_line.contains(search), "{report}");
}
