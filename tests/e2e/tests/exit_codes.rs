//! Each exit code that a command's `--help` names is one with which the command ends.

use crate::symbols_later::RECORDED;
use memtoll_e2e::{Target, Terminal, memtoll, program, run, scratch, skipped};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A command, such as `fleet add`, and a code of it.
type Pair = (String, String);

/// What the cases work on.
struct Inputs {
    folder: TempDir,
    /// A whole recording.
    whole: String,
    /// The same, cut off.
    cut: String,
    /// A program, and the same program's recording cut off.
    types: [String; 2],
    /// A store that has the recording.
    store: String,
}

/// Cuts the end of a recording off.
fn cut(whole: &Path, to: &Path) -> String {
    let bytes = fs::read(whole).unwrap();
    fs::write(to, &bytes[..bytes.len() * 9 / 10]).unwrap();
    to.to_str().unwrap().to_owned()
}

impl Inputs {
    fn new() -> Inputs {
        let folder = scratch();
        let path = |name: &str| folder.path().join(name);
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        let recording = Target::new(program("budget.c")).record_alone();
        fs::copy(&recording.file, path("whole.memtoll")).unwrap();
        let store = text(path("fleet.db"));
        let mut add = Command::new(memtoll());
        add.args(["fleet", "add", "--store", &store, "--label", "service=tests"]).arg(&recording.file);
        assert!(run(add).status.success());
        fs::write(path("kept.toml"), "[run]\nallocations = 1000000").unwrap();
        fs::write(path("broken.toml"), "[run]\nallocations = 1").unwrap();
        fs::write(path("unknown.toml"), "[run]\nallocations = '+1'").unwrap();
        for (name, saves) in [("wrong.json", "faults"), ("unknown.json", "resident_peak_bytes")] {
            let range = r#"{"low": 100, "likely": 150, "high": 200}"#;
            let text = format!(r#"{{"findings": [{{"id": "reuse-1", "saves": {{"{saves}": {range}}}}}]}}"#);
            fs::write(path(name), text).unwrap();
        }
        let containers = program("containers.cpp");
        let of_types = Target::new(&containers).record_alone();
        Inputs {
            whole: text(path("whole.memtoll")),
            cut: cut(&recording.file, &path("cut.memtoll")),
            types: [text(containers), cut(&of_types.file, &path("types.memtoll"))],
            store,
            folder,
        }
    }

    /// The words of a command line: `WHOLE`, `CUT` and so on stand for the inputs.
    fn words(&self, line: &str) -> Vec<String> {
        let word = |word: &str| {
            let word = match word {
                "WHOLE" => &self.whole,
                "CUT" => &self.cut,
                "PROGRAM" => &self.types[0],
                "CUT-TYPES" => &self.types[1],
                "STORE" => &self.store,
                "AWAY" => "clickhouse://127.0.0.1:9/none",
                other => other,
            };
            word.to_owned()
        };
        line.split_whitespace().map(word).collect()
    }
}

/// Runs memtoll as it is.
const PLAIN: &str = "exec \"$@\"";
/// Results cannot be written.
const FULL: &str = "exec \"$@\" >/dev/full";

/// Commands, their codes, their arguments, and the script that starts them, in a folder with the inputs.
const CASES: &[(&str, u8, &str, &str)] = &[
    ("record", 125, "-o none/x.memtoll true", PLAIN),
    ("record", 127, "none/program", PLAIN),
    ("attach", 125, "999999999 -o none.memtoll", PLAIN),
    ("snapshot", 1, "999999999", PLAIN),
    ("report", 1, "WHOLE", FULL),
    ("report", 3, "WHOLE --filter nothing-has-this-name", PLAIN),
    ("report", 4, "CUT", PLAIN),
    ("view", 1, "--no-open WHOLE", FULL),
    ("html", 1, "WHOLE -o none/x.html", PLAIN),
    ("html", 4, "CUT -o cut.html", PLAIN),
    ("export", 1, "--format collapsed WHOLE -o none/x.folded", PLAIN),
    ("export", 3, "--format collapsed WHOLE --process nobody -o x.folded", PLAIN),
    ("export", 4, "--format collapsed CUT -o cut.folded", PLAIN),
    ("tui", 1, "WHOLE", PLAIN),
    ("layout", 1, "PROGRAM std::string", FULL),
    ("layout", 3, "PROGRAM no::such_type", PLAIN),
    ("layout", 4, "CUT-TYPES std::string", PLAIN),
    ("diff", 1, "WHOLE WHOLE", FULL),
    ("diff", 3, "WHOLE WHOLE --filter nothing-has-this-name", PLAIN),
    ("diff", 4, "WHOLE CUT", PLAIN),
    ("advise", 1, "WHOLE", FULL),
    ("advise", 3, "WHOLE growth-0", PLAIN),
    ("advise", 4, "CUT", PLAIN),
    ("calibrate", 1, "WHOLE -- none/program", PLAIN),
    ("verify", 1, "--before false --after true", PLAIN),
    ("verify", 3, "--before true --after true --finding growth-0 WHOLE", PLAIN),
    (
        "verify",
        6,
        "--max-rounds 3 --min-rounds 3 --before true --after true --prediction wrong.json --finding reuse-1",
        PLAIN,
    ),
    (
        "verify",
        7,
        "--max-rounds 3 --min-rounds 3 --before true;true --after true;true --prediction unknown.json --finding reuse-1",
        PLAIN,
    ),
    ("check", 1, "WHOLE --budget kept.toml", FULL),
    ("check", 5, "WHOLE --budget broken.toml", PLAIN),
    ("check", 7, "WHOLE --budget unknown.toml", PLAIN),
    ("budget", 1, "WHOLE -o none/memtoll.toml", PLAIN),
    ("budget", 4, "CUT", PLAIN),
    ("fleet add", 1, "WHOLE --store AWAY", PLAIN),
    ("fleet add", 4, "CUT --store STORE", PLAIN),
    ("fleet top", 1, "--store AWAY", PLAIN),
    ("fleet top", 3, "--store STORE --where service=none", PLAIN),
    ("fleet trend", 1, "--store AWAY", PLAIN),
    ("fleet trend", 3, "--store STORE --where service=none", PLAIN),
    ("fleet compare", 1, "--store AWAY --before version=1 --after version=2", PLAIN),
    ("fleet compare", 3, "--store STORE --before version=1 --after version=2", PLAIN),
    ("fleet runs", 1, "--store AWAY", PLAIN),
    ("fleet runs", 3, "--store STORE --where service=none", PLAIN),
    ("fleet check", 1, "--store AWAY --budget kept.toml", PLAIN),
    ("fleet check", 5, "--store STORE --budget broken.toml", PLAIN),
    ("fleet check", 7, "--store STORE --budget unknown.toml", PLAIN),
    ("fleet roll-up", 1, "--store AWAY", PLAIN),
    ("fleet forget", 1, "--store AWAY --until 2020-01-01", PLAIN),
    ("fleet schema", 1, "memtoll", FULL),
    ("try", 1, "--only keep-heap false", PLAIN),
    ("replay", 1, "WHOLE --keep whole.memtoll/none", PLAIN),
    ("replay", 3, "WHOLE --process nobody", PLAIN),
    ("replay", 4, "CUT --keep kept", PLAIN),
    ("compare-allocators", 3, "WHOLE --process nobody", PLAIN),
    ("machine", 1, "--chart none/x.svg", PLAIN),
    ("doctor", 1, "", FULL),
    ("doctor", 8, "", "ulimit -n 500; exec \"$@\""),
    ("completions", 1, "bash", FULL),
    ("manual", 1, "none", PLAIN),
];

/// Exit code and standard error of a command line.
fn ends(inputs: &Inputs, command: &str, line: &str, script: &str) -> (i32, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(memtoll()).args(command.split(' ')).args(inputs.words(line));
    shell.current_dir(inputs.folder.path()).env("DEBUGINFOD_URLS", "");
    let outcome = run(shell);
    (outcome.status.code().unwrap_or(-1), format!("{outcome:?}"))
}

/// The commands, by the manual pages, each with the codes in its `--help`.
fn documented() -> BTreeSet<Pair> {
    let folder = scratch();
    let mut manual = Command::new(memtoll());
    manual.arg("manual").arg(folder.path());
    assert!(run(manual).status.success());
    let mut pairs = BTreeSet::new();
    for page in fs::read_dir(folder.path()).unwrap() {
        let path = page.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let Some(name) = name.strip_prefix("memtoll-").filter(|name| *name != "fleet") else { continue };
        let command = name.strip_prefix("fleet-").map_or(name.to_owned(), |below| format!("fleet {below}"));
        let mut help = Command::new(memtoll());
        help.args(command.split(' ')).arg("--help");
        let help = run(help).stdout;
        let (_, codes) =
            help.split_once("Exit codes:\n").unwrap_or_else(|| panic!("{command} has no exit codes: {help}"));
        let manual = fs::read_to_string(&path).unwrap().replace(r"\*(Aq", "'");
        for line in codes.lines() {
            let (code, meaning) = line.trim().split_once("  ").unwrap_or_else(|| panic!("{command}: {line}"));
            assert!(manual.contains(meaning.trim()), "{command}: the manual page lacks {line}");
            pairs.insert((command.clone(), code.to_owned()));
        }
    }
    pairs
}

#[test]
fn each_command_ends_with_each_of_its_codes() {
    let inputs = Inputs::new();
    let documented = documented();
    let commands: BTreeSet<&str> = documented.iter().map(|(command, _)| command.as_str()).collect();
    let (mut reached, mut wrong) = (BTreeSet::new(), Vec::new());
    let mut reach = |command: &str, code: &str| reached.insert((command.to_owned(), code.to_owned()));
    for (command, code, line, script) in CASES {
        let (found, said) = ends(&inputs, command, line, script);
        if found != i32::from(*code) {
            wrong.push(format!("{command} {line}: expected {code}, found {found}: {said}"));
        }
        reach(command, &code.to_string());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for command in &commands {
        let (found, said) = ends(&inputs, command, "--no-such-option", PLAIN);
        assert_eq!(found, 2, "{command}: {said}");
        reach(command, "2");
        // All other tests tell that commands do what they are for; only that 0 is no other code's is left.
        let (found, said) = ends(&inputs, command, "--help", PLAIN);
        assert_eq!(found, 0, "{command}: {said}");
        reach(command, "0");
    }
    // The program's own code, whatever memtoll's codes mean.
    for code in [1, 4, 125] {
        let mut record = Command::new(memtoll());
        record.args(["record", "-q", "-o", "own.memtoll", "--force", "sh", "-c", &format!("exit {code}")]);
        assert_eq!(
            run(std::mem::replace(record.current_dir(inputs.folder.path()), Command::new("true"))).status.code(),
            Some(code)
        );
    }
    reach("record", "other");
    let copy = RECORDED.copy();
    let line = format!("{} --debug-dir {}", copy.file.display(), RECORDED.debug_folder().display());
    let (found, said) = ends(&inputs, "symbolize", &line, "ulimit -f 4; exec \"$@\"");
    assert_eq!(found, 1, "{said}");
    reach("symbolize", "1");
    let show = format!("{} tui --no-debuginfod {}; echo code $?", memtoll().display(), inputs.cut);
    let shown = Terminal::start(&show).wait_for("What memory costs").press("q").finish();
    assert!(shown.trim_end().ends_with("code 4"), "{shown:?}");
    reach("tui", "4");
    // Without other allocators, it fails; with some, it can fail only where it writes.
    let (found, said) = ends(&inputs, "compare-allocators", "CUT --repeat 1", PLAIN);
    if found == 1 && said.contains("no other allocator is installed") {
        skipped("compare-allocators with a recording that was cut off: no other allocator is installed");
    } else {
        assert_eq!(found, 4, "{said}");
        let (full, said) = ends(&inputs, "compare-allocators", "WHOLE --repeat 1", FULL);
        assert_eq!(full, 1, "{said}");
    }
    reach("compare-allocators", "1");
    reach("compare-allocators", "4");
    assert_eq!(reached, documented);
}
