//! Programs that end badly, systems that give nothing, files that are damaged. The target never notices, nothing that
//! was written is lost, and a note says what is missing.

use memtoll_e2e::{
    Outcome, Recording, Report, Target, is_root, memtoll, program, read_report, run, scratch, wait_until,
};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

/// `noisy.c` exits with this, after this many allocations.
const NOISY_EXIT: i32 = 7;
const NOISE: u64 = 300_000;

/// Words of which at least one stands in every statement about something that is not there.
const MISSING: [&str; 5] = ["missing", "truncated", "incomplete", "damaged", "cut"];

fn says_what_is_missing(outcome: &Outcome) {
    let said = MISSING.iter().any(|word| !outcome.stderr_lines_with(&[word]).is_empty());
    assert!(said, "no line with one of {MISSING:?}: {}", outcome.stderr);
}

// -- how programs end ------------------------------------------------------------------------------------------------

fn ends(way: &str, code: Option<i32>, signal: Option<i32>) {
    let recording = Target::new(program("ends.cpp")).arg(way).record();
    let status = recording.outcome.status;
    assert_eq!((status.code(), status.signal()), (code, signal), "{:?}", recording.outcome);
    let report = recording.report();
    assert_eq!((way, report.new_blocks("work")), (way, 100));
    let [process] = &report.processes[..] else { panic!("{way}: {:?}", report.processes) };
    let found = (process.exit_code(), process.exit_signal());
    assert_eq!(found, (code.map(i64::from), signal.map(i64::from)), "{way}: {:?}", process.exit);
}

#[test]
fn exit_codes_are_kept() {
    ends("return", Some(3), None);
    ends("exit", Some(4), None);
    ends("_exit", Some(5), None);
    ends("quick_exit", Some(6), None);
    ends("exit_group", Some(7), None);
    ends("_exit in a destructor", Some(8), None);
}

#[test]
fn signals_are_kept() {
    ends("abort", None, Some(libc::SIGABRT));
    ends("terminate", None, Some(libc::SIGABRT));
    ends("segv", None, Some(libc::SIGSEGV));
    ends("trap", None, Some(libc::SIGILL));
    ends("kill", None, Some(libc::SIGKILL));
    ends("term", None, Some(libc::SIGTERM));
    ends("pipe", None, Some(libc::SIGPIPE));
}

#[test]
fn killed_at_random_instants_nothing_is_lost() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let mut random = u64::from(now.subsec_nanos()) | 1;
    for _ in 0..6 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let microseconds = (random >> 33) % 60_000;
        let directory = scratch();
        let counters = directory.path().join("counters");
        let recording = Target::new(program("killed.c")).arg(&counters).arg(microseconds.to_string()).record_alone();
        assert_eq!(recording.outcome.status.signal(), Some(libc::SIGKILL), "{:?}", recording.outcome);
        let report = recording.report();
        assert!(report.totals.events > 0);
        assert_eq!(report.processes[0].exit_signal(), Some(libc::SIGKILL.into()), "{:?}", report.processes);
        let bytes = fs::read(&counters).unwrap_or_default();
        let finished: Vec<u64> =
            bytes.chunks_exact(8).map(|chunk| u64::from_ne_bytes(chunk.try_into().unwrap())).collect();
        for (function, index) in [("main_block", 0), ("other_block", 1)] {
            let counted = finished.get(index).copied().unwrap_or(0);
            let recorded = report.new_blocks(function);
            // The kill may come between the call and the program's own counter.
            assert!(
                recorded == counted || recorded == counted + 1,
                "killed after {microseconds} us: {function} finished {counted} calls, {recorded} are recorded"
            );
        }
    }
}

// -- signals to memtoll itself ---------------------------------------------------------------------------------------

/// A recording that is under way: `steady.c`, which writes a file when it has finished.
struct Running {
    directory: tempfile::TempDir,
    memtoll: Child,
}

impl Running {
    fn start(milliseconds: u32) -> Running {
        let directory = scratch();
        let at = |name: &str| directory.path().join(name);
        let target = Target::new(program("steady.c")).arg(at("finished")).arg(milliseconds.to_string());
        let mut command = target.record_command(&at("run.memtoll"));
        command.stdin(Stdio::null()).stdout(File::create(at("stdout")).unwrap());
        command.stderr(File::create(at("stderr")).unwrap()).process_group(0);
        let memtoll = command.spawn().unwrap();
        let running = Running { directory, memtoll };
        wait_until("the program starts", || running.text("stdout").contains("started\n"));
        running
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: kill takes no pointers; the process is our child, not yet waited for.
        assert_eq!(unsafe { libc::kill(self.memtoll.id() as libc::pid_t, signal) }, 0);
    }
}

#[test]
fn the_target_outlives_a_killed_supervisor() {
    let mut running = Running::start(2000);
    let file = running.directory.path().join("run.memtoll");
    // However long that takes on a busy machine.
    let allocations = || {
        let outcome = read_report(&file, &["--format", "json"]);
        if outcome.stdout.is_empty() { 0 } else { Report::parse(outcome.stdout.as_bytes()).totals.metrics.new_blocks }
    };
    let mut before = 0;
    wait_until("some events are in the file", || {
        before = allocations();
        before > 0
    });
    running.signal(libc::SIGKILL);
    running.memtoll.wait().unwrap();
    wait_until("the program finishes", || running.directory.path().join("finished").exists());
    assert_eq!(running.text("stdout"), "started\nfinished\n");

    let outcome = read_report(&file, &["--format", "json"]);
    assert_eq!(outcome.status.code(), Some(4), "{outcome:?}");
    says_what_is_missing(&outcome);
    let report = Report::parse(outcome.stdout.as_bytes());
    assert!(report.totals.metrics.new_blocks >= before, "{before} before: {:?}", report.totals);
    assert_eq!(report.new_blocks("steady_work"), report.totals.metrics.new_blocks);
}

fn asked_to_end_by(signal: i32) {
    let mut running = Running::start(30_000);
    running.signal(signal);
    let status = running.memtoll.wait().unwrap();
    assert_eq!(status.code(), Some(5), "{}", running.text("stderr"));
    assert_eq!(running.text("stdout"), "started\nasked to end\n");
    let outcome = read_report(&running.directory.path().join("run.memtoll"), &["--format", "json"]);
    let report = Report::parse(outcome.stdout.as_bytes());
    assert_eq!(report.processes[0].exit_code(), Some(5));
    assert_eq!(report.new_blocks("steady_work") % 2000, 0);
}

#[test]
fn sigterm_reaches_the_target() {
    asked_to_end_by(libc::SIGTERM);
}

#[test]
fn ctrl_c_reaches_the_target() {
    asked_to_end_by(libc::SIGINT);
}

#[test]
fn a_signal_that_comes_before_the_program_reaches_it() {
    for _ in 0..8 {
        let directory = scratch();
        let file = directory.path().join("run.memtoll");
        let began = Instant::now();
        let mut child = Target::new("sleep").arg("60").record_command(&file).spawn().unwrap();
        // The file is made before the program is started.
        while !file.exists() && began.elapsed() < Duration::from_secs(60) {
            std::hint::spin_loop();
        }
        // SAFETY: no pointers; the child was not waited for, so its number is its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM), "{status:?} after {:?}", began.elapsed());
    }
}

// -- systems that give nothing ---------------------------------------------------------------------------------------

/// Runs a script that records `$2` with `$1` into `$3`.
fn scripted(script: &str, target: &Path) -> Recording {
    // The recording is made by the script; `record_alone` only supplies the place and the time limit.
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(memtoll()).arg(target).arg(&file);
    let outcome = run(command);
    Recording::of(outcome, file, directory)
}

/// The program did all it does, whatever became of the recording.
fn undisturbed(outcome: &Outcome) {
    assert_eq!((outcome.status.code(), &*outcome.stdout), (Some(NOISY_EXIT), "noise made\n"), "{outcome:?}");
}

/// There is a recording with a part of the noise, and both commands say so.
fn recorded_in_part(recording: &Recording) {
    undisturbed(&recording.outcome);
    says_what_is_missing(&recording.outcome);
    let outcome = read_report(&recording.file, &["--format", "json"]);
    // 1 where the file has no end.
    assert!(matches!(outcome.status.code(), Some(0 | 4)), "{outcome:?}");
    says_what_is_missing(&outcome);
    let report = Report::parse(outcome.stdout.as_bytes());
    let allocations = report.totals.metrics.new_blocks;
    assert!(allocations > 0 && allocations < NOISE, "{allocations}");
    // The report has what is in the file, also where all events are read.
    let read = read_report(&recording.file, &["--format", "json", "--min-size", "1"]);
    assert_eq!(Report::parse(read.stdout.as_bytes()).totals.metrics.new_blocks, allocations);
}

#[test]
fn a_limit_of_the_file_size() {
    // 4 MB are enough for the recorder's own files, but neither for this recording nor for the shared memory. A soft
    // limit can be raised; it is the target's, and only handed on.
    let script = "ulimit -S -f 8000; exec \"$1\" record -o \"$3\" -- \"$2\" 1200000";
    let recording = scripted(script, &program("noisy.c"));
    undisturbed(&recording.outcome);
    assert_eq!(recording.report().new_blocks("noise"), 1_200_000);
    // A hard one cannot, except by root.
    let script = "ulimit -f 8000; exec \"$1\" record -o \"$3\" -- \"$2\" 1200000";
    let recording = scripted(script, &program("noisy.c"));
    undisturbed(&recording.outcome);
    let report = Report::parse(read_report(&recording.file, &["--format", "json"]).stdout.as_bytes());
    if report.new_blocks("noise") < 1_200_000 {
        let said = ["not recorded", "missing"];
        let said = said.iter().any(|words| !recording.outcome.stderr_lines_with(&[words]).is_empty());
        assert!(said, "{:?}", recording.outcome);
        let wrong_reason = recording.outcome.stderr_lines_with(&["never called an allocation function"]);
        assert!(wrong_reason.is_empty(), "{:?}", recording.outcome);
    }
}

#[test]
fn a_limit_of_the_file_size_that_leaves_nothing() {
    let script = "ulimit -f 100; exec \"$1\" record -o \"$3\" -- \"$2\" 5000";
    let outcome = scripted(script, &program("noisy.c")).outcome;
    // Either it can record, or it says why not before the program starts; it is not killed by SIGXFSZ.
    if outcome.status.code() == Some(125) {
        assert_eq!(outcome.stdout, "", "{outcome:?}");
        assert!(!outcome.stderr_lines_with(&["memtoll"]).is_empty(), "{outcome:?}");
    } else {
        undisturbed(&outcome);
    }
}

#[test]
fn max_size_is_respected() {
    let recording = Target::new(program("noisy.c")).option("--max-size").option("1M").record();
    recorded_in_part(&recording);
    // The limit is for events: what they add up to, names and lines follow when the program has ended.
    let bytes = fs::metadata(&recording.file).unwrap().len();
    assert!(bytes <= 1_200_000, "{bytes}");
}

#[test]
fn a_full_disk() {
    // A file system of one megabyte, in a mount namespace of its own; users other than root need one for users as well.
    let script = r#"
        [ "$(id -u)" = 0 ] && users= || users=-r
        exec unshare -m $users sh -c '
            mount -t tmpfs -o size=1m tmpfs "${3%/*}" || exit 99
            "$1" record -o "$3" -- "$2"
            code=$?
            cp "$3" "$4" && umount "${3%/*}" && mv "$4" "$3" && exit $code
            exit 98
        ' sh "$1" "$2" "$3" "${3%/*}.saved""#;
    let recording = scripted(script, &program("noisy.c"));
    recorded_in_part(&recording);
    assert!(!recording.outcome.stderr_lines_with(&["space"]).is_empty(), "{:?}", recording.outcome);
}

#[test]
fn few_file_descriptors() {
    let recording = scripted("ulimit -n 64; exec \"$1\" record -o \"$3\" -- \"$2\"", &program("noisy.c"));
    undisturbed(&recording.outcome);
    assert_eq!(recording.report().new_blocks("noise"), NOISE);
}

#[test]
fn hardly_any_file_descriptors() {
    for limit in 4..20 {
        let script = format!("ulimit -n {limit}; exec \"$1\" record -o \"$3\" -- \"$2\" 5000");
        let recording = scripted(&script, &program("noisy.c"));
        let outcome = &recording.outcome;
        // Where they are too few even to begin, the program still runs.
        undisturbed(outcome);
        let read = read_report(&recording.file, &["--format", "json"]);
        let complete = read.status.success() && Report::parse(read.stdout.as_bytes()).new_blocks("noise") == 5000;
        let said = !outcome.stderr_lines_with(&["memtoll"]).is_empty();
        assert!(complete || said, "limit {limit}: a part is missing and nothing is said: {outcome:?}");
    }
}

#[test]
fn processes_that_are_not_recorded_are_named() {
    // Ten at a time are more than memtoll can keep a descriptor of.
    let children = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1 & done; wait";
    let script = format!("ulimit -n 21; exec \"$1\" record --no-kernel -o \"$3\" -- \"$2\" -c \"{children}\"");
    let recording = scripted(&script, Path::new("/bin/bash"));
    let outcome = &recording.outcome;
    assert!(outcome.status.success(), "{outcome:?}");
    assert!(!outcome.stderr_lines_with(&["Too many open files"]).is_empty(), "{outcome:?}");
    // The screen after a run has room for the first of them.
    let report = recording.report();
    let named = |line: &String| line.contains("process ") && line.contains("(sleep 1) is not recorded: Too many");
    assert!(report.missing.iter().any(named), "{:?}", report.missing);
}

fn refuses_to_write(output: &Path) {
    let directory = scratch();
    let trace_of_the_program = directory.path().join("the program ran");
    let target = Target::new(program("steady.c")).arg(&trace_of_the_program).arg("0");
    let outcome = run(target.record_command(output));
    assert_eq!(outcome.status.code(), Some(125), "{outcome:?}");
    assert!(!outcome.stderr_lines_with(&[&output.to_string_lossy()]).is_empty(), "{outcome:?}");
    assert!(!trace_of_the_program.exists(), "the program was started although nothing can be recorded");
}

#[test]
fn a_place_where_nothing_can_be_written() {
    let directory = scratch();
    refuses_to_write(Path::new("/proc/e2e.memtoll")); // no one may create files here, not even root
    refuses_to_write(&directory.path().join("no such folder/e2e.memtoll"));
    refuses_to_write(directory.path());
}

#[test]
fn closed_standard_channels() {
    let script = "exec \"$1\" record -o \"$3\" -- \"$2\" 3 <&- >&- 2>&-";
    let recording = scripted(script, &program("tiny.c"));
    // The program cannot write its line, as it could not without memtoll, and exits with 90.
    assert_eq!(recording.outcome.status.code(), Some(90), "{:?}", recording.outcome);
    assert_eq!(recording.report().new_blocks("work"), 42);
}

#[test]
fn a_standard_error_that_takes_nothing() {
    // As `memtoll record … 2>&1 | head` leaves it, too: the program's exit code is memtoll's all the same.
    let recording = scripted("exec \"$1\" record -o \"$3\" -- \"$2\" 3 2>/dev/full", &program("tiny.c"));
    assert_eq!(recording.outcome.status.code(), Some(3), "{:?}", recording.outcome);
    assert_eq!(recording.report().new_blocks("work"), 42);
}

#[test]
fn a_program_that_closes_every_descriptor() {
    let directory = scratch();
    let report = Target::new(program("closes_all.c")).arg(directory.path()).record().report();
    assert_eq!(report.new_blocks("work"), 3 * 3 * 1000);
}

/// `limits.c`, started with these words before it, takes something away from itself, and goes on.
fn goes_on_without(what: &str, prefix: &[&str]) {
    let directory = scratch();
    let place = directory.path().join("place");
    if what == "chroot" {
        fs::create_dir(&place).unwrap();
    }
    let program = program("limits.c");
    let words: Vec<&OsStr> = prefix.iter().map(OsStr::new).chain([program.as_os_str(), OsStr::new(what)]).collect();
    let recording = Target::new(words[0]).args(&words[1..]).arg(&place).record();
    assert!(recording.outcome.stdout.ends_with("thread 0\n"), "{what}: {:?}", recording.outcome);
    let report = recording.report();
    assert_eq!((what, report.new_blocks("before"), report.new_blocks("after")), (what, 100, 150_000));
}

#[test]
fn a_target_without_files_memory_or_directory() {
    for what in ["files", "file-size", "locked-memory", "umask", "directory-gone"] {
        goes_on_without(what, &[]);
    }
}

#[test]
fn a_target_that_changes_its_root() {
    // Root may; others may where they are root of a namespace of users.
    goes_on_without("chroot", if is_root() { &[] } else { &["unshare", "-r"] });
}

#[test]
#[ignore = "only root may do this; `make test` includes it for root"]
fn a_target_that_changes_its_user_or_locks_its_memory() {
    // Whatever else this process runs: what is large here is not large there.
    let large = std::hint::black_box(vec![1_u8; 200 << 20]);
    for what in ["user", "lock-all"] {
        goes_on_without(what, &[]);
    }
    drop(large);
}

#[test]
fn a_full_address_space() {
    // The limit comes after the first event, when the recorder has its memory, and before it, when it has not. What the
    // recorder has reserved, three times as much, is not taken from the program.
    for function in ["setrlimit", "setrlimit64", "prlimit", "prlimit64", "early"] {
        let recording = Target::new(program("address_space.c")).arg(function).record();
        assert_eq!(recording.outcome.stdout, "room 1\nout of memory 1\n", "{function}");
        let report = recording.report();
        let complete = report.new_blocks("piece") > 100;
        let said = !recording.outcome.stderr_lines_with(&["not recorded"]).is_empty();
        assert!(complete || said && function == "early", "{function}: {:?}; {:?}", recording.outcome, report.totals);
        let wrong_reason = recording.outcome.stderr_lines_with(&["never called an allocation function"]);
        assert!(wrong_reason.is_empty(), "{function}: {:?}", recording.outcome);
    }
}

#[test]
fn a_shell_may_limit_its_address_space() {
    let script = "ulimit -v 300000; text=$(seq 200000); echo ${#text}; \"$1\" 3; echo $?; ulimit -v";
    let recording = Target::new("bash").args(["-c", script, "bash"]).arg(program("tiny.c")).record();
    assert_eq!(recording.outcome.stdout, "1288894\ndone\n3\n300000\n");
    assert_eq!(recording.report().new_blocks("work"), 42);
}

#[test]
fn a_limited_address_space_is_left_to_the_program() {
    // 1.5 GB are enough for these 1,000 pieces of 1 MiB without memtoll.
    let script = "ulimit -v 1500000; exec \"$1\" 1000";
    let recording = Target::shell(script, &[&program("address_space.c")]).record();
    assert_eq!(recording.outcome.stdout, "pieces 1000\n");
}

// -- files that are damaged ------------------------------------------------------------------------------------------

/// A recording of `noisy.c` with its bytes changed, read with these options.
fn damaged(change: impl FnOnce(&mut Vec<u8>), options: &[&str]) -> Outcome {
    let recording = Target::new(program("noisy.c")).record_alone();
    undisturbed(&recording.outcome);
    let mut bytes = fs::read(&recording.file).unwrap();
    change(&mut bytes);
    fs::write(&recording.file, &bytes).unwrap();
    read_report(&recording.file, &[options, &["--format", "json"]].concat())
}

#[test]
fn a_cut_file_gives_what_came_before() {
    for (percent, at_least) in [(20, NOISE / 10), (60, NOISE * 4 / 10), (95, NOISE * 8 / 10)] {
        let outcome = damaged(|bytes| bytes.truncate(bytes.len() * percent / 100), &[]);
        assert_eq!(outcome.status.code(), Some(4), "{percent} %: {outcome:?}");
        says_what_is_missing(&outcome);
        let report = Report::parse(outcome.stdout.as_bytes());
        let allocations = report.totals.metrics.new_blocks;
        assert!((at_least..=NOISE).contains(&allocations), "{percent} %: {allocations}");
        assert_eq!(report.new_blocks("noise"), allocations, "{percent} %: {}", report.listing());
    }
}

#[test]
fn a_changed_byte_is_noticed_when_it_is_read() {
    let change = |bytes: &mut Vec<u8>| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
    };
    // The whole run is summed up in a place of its own, which is still good.
    let outcome = damaged(change, &[]);
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!(Report::parse(outcome.stdout.as_bytes()).totals.metrics.new_blocks, NOISE);
    // A choice of sizes needs the events.
    let outcome = damaged(change, &["--min-size", "1"]);
    assert_eq!(outcome.status.code(), Some(4), "{outcome:?}");
    says_what_is_missing(&outcome);
    let allocations = Report::parse(outcome.stdout.as_bytes()).totals.metrics.new_blocks;
    assert!(allocations > NOISE / 4 && allocations < NOISE, "{allocations}");
}

#[test]
fn what_is_no_recording_is_refused() {
    let directory = scratch();
    let garbage: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let contents: [(&str, &[u8]); 4] =
        [("empty", b""), ("short", b"mem"), ("text", b"not a recording, but a line of text\n"), ("garbage", &garbage)];
    for (name, bytes) in contents {
        let file = directory.path().join(name);
        fs::write(&file, bytes).unwrap();
        let outcome = read_report(&file, &[]);
        assert_eq!(outcome.status.code(), Some(2), "{name}: {outcome:?}");
        assert!(!outcome.stderr_lines_with(&[name]).is_empty(), "the error does not name the file: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{name}");
    }
    for path in [directory.path().join("absent"), directory.path().to_owned()] {
        let outcome = read_report(&path, &[]);
        assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
        assert!(!outcome.stderr.is_empty());
    }
}
