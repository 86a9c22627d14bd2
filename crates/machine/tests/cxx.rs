//! The measuring programs compile without warnings, on Linux and for Windows, and the Windows one does its work under
//! Wine. What Wine takes for it says nothing about Windows, so no times are looked at.

include!("../cxx.rs");

use std::fs;
use std::process::{Command, Stdio};

const MINGW: &str = "x86_64-w64-mingw32-g++-posix";
const WINE: &str = "/usr/lib/wine/wine64";
const NEEDED: &str = "apt-get install g++-mingw-w64-x86-64-posix wine64";

/// An empty folder for the test `name`.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn compile(compiler: &str, name: &str, other_system: &str, link: &[&str], output: &Path) {
    let mut command = Command::new(compiler);
    command.args(FLAGS).arg("-Werror").args(sources(name, other_system)).arg("-o").arg(output).args(link);
    let done = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}; {NEEDED}"));
    assert!(done.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn no_warnings_on_linux() {
    let folder = folder("warnings");
    for program in ["player", "prices", "ways"] {
        compile("g++", program, "windows", LINK_LINUX, &folder.join(program));
    }
}

/// A Wine of its own, which ends with the test.
struct Wine {
    prefix: PathBuf,
    program: PathBuf,
}

impl Wine {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("WINEPREFIX", &self.prefix).env("WINEDEBUG", "-all").env("WINEDLLOVERRIDES", "mscoree,mshtml=");
        command.env_remove("DISPLAY");
        command
    }

    fn run(&self, words: &[&str]) -> String {
        // A file: Wine's services would keep a pipe open for a while.
        let output = self.prefix.with_extension("output");
        let file = fs::File::create(&output).unwrap();
        let status = self.command(WINE).arg(&self.program).args(words).stdout(file).stderr(Stdio::null()).status();
        let status = status.unwrap_or_else(|error| panic!("{WINE}: {error}; {NEEDED}"));
        let text = fs::read_to_string(output).unwrap().replace('\r', "");
        assert!(status.success(), "{words:?}: {status}: {text}");
        text
    }
}

impl Drop for Wine {
    fn drop(&mut self) {
        let _ = self.command("/usr/lib/wine/wineserver64").arg("-k").status();
        let _ = fs::remove_dir_all(&self.prefix);
    }
}

/// Numbers of the line that begins with `key`.
fn numbers(text: &str, key: &str) -> Vec<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no {key} in {text}"));
    line.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

#[test]
fn windows_ways_work_under_wine() {
    let folder = folder("windows");
    let program = folder.join("ways.exe");
    compile(MINGW, "ways", "linux", &["-static", "-lpsapi"], &program);
    let wine = Wine { prefix: folder.join("wine"), program };

    const SIZE: f64 = 33554432.0;
    let size = SIZE.to_string();
    let list = wine.run(&["list", &size]);
    let ways: Vec<Vec<&str>> = list.lines().map(|line| line.split('\t').collect()).collect();
    let ids: Vec<&str> = ways.iter().map(|way| way[0]).collect();
    let expected = [
        "keep", "reset", "reset-undo", "decommit", "virtualalloc", "large-pages", "section", "section-unmap",
        "malloc-large", "malloc-small",
    ];
    assert_eq!(ids, expected);

    let mut not_run = Vec::new();
    for way in &ways {
        let &[id, name, "threads", obstacle] = &way[..] else { panic!("{way:?}") };
        if !obstacle.is_empty() {
            assert_eq!(id, "reset-undo", "Wine 8 offers all others: {obstacle}");
            // Its other calls can be made all the same.
            not_run.push(format!("{name}: {obstacle}"));
        }
        for (touch, bytes, threads) in [("whole", SIZE / 2.0, 2.0), ("sparse", SIZE, 1.0)] {
            let text = wine.run(&["sample", id, touch, &bytes.to_string(), &threads.to_string()]);
            if let Some(reason) = text.strip_prefix("failed ") {
                assert_eq!(id, "large-pages", "{reason}"); // needs a privilege
                not_run.push(format!("{name}: {}", reason.trim()));
                break;
            }
            assert_eq!(text.lines().filter(|line| line.starts_with("use ")).count(), 2, "{id}: {text}");
            let resident = numbers(&text, "resident ");
            let &[before, touched, given, ..] = &resident[..] else { panic!("{text}") };
            if touch == "whole" {
                assert!(touched - before > 0.9 * SIZE, "{id}: {text}");
                match id {
                    "keep" => assert!(given > 0.9 * touched, "{id}: {text}"),
                    "reset" | "reset-undo" => {} // as the system likes
                    _ => assert!(touched - given > 0.9 * SIZE, "{id}: {text}"),
                }
            }
        }
    }
    not_run.push("on Windows itself, nothing".to_owned());
    for way in not_run {
        memtoll_e2e::skipped(format!("not run under Wine: {way}"));
    }
}
