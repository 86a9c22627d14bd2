//! The command line itself: where recordings go, what is implied, what a terminal shows.

use memtoll_e2e::{Outcome, Target, Terminal, memtoll, program, read_report, run, scratch, wait_until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// memtoll with these words, in a directory.
fn memtoll_in(directory: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.args(words).current_dir(directory);
    run(command)
}

fn files(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn recordings_are_named_after_their_program_and_numbered() {
    let directory = scratch();
    let tiny = program("tiny.c");
    fs::copy(&tiny, directory.path().join("tiny")).unwrap();
    for _ in 0..3 {
        assert!(memtoll_in(directory.path(), &["record", "-q", "--", "./tiny"]).status.success());
    }
    assert_eq!(files(directory.path()), ["tiny", "tiny.2.memtoll", "tiny.3.memtoll", "tiny.memtoll"]);
    for file in &files(directory.path())[1..] {
        assert!(read_report(&directory.path().join(file), &[]).status.success());
    }
}

#[test]
fn command_lines_can_be_pasted_into_a_shell() {
    let directory = scratch();
    let words = ["record", "-o", "a b.memtoll", "--", "sh", "-c", "true", "--save", "", "it's"];
    let outcome = memtoll_in(directory.path(), &words);
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(outcome.stderr.contains("sh -c true --save '' 'it'\\''s'\n"), "{outcome:?}");
    assert!(outcome.stderr.contains("'a b.memtoll'"), "{outcome:?}");
    let report = memtoll_in(directory.path(), &["report", "a b.memtoll"]);
    assert!(report.stdout.starts_with("sh -c true --save '' 'it'\\''s'\n"), "{report:?}");
}

#[test]
fn a_file_that_is_missing_is_named() {
    let directory = scratch();
    for words in [
        &["report", "absent.memtoll"][..],
        &["symbolize", "absent.memtoll"],
        &["calibrate", "absent.memtoll"],
        &["diff", "absent.memtoll", "absent.memtoll"],
        &["doctor", "./absent.memtoll"],
        &["record", "-o", "absent.memtoll/run", "--", "true"],
        &["record", "--", "./absent.memtoll"],
    ] {
        let outcome = memtoll_in(directory.path(), words);
        assert!(!outcome.status.success(), "{words:?}: {outcome:?}");
        assert_eq!(outcome.stderr_lines_with(&["absent.memtoll", "no such file"]).len(), 1, "{words:?}: {outcome:?}");
    }
}

#[test]
fn an_existing_file_is_replaced_only_by_force() {
    let directory = scratch();
    let tiny = program("tiny.c");
    let record = |options: &[&str]| {
        let words = [&["record", "-q", "-o", "a"], options, &["--", tiny.to_str().unwrap()]].concat();
        memtoll_in(directory.path(), &words)
    };
    let file = directory.path().join("a");
    assert!(record(&[]).status.success());
    let first = fs::read(&file).unwrap();
    let refused = record(&[]);
    assert_eq!(refused.status.code(), Some(125), "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    assert_eq!(refused.stdout, "", "the program must not have run");
    assert_eq!(fs::read(&file).unwrap(), first);
    assert!(record(&["--force"]).status.success());
    assert_ne!(fs::read(&file).unwrap(), first);
    fs::write(&file, "a letter").unwrap();
    assert_eq!(record(&["--force"]).status.code(), Some(125));
    assert_eq!(fs::read_to_string(&file).unwrap(), "a letter");
    assert_eq!(memtoll_in(directory.path(), &["record", "--force", "--", "true"]).status.code(), Some(2));
}

/// A program that runs until there is a file named `go`.
const PATIENT: &str = "until test -e go; do sleep 0.02; done";

/// Starts recording a program that runs until there is a file `go`, and waits until the recording has begun.
fn start_recording(directory: &Path, file: &str) -> std::process::Child {
    let mut command = Command::new(memtoll());
    command.args(["record", "-q", "--force", "-o", file, "--", "sh", "-c", PATIENT]).current_dir(directory);
    command.stderr(fs::File::create(directory.join("said")).unwrap());
    let child = command.spawn().unwrap();
    let begun = || fs::metadata(directory.join(file)).is_ok_and(|about| about.len() > 1000);
    wait_until("the recording begins", begun);
    child
}

#[test]
fn two_recorders_do_not_write_one_file() {
    let directory = scratch();
    let mut first = start_recording(directory.path(), "same");
    for options in [&["--force"][..], &[]] {
        let words = [&["record", "-q", "-o", "same"], options, &["--", "echo", "ran"]].concat();
        let second = memtoll_in(directory.path(), &words);
        assert_eq!(second.status.code(), Some(125), "{second:?}");
        assert_eq!(
            second.stderr_lines_with(&["same", "another memtoll is writing it", "-o FILE"]).len(),
            1,
            "{second:?}"
        );
        assert_eq!(second.stdout, "", "the program must not have run");
    }
    fs::write(directory.path().join("go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(fs::read_to_string(directory.path().join("said")).unwrap(), "");
    let report = read_report(&directory.path().join("same"), &["--format", "json"]);
    let json: Value = serde_json::from_str(&report.stdout).unwrap();
    assert!(report.status.success() && json["missing"] == serde_json::json!([]), "{report:?}");
    assert_eq!(json["command"], serde_json::json!(["sh", "-c", PATIENT]));
}

#[test]
fn a_recording_that_is_removed_meanwhile_is_said_to_be_lost() {
    let directory = scratch();
    let mut first = start_recording(directory.path(), "gone");
    fs::remove_file(directory.path().join("gone")).unwrap();
    fs::write(directory.path().join("go"), "").unwrap();
    assert!(first.wait().unwrap().success(), "the exit code is the program's");
    let said = fs::read_to_string(directory.path().join("said")).unwrap();
    assert!(said.contains("the recording is lost: gone was removed or replaced"), "{said}");
}

/// memtoll with these words as a rank of an MPI job.
fn memtoll_as_rank(rank: &str, directory: &Path, words: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.args(words).current_dir(directory).env("OMPI_COMM_WORLD_RANK", rank).env("OMPI_COMM_WORLD_SIZE", "2");
    run(command)
}

#[test]
fn ranks_are_told_apart() {
    let directory = scratch();
    let tiny = program("tiny.c");
    let tiny = tiny.to_str().unwrap();
    for rank in ["0", "1"] {
        for options in [&["-o", "run.memtoll", "--force"][..], &[]] {
            let outcome =
                memtoll_as_rank(rank, directory.path(), &[&["record", "-q"], options, &["--", tiny]].concat());
            assert!(outcome.status.success(), "{outcome:?}");
        }
    }
    let own_name = |rank: u32| format!("{}.rank{rank}.memtoll", Path::new(tiny).file_name().unwrap().to_str().unwrap());
    let expected = ["run.rank0.memtoll".to_owned(), "run.rank1.memtoll".to_owned(), own_name(0), own_name(1)];
    assert_eq!(files(directory.path()), expected);
    let report = |options: &[&str]| read_report(&directory.path().join("run.rank1.memtoll"), options).stdout;
    assert!(report(&[]).lines().nth(1).is_some_and(|line| line.contains(", rank 1 of 2, ")), "{}", report(&[]));
    let json: Value = serde_json::from_str(&report(&["--format", "json"])).unwrap();
    assert_eq!(json["rank"], serde_json::json!({ "rank": 1, "ranks": 2 }));
    // What says exactly where it goes, as memtoll itself does when it measures a rank, goes there.
    let exact = ["record", "-q", "-o", "exact", "--exact-name", "--calibrate=2", "--", tiny];
    let outcome = memtoll_as_rank("1", directory.path(), &exact);
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome:?}");
    let calibrated: Value =
        serde_json::from_str(&read_report(&directory.path().join("exact"), &["--format", "json"]).stdout).unwrap();
    assert!(calibrated["calibration"].is_object(), "{calibrated}");
}

#[test]
fn a_recorded_launcher_has_its_ranks() {
    let directory = scratch();
    let tiny = program("tiny.c");
    let script = "PMI_RANK=0 PMI_SIZE=2 $0; PMI_RANK=1 PMI_SIZE=2 $0; exit 0";
    let outcome =
        memtoll_in(directory.path(), &["record", "-q", "-o", "all", "--", "sh", "-c", script, tiny.to_str().unwrap()]);
    assert!(outcome.status.success(), "{outcome:?}");
    let report = |options: &[&str]| read_report(&directory.path().join("all"), options).stdout;
    let json: Value = serde_json::from_str(&report(&["--format", "json"])).unwrap();
    assert!(json["rank"].is_null());
    let of = |process: &Value| Some((process["command"][0].as_str()? == "sh", process["rank"]["rank"].as_u64()));
    let mut ranks: Vec<_> = json["processes"].as_array().unwrap().iter().filter_map(of).collect();
    ranks.sort();
    ranks.dedup();
    assert_eq!(ranks.iter().filter(|(is_shell, _)| !is_shell).count(), 2, "{ranks:?}");
    assert!(ranks.contains(&(false, Some(0))) && ranks.contains(&(false, Some(1))), "{ranks:?}");
    assert!(report(&[]).contains("(rank 1 of 2) "), "{}", report(&[]));
}

#[test]
fn a_program_alone_is_recorded() {
    let directory = scratch();
    let tiny = program("tiny.c");
    let tiny = tiny.to_str().unwrap();
    let outcome = memtoll_in(directory.path(), &[tiny, "--help"]);
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(0), "done\n"), "{outcome:?}");
    assert_eq!(files(directory.path()).len(), 1);
    let outcome = memtoll_in(directory.path(), &["-q", "-o", "b", tiny]);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("done\n", ""));
    assert!(files(directory.path()).contains(&"b".to_owned()));
    let outcome = memtoll_in(directory.path(), &["sh", "-c", "exit 7"]);
    assert_eq!(outcome.status.code(), Some(7), "{outcome:?}");
    let outcome = memtoll_in(directory.path(), &["./nothing-here"]);
    assert_eq!(outcome.status.code(), Some(127), "{outcome:?}");
    // What is neither a command nor a program is most likely a mistyped command.
    let outcome = memtoll_in(directory.path(), &["reprot", "b"]);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("'report'") && outcome.stderr.contains("PATH"), "{outcome:?}");
}

/// The command recorded, with options of `record`.
fn recorded(options: &str, command: &str) -> String {
    format!("{} record {options} -o /dev/null -- {command}", memtoll().display())
}

/// What a terminal shows of a command line when these lines are typed after these prompts.
fn on_terminal(line: &str, answers: &[(&str, &str)]) -> String {
    let start = Terminal::start(line);
    answers.iter().fold(start, |terminal, (prompt, line)| terminal.answer(prompt, line)).finish()
}

#[test]
fn interactive_programs_look_as_they_do_without_memtoll() {
    // Each runs long enough for a progress line, prompts in the middle of a line, and reads what is typed.
    type Dialog = (&'static str, &'static [(&'static str, &'static str)]);
    let dialogs: [Dialog; 3] = [
        ("sh -c 'printf \"name? \"; read name; sleep 1.5; echo \"hello $name\"'", &[("name? ", "you")]),
        ("python3 -q", &[(">>> ", "import time; time.sleep(1.5)"), (">>> ", "print(6 * 7)"), (">>> ", "exit()")]),
        (
            "env PS1='$ ' bash --norc --noprofile --noediting -i",
            &[("$ ", "sleep 1.5"), ("$ ", "echo $((6 * 7))"), ("$ ", "exit 3")],
        ),
    ];
    for (command, answers) in dialogs {
        let plain = on_terminal(command, answers);
        assert!(plain.contains("42") || plain.contains("hello you"), "{plain:?}");
        assert_eq!(on_terminal(&recorded("-q", command), answers), plain);
        let with_summary = on_terminal(&recorded("", command), answers);
        assert!(with_summary.starts_with(&plain), "{with_summary:?} instead of {plain:?}");
    }
}

#[test]
fn progress_is_shown_where_the_program_does_not_use_the_terminal() {
    const RUNS: &str = "sh -c 'sleep 1.5' </dev/null >/dev/null";
    let shows = |line: &str| on_terminal(line, &[]).contains("events/s");
    assert!(!shows(&recorded("-q", RUNS)));
    assert!(!shows(&recorded("--progress never", RUNS)));
    assert!(!shows(&recorded("", "sh -c 'sleep 1.5' >/dev/null")), "it might read what is typed");
    // A menu reads single keys.
    assert!(!shows(&format!("stty -icanon -echo; {}; stty icanon echo", recorded("", RUNS))));
    // However long it takes on a busy machine: the program ends when the line is there.
    let directory = scratch();
    let seen = directory.path().join("seen");
    let waits = format!("sh -c 'while [ ! -e {} ]; do sleep 0.1; done'", seen.display());
    let not_on_terminal = format!("{waits} </dev/null >/dev/null");
    for (options, command) in
        [("", &not_on_terminal), ("--progress always", &waits), ("-q --progress always", &not_on_terminal)]
    {
        let terminal = Terminal::start(&recorded(options, command)).wait_for("events/s");
        fs::write(&seen, "").unwrap();
        terminal.finish();
        fs::remove_file(&seen).unwrap();
    }
}

/// What the doctor found, and whether it exits with 8 if and only if something is missing.
fn doctor(script: &str, words: &[&str]) -> Value {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{script}exec \"$0\" doctor --format json \"$@\"")).arg(memtoll()).args(words);
    let outcome = run(command);
    let found: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let is_missing = outcome.stdout.contains("\"missing\"");
    assert_eq!(outcome.status.code(), Some(if is_missing { 8 } else { 0 }), "{outcome:?}");
    found
}

fn finding<'a>(list: &'a Value, check: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|one| one["check"] == check).unwrap_or_else(|| panic!("{check}: {list}"))
}

/// memtoll knows messages of allocators, and contains none.
#[test]
fn a_program_that_looks_for_allocators_is_not_said_to_have_them() {
    let folder = scratch();
    let stripped = folder.path().join("stripped");
    let strip = Command::new("strip").arg(memtoll()).arg("-o").arg(&stripped).status().unwrap();
    assert!(strip.success());
    let found = doctor("", &[stripped.to_str().unwrap()]).to_string();
    assert!(["jemalloc", "mimalloc", "tcmalloc", "snmalloc"].iter().all(|name| !found.contains(name)), "{found}");
}

#[test]
fn the_doctor_says_what_is_missing_and_what_helps() {
    let tiny = program("tiny.c");
    let found = doctor("", &[tiny.to_str().unwrap()]);
    assert_eq!(finding(&found["machine"], "address space")["status"], "ok", "{found}");
    assert_eq!(finding(&found["program"]["checks"], "lines")["status"], "ok", "{found}");
    assert_eq!(found["program"]["language"], "c");
    let found = doctor("ulimit -v 900000; ", &[]);
    let space = finding(&found["machine"], "address space");
    assert_eq!((&space["status"], &space["remedy"]), (&"missing".into(), &"ulimit -v unlimited".into()), "{found}");
    let found = doctor("ulimit -n 500; ", &[]);
    assert_eq!(finding(&found["machine"], "open files")["status"], "missing", "{found}");
    // A server has all of a distribution's names. Only to those who use one already, doctor names debug packages.
    let remedy = |script: &str| {
        let found = doctor(script, &["sh"]);
        finding(&found["program"]["checks"], "names")["remedy"].as_str().unwrap_or_else(|| panic!("{found}")).to_owned()
    };
    let (alone, with_server) = (remedy(""), remedy("export DEBUGINFOD_URLS=http://127.0.0.1:9; "));
    assert!(alone.starts_with("export DEBUGINFOD_URLS=http"), "{alone}");
    assert!(!with_server.contains("DEBUGINFOD_URLS"), "{with_server}");
    let mut command = Command::new(memtoll());
    command.args(["doctor", "no-such-program-anywhere"]);
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("no-such-program-anywhere"), "{outcome:?}");
}

#[test]
fn what_begins_with_a_dash_is_no_program() {
    let directory = scratch();
    for words in [&["--qiet", "true"][..], &["record", "--qiet", "true"], &["record", "--qiet"], &["try", "--lst"]] {
        let outcome = memtoll_in(directory.path(), words);
        assert_eq!(outcome.status.code(), Some(2), "{words:?}: {outcome:?}");
        assert!(outcome.stderr.contains("unexpected argument"), "{words:?}: {outcome:?}");
    }
    let outcome = memtoll_in(directory.path(), &["--qiet", "true"]);
    assert!(outcome.stderr.contains("'--quiet'"), "{outcome:?}");
    // Behind the program's name, words are its own.
    let outcome = memtoll_in(directory.path(), &["-q", "sh", "-c", "exit 4"]);
    assert_eq!(outcome.status.code(), Some(4), "{outcome:?}");
}

#[test]
fn recordings_can_be_read_from_pipes_and_standard_input() {
    let directory = scratch();
    let tiny = program("tiny.c");
    assert!(
        memtoll_in(directory.path(), &["record", "-q", "-o", "t.memtoll", "--", tiny.to_str().unwrap()])
            .status
            .success()
    );
    let of = |script: &str| {
        let mut command = Command::new("bash");
        command.arg("-c").arg(script).arg(memtoll()).current_dir(directory.path());
        let outcome = run(command);
        assert!(outcome.status.success(), "{script}: {outcome:?}");
        let totals = outcome.stdout.lines().find(|line| line.contains(" allocations of ")).map(str::to_owned);
        totals.unwrap_or_else(|| panic!("{script}: {outcome:?}"))
    };
    let file = of("\"$0\" report t.memtoll");
    for script in [
        "\"$0\" report - <t.memtoll", "cat t.memtoll | \"$0\" report -", "cat t.memtoll | \"$0\" report /dev/stdin",
        "\"$0\" report <(cat t.memtoll)",
    ] {
        assert_eq!(of(script), file, "{script}");
    }
    let mut terminal = Command::new("script");
    terminal.args(["-qec", &format!("{} report -", memtoll().display()), "/dev/null"]).current_dir(directory.path());
    let outcome = run(terminal);
    assert!(outcome.stdout.contains("expected a recording in a file or a pipe"), "{outcome:?}");
}

#[test]
fn the_loader_can_be_recorded() {
    let directory = scratch();
    let words = ["record", "-o", "l.memtoll", "--", memtoll_processor::HERE.loader];
    let tiny = program("tiny.c");
    let outcome = memtoll_in(directory.path(), &[&words[..], &[tiny.to_str().unwrap()]].concat());
    assert!(!outcome.stderr.contains("static"), "{outcome:?}");
    let report = read_report(&directory.path().join("l.memtoll"), &["--format", "json"]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert!(report["totals"]["allocations"].as_u64() > Some(0), "{report}");
}

#[test]
fn doctor_begins_with_the_program() {
    let directory = scratch();
    let outcome = memtoll_in(directory.path(), &["doctor", program("tiny.c").to_str().unwrap()]);
    let first = outcome.stdout.lines().next().unwrap();
    assert!(first.contains("tiny.c"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\nThis machine\n"), "{}", outcome.stdout);
}

#[test]
fn a_sigterm_ends_a_live_view() {
    let directory = scratch();
    let mut command = Command::new(memtoll());
    command.args(["record", "-q", "--live", "-o", "l.memtoll", "--", "sh", "-c", "echo begun; exec sleep 60"]);
    command.current_dir(directory.path()).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(line, "begun\n");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let mut ended = None;
    wait_until("memtoll ends", || {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.unwrap()), Some(15));
}

#[test]
fn names_and_arguments_do_no_harm_on_a_terminal() {
    let target = Target::new(program("hostile_names.c")).args(["one\ntwo", "\x1b]0;owned\x07"]);
    let recording = target.record();
    let report = recording.text(&["--color", "always"]);
    for text in [&recording.outcome.stderr, &report, &recording.text(&["--flat"])] {
        let is_style = |rest: &str| ["\x1b[0m", "\x1b[1m", "\x1b[2m"].iter().any(|style| rest.starts_with(style));
        let obeyed = text.match_indices(|c: char| c.is_control() && c != '\n').find(|(at, _)| !is_style(&text[*at..]));
        assert_eq!(obeyed, None, "{text:?}");
    }
    assert!(report.contains("$'one\\ntwo' $'\\x1b]0;owned\\x07'"), "{report}");
}
