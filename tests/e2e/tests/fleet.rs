//! `memtoll fleet`: what a store says is what the recordings say, however it came there.

use memtoll_e2e::{
    Outcome, Recording, Target, free_port, library, memtoll, program, run, scratch, wait_until, workspace,
};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A recording of `budget.c`, which makes so many blocks and 12 others.
fn recording(blocks: &str) -> Recording {
    Target::new(program("budget.c")).args([blocks]).record()
}

/// A store for a test.
struct Store {
    url: String,
}

impl Store {
    fn in_folder(folder: &TempDir) -> Store {
        Store { url: folder.path().join("fleet.db").to_str().unwrap().to_owned() }
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Outcome {
        let mut memtoll = Command::new(memtoll());
        memtoll.args(["fleet", command, "--store", &self.url]).args(arguments);
        run(memtoll)
    }

    #[track_caller]
    fn add(&self, files: &[&Recording], labels: &[&str]) -> String {
        let mut arguments: Vec<&str> = files.iter().map(|file| file.file.to_str().unwrap()).collect();
        labels.iter().for_each(|label| arguments.extend(["--label", label]));
        let outcome = self.run("add", &arguments);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        outcome.stderr
    }

    #[track_caller]
    fn ask(&self, command: &str, arguments: &[&str]) -> Vec<Value> {
        let outcome = self.run(command, &[arguments, &["--format", "json"]].concat());
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
        json["rows"].as_array().unwrap().clone()
    }
}

#[track_caller]
fn fails(outcome: &Outcome, code: i32, words: &[&str]) {
    assert_eq!(outcome.status.code(), Some(code), "{outcome:?}");
    assert_eq!(outcome.stderr_lines_with(words).len(), 1, "{words:?}: {outcome:?}");
}

fn row<'r>(rows: &'r [Value], name: &str) -> &'r Value {
    rows.iter()
        .find(|row| row["name"].as_str().unwrap().starts_with(name))
        .unwrap_or_else(|| panic!("{name}: {rows:#?}"))
}

/// What every engine must do.
fn answers_are_those_of_the_recordings(store: &Store) {
    let (small, large) = (recording("50"), recording("90"));
    store.add(&[&small], &["version=1.4", "requests=10"]);
    store.add(&[&large], &["version=1.5", "requests=20"]);
    // Once more, with other labels: it is the same run.
    let said = store.add(&[&large], &["version=1.6"]);
    assert!(said.contains("added 0 of 1 runs") && said.contains("1 were there already"), "{said}");

    let rows = store.ask("top", &["--sort", "allocations"]);
    let functions = [("load", 50 + 90), ("draw", 12 + 12), ("(total)", 62 + 102)];
    for (name, allocations) in functions {
        assert_eq!(row(&rows, name)["acquisitions"], allocations, "{rows:#?}");
    }
    // All costs add up to the reports' totals.
    let reports = [small.text(&["--format", "json"]), large.text(&["--format", "json"])];
    let reports = reports.map(|text| serde_json::from_str::<Value>(&text).unwrap());
    for column in ["cost_ns", "allocator_ns", "fault_ns", "zeroing_ns", "mapping_ns", "all_faults", "bytes_allocated"] {
        let expected: u64 = reports.iter().map(|report| report["totals"][column].as_u64().unwrap_or(0)).sum();
        assert_eq!(row(&rows, "(total)")[column], expected, "{column}: {rows:#?}");
    }
    // Main calls both functions, and allocates nothing itself.
    let rows = store.ask("top", &["--sort", "allocations", "--with-callees"]);
    assert_eq!(row(&rows, "main")["acquisitions"], 164, "{rows:#?}");
    let rows = store.ask("top", &["--sort", "allocations", "--filter", "^draw$"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 24, "{rows:#?}");
    let rows = store.ask("top", &["--sort", "allocations", "--where", "version=1.5", "--per", "requests"]);
    assert_eq!(row(&rows, "load")["acquisitions"], 4.5, "{rows:#?}");
    let rows = store.ask("top", &["--sort", "peak", "--where", "version=1.5"]);
    assert_eq!(row(&rows, "load")["peak_bytes"], 100, "{rows:#?}");
    for group in ["line", "module", "process", "service", "host"] {
        let rows = store.ask("top", &["--sort", "allocations", "--group", group]);
        assert_eq!(row(&rows, "(total)")["acquisitions"], 164, "{group}: {rows:#?}");
        let sum: u64 =
            rows.iter().filter(|row| row["name"] != "(total)").map(|row| row["acquisitions"].as_u64().unwrap()).sum();
        assert_eq!(sum, 164, "{group}: {rows:#?}");
    }
    let lines = store.ask("top", &["--sort", "allocations", "--group", "line"]);
    assert!(row(&lines, "load")["name"].as_str().unwrap().contains("budget.c:10"), "{lines:#?}");

    let rows = store.ask("trend", &["--label", "version", "--sort", "allocations"]);
    let found: Vec<(&Value, &Value, &Value)> =
        rows.iter().map(|row| (&row["name"], &row["runs"], &row["acquisitions"])).collect();
    assert_eq!(found, [(&"1.4".into(), &1.into(), &62.into()), (&"1.5".into(), &1.into(), &102.into())]);
    let rows = store.ask("trend", &["--sort", "allocations"]);
    assert_eq!(rows.iter().map(|row| row["runs"].as_u64().unwrap()).sum::<u64>(), 2, "by day: {rows:#?}");

    let rows = store.ask("compare", &["--before", "version=1.4", "--after", "version=1.5", "--sort", "allocations"]);
    assert_eq!((&row(&rows, "load")["difference"], &row(&rows, "(total)")["difference"]), (&40.into(), &40.into()));
    assert_eq!(row(&rows, "draw")["difference"], 0);

    fails(&store.run("top", &["--where", "version=9"]), 1, &["no run", "version=9", "version=1.4"]);
    fails(&store.run("top", &["--filter", "nobody"]), 1, &["no function or module", "nobody"]);
}

fn hostile_names_are_only_names(store: &Store) {
    // Words that could be numbers are words.
    store.add(&[&recording("40")], &["version=nan", "machine=inf"]);

    let version = "1'; DROP TABLE runs; --\\\" `${x}` ?";
    let label = format!("ver'sion\\={version}");
    let service = format!("service={version}");
    store.add(&[&recording("50")], &[&label, &service]);
    store.add(&[&recording("60")], &["version=2"]);
    let rows = store.ask("top", &["--where", &label, "--where", &service, "--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 62, "{rows:#?}");
    let rows = store.ask("trend", &["--label", "ver'sion\\", "--sort", "allocations"]);
    assert_eq!(rows[0]["name"], version);
    let rows = store.ask("top", &["--group", "service", "--sort", "allocations"]);
    assert_eq!(row(&rows, version)["acquisitions"], 62, "{rows:#?}");
    // The name of a function is what its program makes of it.
    let name = "\"x';DROP/**/TABLE/**/sites;--?\\";
    store.add(&[&Target::new(program("hostile_sql.c")).record()], &["version=3"]);
    for group in ["function", "line"] {
        let rows = store.ask("top", &["--where", "version=3", "--sort", "allocations", "--group", group]);
        assert_eq!(row(&rows, name)["acquisitions"], 1, "{rows:#?}");
    }
    let rows = store.ask("top", &["--filter", "DROP/../TABLE", "--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 1, "{rows:#?}");
}

/// Of many runs some are drawn, which are always the same; old runs can be removed.
fn large_stores_stay_fast(store: &Store) {
    let recordings: Vec<Recording> = (0..6).map(|_| recording("50")).chain([recording("90")]).collect();
    store.add(&recordings.iter().collect::<Vec<_>>(), &["version=1"]);
    let drawn = ["--sort", "allocations", "--runs", "3"];
    let outcome = store.run("top", &drawn);
    assert!(outcome.stdout.contains("3 of 7 runs") && outcome.stdout.contains("drawn by chance"), "{outcome:?}");
    let rows = store.ask("top", &drawn);
    let all = row(&rows, "(total)");
    // The mean of a run: of the three, one with 102 may be there, or none.
    let expected = [62.0, (62.0 + 62.0 + 102.0) / 3.0];
    let found = all["acquisitions"].as_f64().unwrap();
    assert!(expected.iter().any(|value| (value - found).abs() < 1e-9), "{rows:#?}");
    let [low, high] = ["acquisitions_low", "acquisitions_high"].map(|name| all[name].as_f64().unwrap());
    assert!(low <= found && found <= high && (high > low) == (found > 62.0), "{rows:#?}");
    assert_eq!(store.ask("top", &drawn), rows);
    let rows = store.ask("top", &["--sort", "allocations", "--runs", "100"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"].as_f64(), Some((6 * 62 + 102) as f64 / 7.0), "{rows:#?}");

    // Yesterday's are kept, and so are today's.
    let said = store.run("forget", &["--until", "1d"]);
    fails(&said, 0, &["removed 0 runs"]);
    let label = ["--where", "version=1", "--sort", "allocations"];
    assert_eq!(row(&store.ask("top", &label), "(total)")["acquisitions"], 6 * 62 + 102);
    let said = store.run("forget", &["--until", "2100-01-01"]);
    fails(&said, 0, &["removed 7 runs that began before 2100-01-01"]);
    fails(&store.run("top", &[]), 1, &["no run"]);
    store.add(&[&recordings[0]], &["version=1"]);
    assert_eq!(row(&store.ask("top", &label), "(total)")["acquisitions"], 62, "it can be added again");
}

#[test]
fn a_large_file_stays_fast() {
    let folder = scratch();
    large_stores_stay_fast(&Store::in_folder(&folder));
}

#[test]
fn a_file_answers_what_the_recordings_say() {
    let folder = scratch();
    answers_are_those_of_the_recordings(&Store::in_folder(&folder));
}

#[test]
fn a_file_takes_hostile_names() {
    let folder = scratch();
    hostile_names_are_only_names(&Store::in_folder(&folder));
}

#[test]
fn a_function_counts_once_in_a_stack() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::new(program("deep_recursion.c")).record();
    store.add(&[&recording], &[]);
    let rows = store.ask("top", &["--sort", "allocations", "--with-callees"]);
    assert_eq!(row(&rows, "down")["acquisitions"], 20_000, "{rows:#?}");
}

#[test]
fn every_format_has_the_same_rows() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50")], &[]);
    let text = |format: &str| store.run("top", &["--sort", "allocations", "--format", format]).stdout;
    assert!(text("text").contains("1 run, in all, allocations"), "{}", text("text"));
    let csv = text("csv");
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect();
    assert!(csv.starts_with("acquisitions,share,cost_ns,") && rows[0][0] == *"50", "{csv}");
    let markdown = text("markdown");
    assert!(markdown.lines().any(|line| line.starts_with("| 50 | 80.6 % |") && line.contains("load")), "{markdown}");
}

#[test]
fn windows_add_up_to_the_run() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::shell("i=0; while [ $i -lt 20 ]; do i=$((i+1)); sleep 0.01; done", &[]).record();
    let whole: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let outcome = store.run("add", &[recording.file.to_str().unwrap(), "--window", "50ms"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let rows = store.ask("top", &["--sort", "allocations"]);
    for column in ["acquisitions", "bytes_allocated"] {
        assert_eq!(row(&rows, "(total)")[column], whole["totals"][column], "{column}: {rows:#?}");
    }
}

#[test]
fn what_is_private_stays_on_the_machine() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = Target::new(program("budget.c")).args(["50", "", "--password=hunter2"]).record();
    let file = recording.file.to_str().unwrap();
    let outcome = store.run("add", &[file, "--without", "host", "--without", "paths"]);
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let bytes = fs::read(&store.url).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert!(has("load"), "functions have names");
    assert!(!has("hunter2") && !has("e2e/programs") && !has("/usr/lib"), "arguments and paths");
    assert!(!has(&format!("{}\0", host.trim())), "the machine");
    assert_eq!(store.ask("top", &["--group", "host"])[0]["name"], "");
}

#[test]
fn budgets_hold_for_the_mean_run() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50"), &recording("50")], &["version=1.4"]);
    store.add(&[&recording("80"), &recording("80")], &["version=1.5"]);
    let budget = folder.path().join("memtoll.toml");
    let check = |text: &str, options: &[&str]| {
        fs::write(&budget, text).unwrap();
        store.run("check", &[&["--budget", budget.to_str().unwrap()], options].concat())
    };
    let new = ["--where", "version=1.5", "--baseline", "version=1.4"];
    for (text, code) in [
        ("[run]\nallocations = 92", 0),
        ("[run]\nallocations = 91", 1),
        ("[run]\nallocations = '+30'", 0),
        ("[run]\nallocations = '+29'", 1),
        ("[function.load]\nallocations = 80", 0),
        ("[function.'lo*']\nallocations = 79", 1),
        ("[function.main]\nallocations = 0", 0),
        ("[function.main]\nallocations = 91\nwith_callees = true", 1),
        ("[function.nobody]\nallocations = 0", 0),
        // Nobody knows whether that is its name.
        ("[process.bugdet]\nallocations = 0", 2),
        ("[region.frame]\nallocations = 0", 2),
        ("[run]\nlive = 0", 2),
    ] {
        let outcome = check(text, &new);
        assert_eq!(outcome.status.code(), Some(code), "{text}: {outcome:?}");
    }
    let outcome = check("[function.nobody]\nallocations = 0", &[&new[..], &["-v"]].concat());
    assert!(outcome.stdout.contains("no call site of a function nobody"), "{outcome:?}");
    let programs = store.ask("top", &["--group", "process", "--sort", "allocations"]);
    let own = programs[0]["name"].as_str().unwrap();
    let of_program = |most: u32| check(&format!("[process.'{own}']\nallocations = {most}"), &new).status.code();
    assert_eq!((of_program(92), of_program(91)), (Some(0), Some(1)), "{own}");
    // A baseline takes the place of the label that it has; the others stay.
    store.add(&[&recording("10")], &["version=1.4", "service=other"]);
    let service = ["--where", &format!("service={own}")];
    let grown = |text: &str| check(text, &[&new[..], &service].concat()).status.code();
    assert_eq!((grown("[run]\nallocations = '+30'"), grown("[run]\nallocations = '+29'")), (Some(0), Some(1)));
    // Without a baseline, nobody can say what is more.
    assert_eq!(check("[run]\nallocations = '+30'", &new[..2]).status.code(), Some(2));
    let outcome = check("[run]\nallocations = 91", &new);
    assert!(outcome.stdout.contains("92; the budget allows 91"), "{outcome:?}");
}

#[test]
fn files_that_are_no_stores_are_left_alone() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    fails(&store.run("top", &[]), 2, &["there is no store", "memtoll fleet add"]);
    assert!(!Path::new(&store.url).exists());
    let recording = recording("50");
    let file = recording.file.to_str().unwrap();
    fs::write(&store.url, "a letter to my aunt").unwrap();
    fails(&store.run("add", &[file]), 2, &["is no store of memtoll fleet"]);
    assert_eq!(fs::read_to_string(&store.url).unwrap(), "a letter to my aunt");
    fs::remove_file(&store.url).unwrap();
    // A file that is no recording is said, and the others are added.
    let letter = folder.path().join("letter");
    fs::write(&letter, "a letter").unwrap();
    let outcome = store.run("add", &[letter.to_str().unwrap(), file]);
    fails(&outcome, 2, &["added 1 of 2 runs"]);
    // Another version.
    let version = |number: u8| {
        let file = fs::File::options().write(true).open(&store.url).unwrap();
        file.write_all_at(&[0, 0, 0, number], 60).unwrap();
    };
    version(9);
    fails(&store.run("top", &[]), 2, &["has schema 9", "knows schema 1", "newer"]);
    fails(&store.run("add", &[file]), 2, &["has schema 9"]);
    version(1);
    assert_eq!(store.ask("top", &[]).len(), 3);
    let nobody = Store { url: "mysql://here/fleet".to_owned() };
    fails(&nobody.run("top", &[]), 2, &["expected", "found \"mysql://here/fleet\""]);
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50")], &[]);
    let size = fs::metadata(&store.url).unwrap().len();
    let recording = Target::shell("for i in 1 2 3; do sh -c 'expr 1 + 1; ls /; cat /etc/passwd'; done", &[]).record();
    // The file may grow by a page.
    let script = "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash", &(size / 1024 + 4).to_string()]).arg(memtoll());
    command.args(["fleet", "add", "--store", &store.url]).arg(&recording.file);
    let outcome = run(command);
    fails(&outcome, 2, &["has no room left", "make room"]);
    let rows = store.ask("top", &["--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 62, "{rows:#?}");
    store.add(&[&recording], &[]);
}

#[test]
fn a_file_counts_a_run_once_though_adding_was_killed() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    store.add(&[&recording("50")], &[]);
    let size = fs::metadata(&store.url).unwrap().len();
    let recording = Target::shell("for i in 1 2 3; do sh -c 'expr 1 + 1; ls /; cat /etc/passwd'; done", &[]).record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let allocations = report["totals"]["acquisitions"].as_u64().unwrap();
    // It dies when it writes the second of its pages.
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -c 0; ulimit -f \"$1\"; shift; exec \"$@\"", "bash", &(size / 1024 + 4).to_string()]);
    command.arg(memtoll()).args(["fleet", "add", "--store", &store.url]).arg(&recording.file);
    assert_eq!(run(command).status.signal(), Some(libc::SIGXFSZ));
    assert!(folder.path().join("fleet.db-journal").exists(), "it was in the middle of it");
    let rows = store.ask("top", &["--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 62, "{rows:#?}");
    store.add(&[&recording], &[]);
    let rows = store.ask("top", &["--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 62 + allocations, "{rows:#?}");
}

#[test]
fn a_machine_whose_clock_is_ahead_is_said() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recording = recording("50");
    store.add(&[&recording], &["version=1"]);
    let today = store.ask("trend", &[])[0]["name"].clone();
    fs::remove_file(&store.url).unwrap();
    let mut command = Command::new(memtoll());
    command.args(["fleet", "add", "--store", &store.url]).arg(&recording.file);
    command.env("LD_PRELOAD", library("clock_behind.c", &[]));
    let outcome = run(command);
    fails(&outcome, 0, &["by its machine's clock, it begins 86", "s from now; it counts as of now"]);
    let days = store.ask("trend", &[]);
    assert!(days.len() == 1 && days[0]["name"].as_str() < today.as_str(), "{days:#?}, {today}");
}

#[test]
fn several_processes_add_at_the_same_time() {
    let folder = scratch();
    let store = Store::in_folder(&folder);
    let recordings: Vec<Recording> = (0..4).map(|_| recording("50")).collect();
    let adding: Vec<Child> = recordings
        .iter()
        .map(|recording| {
            let mut command = Command::new(memtoll());
            command.args(["fleet", "add", "--store", &store.url]).arg(&recording.file).spawn().unwrap()
        })
        .collect();
    adding.into_iter().for_each(|mut child| assert!(child.wait().unwrap().success()));
    let rows = store.ask("top", &["--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 4 * 62, "{rows:#?}");
}

/// A server of its own in a folder of its own; it ends with this.
struct ClickHouse {
    server: Child,
    port: u16,
    folder: TempDir,
}

impl ClickHouse {
    fn start() -> ClickHouse {
        ClickHouse::start_by(&[], [free_port(), free_port(), free_port()], &[])
    }

    /// `front`: what starts it, a shell script whose arguments are a folder and a command. `shards`: the native ports of a
    /// cluster.
    fn start_by(front: &[&str], ports: [u16; 3], shards: &[u16]) -> ClickHouse {
        let folder = scratch();
        let mut words: Vec<OsString> = front.iter().map(OsString::from).collect();
        if !front.is_empty() {
            words.push(folder.path().into());
        }
        words.push(workspace().join("tools/clickhouse").into());
        words.push(folder.path().into());
        words.extend(ports.iter().chain(shards).map(|port| OsString::from(port.to_string())));
        let server = Command::new(&words[0]).args(&words[1..]).spawn().unwrap();
        let [port, ..] = ports;
        let started = ClickHouse { server, port, folder };
        wait_until("the server answers", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        started
    }

    fn store(&self, port: u16, database: &str) -> Store {
        Store { url: format!("clickhouse://127.0.0.1:{port}/{database}") }
    }

    fn query(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "POST / HTTP/1.0\r\nContent-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Stands between memtoll and a server, and breaks the connection once: before the server gets a request that has `words`, or
/// after the server has answered it.
struct Breaking {
    port: u16,
    broken: Arc<AtomicUsize>,
}

/// What happens to the connection.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Broken {
    Before,
    After,
    /// Nothing moves any more, before the server has got it.
    HeldBefore,
    /// Nor after it.
    HeldAfter,
}

impl Breaking {
    fn start(to: u16, words: &'static str, how: Broken) -> Breaking {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let broken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&broken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
                Breaking::carry(&stream, &server, words, how, &count);
            }
        });
        Breaking { port, broken }
    }

    /// Carries bytes both ways, each in a thread of its own, until one side is done.
    fn carry(client: &TcpStream, server: &TcpStream, words: &'static str, how: Broken, count: &Arc<AtomicUsize>) {
        let both = || [client.try_clone().unwrap(), server.try_clone().unwrap()];
        // Whether what the server says next is the answer to the request that is meant.
        let meant = Arc::new(AtomicUsize::new(0));
        let ([client_in, server_out], [client_out, server_in]) = (both(), both());
        let (count_here, meant_here, count) = (Arc::clone(count), Arc::clone(&meant), Arc::clone(count));
        std::thread::spawn(move || {
            Breaking::pump(&client_in, &server_out, |bytes| {
                let is_meant = bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
                if !is_meant || count_here.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                    return true;
                }
                meant_here.store(1, Ordering::SeqCst);
                if how == Broken::HeldBefore {
                    Breaking::hold();
                }
                how != Broken::Before
            });
        });
        std::thread::spawn(move || {
            Breaking::pump(&server_in, &client_out, |_| {
                let goes_on = meant.load(Ordering::SeqCst) == 0;
                if !goes_on && how == Broken::HeldAfter {
                    count.store(2, Ordering::SeqCst);
                    Breaking::hold();
                }
                goes_on
            });
        });
    }

    /// Until the test is over.
    fn hold() {
        std::thread::sleep(Duration::from_secs(3600));
    }

    /// Carries bytes as long as `goes_on`; then both connections end.
    fn pump(mut from: &TcpStream, mut to: &TcpStream, goes_on: impl Fn(&[u8]) -> bool) {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if !goes_on(&buffer[..read]) || to.write_all(&buffer[..read]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    }
}

#[test]
fn clickhouse_answers_what_the_recordings_say() {
    let server = ClickHouse::start();
    answers_are_those_of_the_recordings(&server.store(server.port, "fleet"));
    hostile_names_are_only_names(&server.store(server.port, "hostile"));
}

#[test]
fn clickhouse_counts_a_run_once_whatever_breaks() {
    let server = ClickHouse::start();
    server.store(server.port, "fleet").add(&[&recording("10")], &[]); // makes the tables
    let mut allocations = 10 + 12;
    for table in ["sites", "totals", "labels", "runs", "stacks"] {
        for how in [Broken::Before, Broken::After] {
            let between = Breaking::start(server.port, format!("INSERT%20INTO%20{table}").leak(), how);
            let store = server.store(between.port, "fleet");
            let recording = Target::new(program("budget.c")).args(["50"]).record();
            // Names are sent only if the store lacks them.
            if table == "stacks" {
                server.query("TRUNCATE TABLE fleet.stacks");
            }
            let said = store.add(&[&recording], &["version=1"]);
            let broken = between.broken.load(Ordering::SeqCst);
            assert_eq!(broken, 1, "{table}, {how:?}: {said}");
            allocations += 62;
            let rows = server.store(server.port, "fleet").ask("top", &["--sort", "allocations"]);
            assert_eq!(row(&rows, "(total)")["acquisitions"], allocations, "{table}, {how:?}: {rows:#?}");
        }
    }
}

#[test]
fn clickhouse_counts_a_run_once_though_memtoll_was_killed() {
    let server = ClickHouse::start();
    let store = server.store(server.port, "fleet");
    store.add(&[&recording("10")], &[]);
    let mut allocations = 10 + 12;
    for (table, how, moment, said) in [
        ("sites", Broken::HeldBefore, 1, "added 1 of 1"),
        ("labels", Broken::HeldAfter, 2, "added 1 of 1"),
        ("runs", Broken::HeldBefore, 1, "added 1 of 1"),
        ("runs", Broken::HeldAfter, 2, "added 0 of 1"),
    ] {
        let between = Breaking::start(server.port, format!("INSERT%20INTO%20{table}").leak(), how);
        let recording = recording("50");
        let mut command = Command::new(memtoll());
        command.args(["fleet", "add", "--label", "version=1", "--store", &server.store(between.port, "fleet").url]);
        let mut adding = command.arg(&recording.file).spawn().unwrap();
        wait_until("the request is on its way", || between.broken.load(Ordering::SeqCst) == moment);
        adding.kill().unwrap();
        adding.wait().unwrap();
        let again = store.add(&[&recording], &["version=1"]);
        assert!(again.contains(said), "{table}, {how:?}: {again}");
        allocations += 62;
        let rows = store.ask("top", &["--sort", "allocations"]);
        assert_eq!(row(&rows, "(total)")["acquisitions"], allocations, "{table}, {how:?}: {rows:#?}");
    }
    large_stores_stay_fast(&server.store(server.port, "large"));
}

#[test]
fn clickhouse_whose_disk_is_full() {
    // A file system of its own, in a mount namespace; users other than root need one for users as well.
    let script = "[ \"$(id -u)\" = 0 ] && users= || users=-r
        exec unshare -m $users sh -c 'mount -t tmpfs -o size=24m tmpfs \"$1\" && shift && exec \"$@\"' sh \"$@\"";
    let ports = [free_port(), free_port(), free_port()];
    let server = ClickHouse::start_by(&["sh", "-c", script, "sh"], ports, &[]);
    let store = server.store(server.port, "fleet");
    store.add(&[&recording("50")], &[]);
    let folder = server.folder.path().strip_prefix("/").unwrap();
    let filler = Path::new("/proc").join(server.server.id().to_string()).join("root").join(folder).join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while file.write_all(&[0; 1024]).is_ok() {}
    let recording = recording("60");
    fails(&store.run("add", &[recording.file.to_str().unwrap()]), 2, &["has no room left", "make room"]);
    drop(file);
    fs::remove_file(filler).unwrap();
    store.add(&[&recording], &[]);
    let rows = store.ask("top", &["--sort", "allocations"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 62 + 72, "{rows:#?}");
}

#[test]
fn two_shards_answer_as_one() {
    let [first, second] = [[(); 3], [(); 3]].map(|ports| ports.map(|()| free_port()));
    let shards = [first[1], second[1]];
    let servers = [first, second].map(|ports| ClickHouse::start_by(&[], ports, &shards));
    let schema = |options: &[&str]| {
        let mut command = Command::new(memtoll());
        command.args(["fleet", "schema"]).args(options);
        let outcome = run(command);
        assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
        outcome.stdout
    };
    let make = |server: &ClickHouse, text: String| {
        for statement in text.split_terminator(";\n") {
            let answer = server.query(statement);
            assert!(answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200"), "{statement}: {answer}");
        }
    };
    servers.iter().for_each(|server| make(server, schema(&["part"])));
    make(&servers[0], schema(&["fleet", "--cluster", "shards", "--of", "part"]));
    let store = servers[0].store(servers[0].port, "fleet");
    answers_are_those_of_the_recordings(&store);
    let recordings: Vec<Recording> = (0..16).map(|_| recording("50")).collect();
    store.add(&recordings.iter().collect::<Vec<_>>(), &["version=2"]);
    let rows = store.ask("top", &["--sort", "allocations", "--where", "version=2"]);
    assert_eq!(row(&rows, "(total)")["acquisitions"], 16 * 62, "{rows:#?}");
    for server in &servers {
        let answer = server.query("SELECT uniq(run) > 0, (SELECT count() FROM part.runs) > 0 FROM part.sites");
        assert!(answer.ends_with("1\t1\n"), "each shard has a part of the rows: {answer}");
    }
    fails(&store.run("forget", &["--until", "90d"]), 2, &["shards of a cluster", "with each of these"]);
    let shard = servers[1].store(servers[1].port, "part");
    fails(&shard.run("forget", &["--until", "90d"]), 0, &["removed 0 runs"]);
}

#[test]
fn clickhouse_that_is_away_or_another_one_is_said() {
    let recording = recording("50");
    let file = recording.file.to_str().unwrap();
    let away = Store { url: format!("clickhouse://user:secret@127.0.0.1:{}/fleet", free_port()) };
    let outcome = away.run("add", &[file]);
    fails(&outcome, 2, &["cannot reach the store", "add the files again"]);
    assert!(!outcome.stderr.contains("secret"), "{outcome:?}");
    let server = ClickHouse::start();
    let store = server.store(server.port, "fleet");
    fails(&store.run("top", &[]), 2, &["there is no store"]);
    store.add(&[&recording], &[]);
    server.query("INSERT INTO fleet.memtoll_schema VALUES (9)");
    fails(&store.run("top", &[]), 2, &["has schema 9", "knows schema 1"]);
    server.query("CREATE DATABASE other");
    server.query("CREATE TABLE other.runs (a Int64) ENGINE = MergeTree ORDER BY a");
    fails(&server.store(server.port, "other").run("add", &[file]), 2, &["is no store of memtoll fleet"]);
}
