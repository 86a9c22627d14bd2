//! `memtoll fleet`: what a store says is what the recordings say, however it came there.

use memtoll_e2e::{Outcome, Recording, Target, free_port, memtoll, program, run, scratch, wait_until};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    _folder: TempDir,
}

impl ClickHouse {
    fn start() -> ClickHouse {
        let folder = scratch();
        let [port, native, internal] = [free_port(), free_port(), free_port()];
        let path = folder.path().display();
        let config = format!(
            "<yandex><logger><level>warning</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>\
             <http_port>{port}</http_port><tcp_port>{native}</tcp_port><interserver_http_port>{internal}</interserver_http_port>\
             <listen_host>127.0.0.1</listen_host><path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>\
             <users_config>users.xml</users_config><default_profile>default</default_profile>\
             <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>"
        );
        let users = "<yandex><profiles><default/></profiles><users><default><password></password><networks><ip>127.0.0.1</ip>\
                     </networks><profile>default</profile><quota>default</quota></default></users>\
                     <quotas><default/></quotas></yandex>";
        fs::write(folder.path().join("config.xml"), config).unwrap();
        fs::write(folder.path().join("users.xml"), users).unwrap();
        let output = || fs::File::create(folder.path().join("output")).unwrap();
        let server = Command::new("clickhouse-server")
            .arg("--config-file=config.xml")
            .current_dir(folder.path())
            .stdout(output())
            .stderr(output())
            .spawn()
            .expect("clickhouse-server: apt-get install clickhouse-server");
        let started = ClickHouse { server, port, _folder: folder };
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

impl Breaking {
    fn start(to: u16, words: &'static str, after: bool) -> Breaking {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let broken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&broken);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else { return };
                Breaking::carry(&stream, &server, words, after, &count);
            }
        });
        Breaking { port, broken }
    }

    /// Carries bytes both ways, each in a thread of its own, until one side is done.
    fn carry(client: &TcpStream, server: &TcpStream, words: &'static str, after: bool, count: &Arc<AtomicUsize>) {
        let both = || [client.try_clone().unwrap(), server.try_clone().unwrap()];
        // Whether what the server says next is the answer to the request that is meant.
        let meant = Arc::new(AtomicUsize::new(0));
        let ([client_in, server_out], [client_out, server_in]) = (both(), both());
        let (count_here, meant_here) = (Arc::clone(count), Arc::clone(&meant));
        std::thread::spawn(move || {
            Breaking::pump(&client_in, &server_out, |bytes| {
                let is_meant = bytes.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words.as_bytes()));
                if !is_meant || count_here.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst).is_err() {
                    return true;
                }
                meant_here.store(1, Ordering::SeqCst);
                after
            });
        });
        std::thread::spawn(move || {
            Breaking::pump(&server_in, &client_out, |_| meant.load(Ordering::SeqCst) == 0);
        });
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
    for table in ["sites", "labels", "runs", "stacks"] {
        for after in [false, true] {
            let between = Breaking::start(server.port, format!("INSERT%20INTO%20{table}").leak(), after);
            let store = server.store(between.port, "fleet");
            let recording = Target::new(program("budget.c")).args(["50"]).record();
            // Names are sent only if the store lacks them.
            if table == "stacks" {
                server.query("TRUNCATE TABLE fleet.stacks");
            }
            let said = store.add(&[&recording], &["version=1"]);
            let broken = between.broken.load(Ordering::SeqCst);
            assert_eq!(broken, 1, "{table}, after: {after}: {said}");
            allocations += 62;
            let rows = server.store(server.port, "fleet").ask("top", &["--sort", "allocations"]);
            assert_eq!(row(&rows, "(total)")["acquisitions"], allocations, "{table}, after: {after}: {rows:#?}");
        }
    }
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
