//! `memtoll layout` says what the compilers say.

use memtoll_e2e::{Outcome, Target, memtoll, program_with, run, source};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn layout(file: &Path, name: &str, options: &[&str]) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("layout").arg(file).arg(name).args(options);
    run(command)
}

#[track_caller]
fn json(file: &Path, name: &str) -> Value {
    let outcome = layout(file, name, &["--format", "json"]);
    assert_eq!(outcome.status.code(), Some(0), "{name}: {outcome:?}");
    serde_json::from_str(&outcome.stdout).expect("JSON")
}

/// Compares all that a program says of its types.
#[track_caller]
fn agrees(program: &Path) {
    let said = run(Command::new(program)).stdout;
    assert!(said.lines().count() > 10, "{said}");
    for line in said.lines() {
        let words: Vec<&str> = line.rsplitn(4, ' ').collect();
        let [size_or_alignment, offset_or_size, member, name] = words[..] else { panic!("{line}") };
        let found = json(program, name);
        let number = |text: &str| text.parse::<u64>().expect("a number");
        if member == "-" {
            assert_eq!(found["size"], number(offset_or_size), "{line}: {found}");
            assert_eq!(found["alignment"], number(size_or_alignment), "{line}: {found}");
            continue;
        }
        let members = found["members"].as_array().expect("members");
        let one = members.iter().find(|one| one["name"] == member).unwrap_or_else(|| panic!("{line}: {found}"));
        assert_eq!(one["bit_offset"], number(offset_or_size) * 8, "{line}: {found}");
        assert_eq!(one["bit_size"], number(size_or_alignment) * 8, "{line}: {found}");
    }
}

#[test]
fn layouts_are_those_of_gcc() {
    agrees(&program_with("layouts.cpp", &["-O0", "-g"]));
    agrees(&program_with("layouts.cpp", &["-O2", "-gdwarf-2"]));
    agrees(&program_with("layouts.cpp", &["-O2", "-fdebug-types-section"]));
}

#[test]
fn layouts_are_those_of_clang() {
    let folder = memtoll_e2e::scratch();
    let program = folder.path().join("layouts");
    let mut command = Command::new("clang++");
    command.args(["-std=c++20", "-g", "-O1", "-o"]).arg(&program).arg(source("layouts.cpp"));
    let outcome = run(command);
    assert!(outcome.status.success(), "{outcome:?}");
    agrees(&program);
}

#[test]
fn layouts_are_those_of_rust() {
    agrees(&program_with("layouts.rs", &["-O2"]));
}

#[test]
fn the_better_order_is_as_small_as_the_compiler_makes_it() {
    let program = program_with("layouts.cpp", &["-O0"]);
    let row = json(&program, "Row");
    assert_eq!((&row["size"], &row["better"]["size"]), (&40.into(), &24.into()), "{row}");
    assert_eq!(row["padding_bits"], 20 * 8);
    for (name, better) in [("app::Packed", false), ("app::Either", false), ("app::Bits", true)] {
        assert_eq!(!json(&program, name)["better"].is_null(), better, "{name}");
    }
    let text = layout(&program, "app::Row", &[]).stdout;
    assert!(
        text.contains("struct app::Row: 40 bytes, aligned to 8, 1 cache line, 20 bytes of padding (50.0 %)"),
        "{text}"
    );
    assert!(text.contains("This order takes 24 bytes, 16 bytes less (40.0 %):"), "{text}");
}

#[test]
fn a_recording_tells_how_many_there_were() {
    let recording = Target::new(program_with("layouts.cpp", &["-O1"])).record();
    let row = json(&recording.file, "app::Row");
    assert_eq!(row["instances"]["at_peak"], 1000, "{row}");
    assert_eq!(row["better"]["saves_at_peak"], 16_000, "{row}");
    let folder = memtoll_e2e::scratch();
    let program = folder.path().join("layouts");
    std::fs::copy(program_with("layouts.cpp", &["-O1"]), &program).expect("a copy");
    let recording = Target::new(program.clone()).record();
    assert!(layout(&recording.file, "app::Row", &[]).stderr.is_empty());
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    std::fs::File::options().append(true).open(&program).and_then(|file| file.set_modified(later)).expect("a time");
    let newer = layout(&recording.file, "app::Row", &[]);
    assert!(!newer.stderr_lines_with(&["is newer than the recording", "older app::Row"]).is_empty(), "{newer:?}");
}

#[test]
fn what_is_not_there_is_said_with_what_to_do() {
    let program = program_with("layouts.cpp", &["-O0"]);
    let missing = layout(&program, "app::Rov", &[]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(!missing.stderr_lines_with(&["no type is called \"app::Rov\"", "app::Row"]).is_empty(), "{missing:?}");
    let stripped = memtoll_e2e::scratch();
    let copy = stripped.path().join("stripped");
    let mut command = Command::new("strip");
    command.arg("-o").arg(&copy).arg(&program);
    assert!(run(command).status.success());
    let bare = layout(&copy, "app::Row", &[]);
    assert_eq!(bare.status.code(), Some(2));
    assert!(!bare.stderr_lines_with(&["no debug information", "-g"]).is_empty(), "{bare:?}");
    let nothing = layout(&stripped.path().join("nothing"), "app::Row", &[]);
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
}
