//! `memtoll tui` on a terminal: what comes to the screen, and that the terminal is as before at the end.

use memtoll_e2e::{Recording, Target, Terminal, memtoll, program, program_with, run, scratch};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Leaves the alternate screen, and shows the cursor.
const GIVEN_BACK: &str = "\u{1b}[?1049l\u{1b}[?25h";

/// A command line that shows a recording, says how that ended, and whether the terminal is as it was.
fn shows(recording: &Recording, folder: &Path) -> String {
    format!(
        "cd {}; stty -g >before; sh -c 'echo $$ >pid; exec {} tui --no-debuginfod {}'; echo code $?; \
         stty -g >after; cmp before after && echo same",
        folder.display(),
        memtoll().display(),
        recording.file.display()
    )
}

#[track_caller]
fn is_as_before(shown: &str, code: i32) {
    let (_, end) = shown.split_once(GIVEN_BACK).unwrap_or_else(|| panic!("not given back: {shown:?}"));
    // Before that, some shells say which signal it was.
    assert!(end.ends_with(&format!("code {code}\r\nsame\r\n")), "{shown:?}");
}

#[test]
fn views_come_to_the_screen_and_the_terminal_is_given_back() {
    let recording = Target::new(program("peak.c")).record();
    for keys in ["q", "\u{3}"] {
        let folder = scratch();
        let terminal = Terminal::start(&shows(&recording, folder.path())).wait_for("What memory costs");
        let shown = terminal.press("4").wait_for("▏all").press(keys).finish();
        is_as_before(&shown, 0);
    }
}

#[test]
fn parameters_tell_overloads_apart() {
    let program = program_with("same_names.cpp", &["-O2", "-ldl"]);
    let recording = Target::new(program).env("IS_SECOND", "1").record();
    let folder = scratch();
    let terminal = Terminal::start(&shows(&recording, folder.path())).wait_for("2 Lines").press("2").wait_for("made(");
    let shown = terminal.press("q").finish();
    assert!(["made(int)", "made(long)"].iter().all(|overload| shown.contains(overload)), "{shown}");
}

#[test]
fn a_signal_ends_it_and_the_terminal_is_given_back() {
    let recording = Target::new(program("peak.c")).record();
    for (signal, code) in [(libc::SIGTERM, 143), (libc::SIGINT, 130)] {
        let folder = scratch();
        let terminal = Terminal::start(&shows(&recording, folder.path())).wait_for("What memory costs");
        let pid = fs::read_to_string(folder.path().join("pid")).expect("the process").trim().parse().expect("a number");
        // SAFETY: kill takes no pointers, and the process waits for keys.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
        is_as_before(&terminal.finish(), code);
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let recording = Target::new(program("peak.c")).record();
    // The second shell ignores the signal, and goes on waiting for its child.
    for shell in ["", "trap '' HUP; "] {
        let folder = scratch();
        let line = format!("{shell}{}", shows(&recording, folder.path()));
        let terminal = Terminal::start(&line).wait_for("What memory costs");
        let pid = fs::read_to_string(folder.path().join("pid")).expect("the process");
        let process = Path::new("/proc").join(pid.trim());
        assert!(process.exists());
        let hung_up = std::thread::spawn(|| terminal.hang_up());
        let began = Instant::now();
        while process.exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "it goes on without a terminal");
            sleep(Duration::from_millis(50));
        }
        hung_up.join().expect("the shell ends with its child");
    }
}

#[test]
fn a_function_with_an_escape_sequence_for_a_name_is_harmless() {
    let recording = Target::new(program("hostile_names.c")).record();
    let folder = scratch();
    let terminal = Terminal::start(&shows(&recording, folder.path())).wait_for("What memory costs");
    let shown = terminal.press("2").wait_for("owned").press("q").finish();
    assert!(shown.contains("\\u{1b}]0;owned\\u{7}"), "{shown:?}");
    assert!(!shown.contains("\u{1b}]0;"), "{shown:?}");
    is_as_before(&shown, 0);
}

#[test]
fn without_a_terminal_it_says_so() {
    let recording = Target::new(program("peak.c")).record();
    let mut command = Command::new(memtoll());
    command.args(["tui", "--no-debuginfod"]).arg(&recording.file);
    let outcome = run(command);
    assert_eq!(outcome.status.code(), Some(1));
    assert_eq!(outcome.stdout, "");
    assert!(!outcome.stderr_lines_with(&["no terminal", "memtoll report"]).is_empty(), "{outcome:?}");
}
