//! Names of functions that are found when the recording was made without them.

use memtoll_e2e::{
    Answer, BadServer, Debuginfod, Outcome, Recording, Target, free_port, install, memtoll, program, run, scratch,
    wait_until,
};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Runs a tool that must succeed.
#[track_caller]
fn tool(name: &str, arguments: &[&Path]) -> Outcome {
    let mut command = Command::new(name);
    command.args(arguments);
    let outcome = run(command);
    assert!(outcome.status.success(), "{name} {arguments:?}: {outcome:?}");
    outcome
}

/// `containers.cpp`, recorded once stripped and once not.
pub struct Recorded {
    folder: TempDir,
    /// Names are missing.
    stripped: Recording,
    /// What a report of the stripped program is to look like in the end.
    full: Recording,
    build_id: String,
}

pub static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let folder = scratch();
    let path = |name: &str| folder.path().join(name);
    let app = path("app");
    install(&program("containers.cpp"), &app);
    let full = Target::new(&app).record_alone();
    fs::create_dir(path("debug")).unwrap();
    tool("objcopy", &["--only-keep-debug".as_ref(), &app, &path("debug/kept")]);
    tool("strip", &[&app]);
    let stripped = Target::new(&app).record_alone();
    let notes = tool("readelf", &["--notes".as_ref(), &app]).stdout;
    let build_id =
        notes.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).expect("a build id").to_owned();
    // As on another machine: no program, and no debug file where anybody would look.
    fs::remove_file(&app).unwrap();
    Recorded { folder, stripped, full, build_id }
});

impl Recorded {
    fn debug_file(&self) -> PathBuf {
        self.debug_folder().join("kept")
    }

    pub fn debug_folder(&self) -> PathBuf {
        self.folder.path().join("debug")
    }

    /// A copy of the recording without names, in an empty folder.
    pub fn copy(&self) -> Copy {
        let folder = scratch();
        let file = folder.path().join("copy.memtoll");
        fs::copy(&self.stripped.file, &file).unwrap();
        Copy { cache: folder.path().join("cache"), file, folder }
    }
}

/// A copy of the recording without names, with a cache for debug files of its own.
pub struct Copy {
    folder: TempDir,
    pub file: PathBuf,
    cache: PathBuf,
}

impl Copy {
    fn command(&self, name: &str, urls: &str, options: &[&str]) -> Command {
        let mut command = Command::new(memtoll());
        command.arg(name).arg(&self.file).args(options);
        command.env("DEBUGINFOD_URLS", urls).env("DEBUGINFOD_CACHE_PATH", &self.cache).env("NO_PROXY", "127.0.0.1");
        command
    }

    /// The outcome and the JSON of a report with these servers.
    fn report(&self, urls: &str, options: &[&str]) -> (Outcome, Value) {
        let outcome = run(self.command("report", urls, &[&["--format", "json"], options].concat()));
        assert!(outcome.status.success(), "{outcome:?}");
        let json = serde_json::from_str(&outcome.stdout).unwrap();
        (outcome, json)
    }

    #[track_caller]
    fn symbolize(&self, options: &[&str]) -> Outcome {
        let outcome = run(self.command("symbolize", "", options));
        assert!(outcome.status.success(), "{outcome:?}");
        outcome
    }

    fn in_cache(&self, build_id: &str) -> PathBuf {
        self.cache.join(build_id).join("debuginfo")
    }
}

/// What does not change from run to run, of all call sites.
fn sites(report: &Value) -> Vec<String> {
    const SAME: [&str; 11] = [
        "function", "file", "line", "module", "inlined", "type", "element_size", "elements", "path", "new_blocks",
        "bytes",
    ];
    let site = |site: &Value| {
        let same = SAME.iter().filter_map(|name| Some(format!("{name}: {}", site.get(name)?)));
        same.collect::<Vec<_>>().join(", ")
    };
    let mut sites: Vec<String> = report["sites"].as_array().unwrap().iter().map(site).collect();
    sites.sort();
    sites
}

fn full_sites(options: &[&str]) -> Vec<String> {
    sites(&serde_json::from_str(&RECORDED.full.text(&[&["--format", "json"], options].concat())).unwrap())
}

fn is_named(report: &Value) -> bool {
    sites(report).iter().any(|site| site.contains("fill_vector"))
}

#[test]
fn without_names_the_json_has_build_ids_and_addresses() {
    let copy = RECORDED.copy();
    let (_, json) = copy.report("", &[]);
    assert!(!is_named(&json), "{json}");
    let modules = json["modules"].as_array().unwrap();
    let app = modules.iter().find(|module| module["path"].as_str().unwrap().ends_with("/app")).unwrap();
    assert_eq!((&app["build_id"], &app["names"]), (&RECORDED.build_id.as_str().into(), &"nothing".into()));
    let in_app: Vec<&Value> =
        json["sites"].as_array().unwrap().iter().filter(|site| site["module"] == app["path"]).collect();
    assert!(!in_app.is_empty());
    for site in in_app {
        let address = site["address"].as_u64().expect("an address");
        assert_eq!(site["function"], format!("app+{address:#x}"));
    }
    assert!(RECORDED.full.text(&["--format", "json"]).contains("\"names\": \"debug_info\""));
}

#[test]
fn a_server_names_the_lines() {
    let scratch = scratch();
    let server = Debuginfod::start(&RECORDED.debug_folder(), scratch.path(), &RECORDED.build_id);
    let copy = RECORDED.copy();
    let (outcome, json) = copy.report(&server.url(), &[]);
    assert_eq!(sites(&json), full_sites(&[]));
    assert_eq!(outcome.stderr_lines_with(&["fetched the debug file of app", &server.url()]).len(), 1, "{outcome:?}");
    assert_eq!(outcome.stderr_lines_with(&["found names for app", "memtoll symbolize"]).len(), 1, "{outcome:?}");
    assert_eq!(fs::read(copy.in_cache(&RECORDED.build_id)).unwrap(), fs::read(RECORDED.debug_file()).unwrap());

    // The cache is the one that other clients know.
    let away = format!("http://127.0.0.1:{}", free_port());
    let mut find = Command::new("debuginfod-find");
    find.args(["debuginfo", &RECORDED.build_id]);
    find.env("DEBUGINFOD_URLS", &away).env("DEBUGINFOD_CACHE_PATH", &copy.cache).env_remove("DEBUGINFOD_PROGRESS");
    let found = run(find);
    assert_eq!(found.stdout.trim(), copy.in_cache(&RECORDED.build_id).to_str().unwrap(), "{found:?}");

    // What is there is not fetched again.
    drop(server);
    let (outcome, json) = copy.report(&away, &[]);
    assert!(is_named(&json) && outcome.stderr_lines_with(&["fetched"]).is_empty(), "{outcome:?}");
    let (outcome, json) = copy.report(&away, &["--no-debuginfod"]);
    assert!(!is_named(&json) && outcome.stderr.is_empty(), "{outcome:?}");
}

#[test]
fn what_other_clients_fetched_is_found() {
    let scratch = scratch();
    let server = Debuginfod::start(&RECORDED.debug_folder(), scratch.path(), &RECORDED.build_id);
    let copy = RECORDED.copy();
    let mut find = Command::new("debuginfod-find");
    find.args(["debuginfo", &RECORDED.build_id]);
    find.env("DEBUGINFOD_URLS", server.url()).env("DEBUGINFOD_CACHE_PATH", &copy.cache);
    assert!(run(find).status.success());
    drop(server);
    // Also where no servers are named.
    assert!(is_named(&copy.report("", &[]).1));
}

#[test]
fn servers_of_no_use_are_named_and_given_up() {
    let debug_file = fs::read(RECORDED.debug_file()).unwrap();
    let other_file = fs::read("/proc/self/exe").unwrap();
    let cases = [
        (Answer::Error, "HTTP status 500"),
        (Answer::File(b"<html>Welcome to the airport's network</html>".to_vec()), "with another build id, or none"),
        (Answer::File(other_file), "with another build id, or none"),
        (Answer::HalfOf(debug_file), "it broke off"),
        (Answer::Trickle, "DEBUGINFOD_TIMEOUT"),
        (Answer::Silence, "DEBUGINFOD_TIMEOUT"),
    ];
    for (answer, why) in cases {
        let server = BadServer::start(answer);
        let copy = RECORDED.copy();
        let mut command = copy.command("report", &server.url(), &[]);
        command.env("DEBUGINFOD_TIMEOUT", "1");
        let outcome = run(command);
        assert!(outcome.status.success() && outcome.stdout.contains("app+0x"), "{outcome:?}");
        let note = outcome.stdout.lines().find(|line| line.starts_with("note: Functions shown as addresses"));
        let note = note.unwrap_or_else(|| panic!("no note about addresses: {outcome:?}"));
        assert!(note.contains(why) && note.contains(&server.url()), "expected {why}: {note}");
        // The file may be there all the same, and nothing half fetched lies around.
        let left: Vec<_> = fs::read_dir(copy.cache.join(&RECORDED.build_id)).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// The note about addresses names one command that helps.
#[test]
fn the_note_says_what_helps() {
    let note = |text: &str| {
        let note = text.lines().find(|line| line.starts_with("note: Functions shown as addresses"));
        note.unwrap_or_else(|| panic!("no note about addresses:\n{text}")).to_owned()
    };
    // The program's own file: its build has the names.
    let copy = RECORDED.copy();
    let own = note(&run(copy.command("report", "", &[])).stdout);
    assert!(
        own.ends_with(&format!("memtoll symbolize {} --debug-dir FOLDER_OF_THE_BUILD", copy.file.display())),
        "{own}"
    );
    assert!(own.contains("/usr/lib/debug") && own.contains(copy.cache.to_str().unwrap()), "{own}");

    // A file of the distribution: its server has them, and then its packages.
    let folder = scratch();
    let file = folder.path().join("jq.memtoll");
    let mut record = Target::new("jq").arg("-n").arg("[range(1000)] | length").record_command(&file);
    record.env("DEBUGINFOD_URLS", "");
    let recorded = run(record);
    assert!(recorded.status.success(), "{recorded:?}");
    let server = "name them with: DEBUGINFOD_URLS=https://debuginfod.";
    let last = recorded.stderr.lines().last().unwrap();
    assert!(last.contains("; next: DEBUGINFOD_URLS=https://debuginfod."), "{last}");
    let copy = Copy { cache: folder.path().join("cache"), file: file.clone(), folder };
    let before = note(&run(copy.command("report", "", &[])).stdout);
    assert!(before.contains(server) && before.ends_with(&format!("memtoll symbolize {}", file.display())), "{before}");
    let lacks = BadServer::start(Answer::NotFound);
    let after = note(&run(copy.command("report", &lacks.url(), &[])).stdout);
    assert!(after.contains(&format!("{} (it does not have ", lacks.url())), "{after}");
    assert!(after.contains("install its debug package (sudo "), "{after}");
}

#[test]
fn a_server_that_is_away_does_not_matter_if_another_has_the_file() {
    let scratch = scratch();
    let server = Debuginfod::start(&RECORDED.debug_folder(), scratch.path(), &RECORDED.build_id);
    let lacks = BadServer::start(Answer::NotFound);
    let urls = format!("http://127.0.0.1:{} {}/ {}", free_port(), lacks.url(), server.url());
    assert!(is_named(&RECORDED.copy().report(&urls, &[]).1));
}

#[test]
fn what_no_server_has_is_not_asked_for_again_soon() {
    let server = BadServer::start(Answer::NotFound);
    let copy = RECORDED.copy();
    let outcome = run(copy.command("report", &server.url(), &[]));
    assert!(outcome.stdout.contains("it does not have app"), "{outcome:?}");
    let asked = server.requests();
    assert!(asked > 0);
    let note = fs::metadata(copy.in_cache(&RECORDED.build_id)).unwrap();
    assert_eq!(note.len(), 0);
    let outcome = run(copy.command("report", &server.url(), &[]));
    assert!(outcome.stdout.contains("no server had app"), "{outcome:?}");
    assert_eq!(server.requests(), asked);
    // Other clients do not ask either, and theirs is the same note.
    let mut find = Command::new("debuginfod-find");
    find.args(["debuginfo", &RECORDED.build_id]);
    find.env("DEBUGINFOD_URLS", server.url()).env("DEBUGINFOD_CACHE_PATH", &copy.cache);
    assert!(!run(find).status.success());
    assert_eq!(server.requests(), asked);
    // It does not count for ever.
    fs::write(copy.cache.join("cache_miss_s"), "0").unwrap();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    fs::File::open(copy.in_cache(&RECORDED.build_id)).unwrap().set_modified(earlier).unwrap();
    run(copy.command("report", &server.url(), &[]));
    assert!(server.requests() > asked);
}

#[test]
fn a_damaged_file_in_the_cache_is_fetched_again() {
    let scratch = scratch();
    let server = Debuginfod::start(&RECORDED.debug_folder(), scratch.path(), &RECORDED.build_id);
    let copy = RECORDED.copy();
    fs::create_dir_all(copy.cache.join(&RECORDED.build_id)).unwrap();
    fs::write(copy.in_cache(&RECORDED.build_id), "no ELF file").unwrap();
    assert!(is_named(&copy.report(&server.url(), &[]).1));
}

#[test]
fn symbolized_recordings_are_as_if_names_had_been_there() {
    let copy = RECORDED.copy();
    // Only on the machine that has the files is anything found.
    let outcome = copy.symbolize(&[]);
    assert!(!outcome.stderr_lines_with(&["functions without names", "app"]).is_empty(), "{outcome:?}");
    assert_eq!(fs::read(&copy.file).unwrap(), fs::read(&RECORDED.stripped.file).unwrap());
    let folder = RECORDED.debug_folder();
    fs::set_permissions(&copy.file, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    let link = copy.folder.path().join("link.memtoll");
    std::os::unix::fs::symlink(&copy.file, &link).unwrap();
    let by_link = Copy { folder: scratch(), file: link.clone(), cache: copy.cache.clone() };
    let outcome = by_link.symbolize(&["--debug-dir", folder.to_str().unwrap()]);
    assert_eq!(outcome.stderr_lines_with(&["wrote names for app"]).len(), 1, "{outcome:?}");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&copy.file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o640);

    for options in
        [&[][..], &["--unfold"], &["--group", "path"], &["--group", "function"], &["--paid", "--metric", "allocations"]]
    {
        let (outcome, json) = copy.report("", options);
        assert_eq!(outcome.stderr, "");
        if !options.contains(&"--paid") {
            assert_eq!(sites(&json), full_sites(options), "{options:?}");
        }
        assert_eq!(json["missing"].as_array().unwrap().len(), 0, "{json}");
    }
    // Totals, times and all that is not a name are the same as before.
    let before: Value = serde_json::from_str(&RECORDED.stripped.text(&["--format", "json"])).unwrap();
    let (_, after) = copy.report("", &[]);
    for part in ["totals", "processes", "threads", "prices", "started"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    let outcome = copy.symbolize(&[]);
    assert!(outcome.stderr_lines_with(&["app"]).is_empty(), "{outcome:?}");
}

#[test]
fn a_recording_that_was_cut_off_gets_names_and_keeps_its_rest() {
    let copy = RECORDED.copy();
    let whole = fs::read(&copy.file).unwrap();
    fs::write(&copy.file, &whole[..whole.len() - 10]).unwrap();
    copy.symbolize(&["--debug-dir", RECORDED.debug_folder().to_str().unwrap()]);
    let outcome = run(copy.command("report", "", &["--format", "json"]));
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(is_named(&json), "{json}");
    let missing = json["missing"][0].as_str().unwrap();
    assert!(missing.contains("the file is cut off"), "{missing}");
    let named = fs::read(&copy.file).unwrap();
    assert_eq!(named[named.len() - 100..], whole[whole.len() - 110..whole.len() - 10]);
}

#[test]
fn the_recording_stays_when_names_cannot_be_written() {
    let copy = RECORDED.copy();
    let before = fs::read(&copy.file).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 4; exec \"$@\"", "sh"]).arg(memtoll()).arg("symbolize").arg(&copy.file);
    command.arg("--debug-dir").arg(RECORDED.debug_folder());
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}");
    assert_eq!(outcome.stderr_lines_with(&["cannot write into", "the recording is unchanged"]).len(), 1, "{outcome:?}");
    assert_eq!(fs::read(&copy.file).unwrap(), before);
    assert_eq!(fs::read_dir(copy.folder.path()).unwrap().count(), 1, "something is left behind");
}

#[test]
fn a_recording_that_is_being_made_is_left_alone() {
    let folder = scratch();
    let file = folder.path().join("run.memtoll");
    let mut record = Target::new("sleep").arg("60").record_command(&file);
    let mut child = record.spawn().unwrap();
    wait_until("there is a recording", || fs::metadata(&file).is_ok_and(|data| data.len() > 100));
    let mut command = Command::new(memtoll());
    command.arg("symbolize").arg(&file);
    let outcome = run(command);
    // SAFETY: no pointers; the child was not waited for, so its number is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    child.wait().unwrap();
    assert_eq!(outcome.status.code(), Some(2), "{outcome:?}");
    assert_eq!(outcome.stderr_lines_with(&["is being written by another memtoll"]).len(), 1, "{outcome:?}");
}

#[test]
fn mini_debug_info_names_functions() {
    let folder = scratch();
    let path = |name: &str| folder.path().join(name);
    let app = path("app");
    install(&program("containers.cpp"), &app);
    tool("objcopy", &["--only-keep-debug".as_ref(), &app, &path("mini")]);
    tool("objcopy", &["--strip-debug".as_ref(), &path("mini")]);
    tool("strip", &[&app]);
    tool("xz", &[&path("mini")]);
    let section = format!(".gnu_debugdata={}", path("mini.xz").display());
    tool("objcopy", &["--add-section".as_ref(), section.as_ref(), &app]);
    let recording = Target::new(&app).record_alone();
    let json = recording.text(&["--format", "json"]);
    assert!(json.contains("fill_vector") && json.contains("\"names\": \"symbols\""), "{json}");
}
