//! Which global variables are in memory, for programs of which it is known.

use memtoll_e2e::{Recording, Target, library, program_with, scratch};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// What no symbol of a small library covers: tables of its loader.
const TABLES: u64 = 32 * KIB;

fn program() -> PathBuf {
    let library = library("lib_globals.c", &["-DSUFFIX=library"]);
    let stripped = self::library("lib_globals.c", &["-DSUFFIX=stripped", "-s"]);
    program_with("globals.cpp", &["-O2", library.to_str().unwrap(), stripped.to_str().unwrap()])
}

/// Bytes in memory, size, file and line.
type Row = (u64, Option<u64>, Option<String>);

/// All rows, which add up to the part.
struct Globals(Vec<Value>);

impl Globals {
    fn of(recording: &Recording) -> Globals {
        let answer: Value = serde_json::from_str(&recording.text(&["--resident", "--format", "json"])).expect("JSON");
        let rows = answer["resident"]["globals_by_symbol"].as_array().expect("rows").clone();
        let sum: u64 = rows.iter().map(|row| row["bytes"].as_u64().expect("bytes")).sum();
        assert_eq!(sum, answer["resident"]["globals"].as_u64().expect("globals"), "{rows:?}");
        Globals(rows)
    }

    /// The only row of this name in this file.
    #[track_caller]
    fn row(&self, symbol: &str, module: &str) -> Row {
        let is =
            |row: &&Value| row["symbol"] == symbol && row["module"].as_str().is_some_and(|path| path.contains(module));
        let found: Vec<&Value> = self.0.iter().filter(is).collect();
        let [row] = found[..] else { panic!("{symbol} in {module}: {found:?} of {:?}", self.0) };
        let file = row["file"].as_str().map(|file| format!("{}:{}", file.rsplit('/').next().unwrap(), row["line"]));
        (row["bytes"].as_u64().expect("bytes"), row["size"].as_u64(), file)
    }

    fn has(&self, symbol: &str) -> bool {
        self.0.iter().any(|row| row["symbol"] == symbol)
    }
}

/// `NAME:LINE` of the line that contains a text.
fn line(name: &str, text: &str) -> Option<String> {
    let source = std::fs::read_to_string(memtoll_e2e::source(name)).unwrap();
    Some(format!("{name}:{}", source.lines().position(|line| line.contains(text)).unwrap() + 1))
}

#[test]
fn each_variable_has_what_of_it_is_in_memory() {
    let recording = Target::new(program()).record_alone();
    let globals = Globals::of(&recording);
    let in_program = |symbol: &str| globals.row(symbol, "globals.cpp-");
    let declared = |text| line("globals.cpp", text);
    assert_eq!(in_program("half"), (5 * MIB / 2, Some(5 * MIB), declared("half[5")));
    assert_eq!(in_program("app::table"), (MIB, Some(MIB), declared("int table")));
    assert_eq!(in_program("app::(anonymous namespace)::hidden"), (64 * KIB, Some(64 * KIB), declared("char hidden")));
    assert_eq!(in_program("fill()::buffer"), (3 * MIB, Some(3 * MIB), declared("buffer[3")));
    assert_eq!(in_program("thousand"), (1_000, Some(1_000), declared("thousand[1000]")));
    let (bytes, size, file) = in_program("app::Cache::lines");
    assert_eq!((bytes, size), (128 * KIB, Some(128 * KIB)));
    assert!([declared("static char lines"), declared("Cache::lines[")].contains(&file), "{file:?}");
    assert!(!globals.has("never") && !globals.has("of_thread"), "{:?}", globals.0);
    let (small, size, _) = in_program("(variables below 256 B)");
    assert!((1..=size.unwrap()).contains(&small), "{small} of {size:?}");
}

#[test]
fn libraries_without_symbols_have_what_they_export() {
    let recording = Target::new(program()).record_alone();
    let globals = Globals::of(&recording);
    let whole = "fPIC-DSUFFIXlibrary";
    assert_eq!(globals.row("exported_library", whole), (4 * MIB, Some(4 * MIB), line("lib_globals.c", "exported_,")));
    assert_eq!(globals.row("hidden_library", whole), (MIB, Some(MIB), line("lib_globals.c", "hidden_,")));
    let stripped = "fPIC-DSUFFIXstripped";
    assert_eq!(globals.row("exported_stripped", stripped), (4 * MIB, Some(4 * MIB), None));
    assert!(!globals.has("hidden_stripped"));
    let (rest, size, _) = globals.row("(no symbol)", stripped);
    assert!((MIB..=MIB + TABLES).contains(&rest), "{rest}");
    assert_eq!(size, None);
}

#[test]
fn the_report_has_the_largest_ten() {
    let folder = scratch();
    let link = folder.path().join("other-name");
    std::os::unix::fs::symlink(program(), &link).unwrap();
    let recording = Target::new(&link).record_alone();
    let text = recording.text(&["--resident"]);
    let section = text.split("\nGlobal variables\n").nth(1).expect("a section").split("\n\n").next().unwrap();
    let lines: Vec<&str> = section.lines().collect();
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["bytes", "size", "variable"]);
    let words = |line: usize| lines[line].split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    let place = |text| line("globals.cpp", text).unwrap();
    assert_eq!(words(3), format!("3.0 MiB 3.0 MiB fill()::buffer {}", place("buffer[3")));
    assert_eq!(words(4), format!("2.5 MiB 5.0 MiB half {}", place("half[5")));
    // As the program was called, which lines are, too.
    assert!(lines[3].ends_with(" in other-name"), "{section}");
    assert!(section.contains("(no symbol) in lib_globals"), "{section}");
    let all = Globals::of(&recording).0;
    let bytes: u64 = all[10..].iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
    let others = format!("… and {} others with {}", all.len() - 10, memtoll_text::format::bytes(bytes));
    assert_eq!((lines.len(), *lines.last().unwrap()), (12, others.as_str()), "{section}");
}

#[test]
fn a_recording_keeps_the_names_without_the_files() {
    let folder = scratch();
    let moved = folder.path().join("program");
    std::fs::copy(program(), &moved).unwrap();
    let recording = Target::new(&moved).record_alone();
    std::fs::remove_file(&moved).unwrap();
    assert_eq!(Globals::of(&recording).row("half", "/program").0, 5 * MIB / 2);
}

fn objcopy(options: &[&str], from: &Path, to: &Path) {
    let mut command = Command::new("objcopy");
    assert!(command.args(options).arg(from).arg(to).status().unwrap().success());
}

#[test]
fn names_come_from_separate_debug_files() {
    let folder = scratch();
    let [stripped, debug] = ["program", "program.debug"].map(|name| folder.path().join(name));
    objcopy(&["--strip-all"], &program(), &stripped);
    let recording = Target::new(&stripped).record_alone();
    let before = Globals::of(&recording);
    assert!(!before.has("half") && before.row("(no symbol)", "/program").0 >= 5 * MIB / 2);
    // Later, the debug file is found: for the recording that there is, and for the next one.
    objcopy(&["--only-keep-debug"], &program(), &debug);
    let expected = (5 * MIB / 2, Some(5 * MIB), line("globals.cpp", "half[5"));
    assert_eq!(Globals::of(&Target::new(&stripped).record_alone()).row("half", "/program"), expected);
    let symbolize = Command::new(memtoll_e2e::memtoll()).arg("symbolize").arg(&recording.file).output().unwrap();
    assert!(symbolize.status.success(), "{symbolize:?}");
    assert_eq!(Globals::of(&recording).row("half", "/program"), expected);
}
