//! `memtoll record --html` and `--view`: the recording is shown, and the exit code is the program's.

use memtoll_e2e::{memtoll, run, scratch, wait_until};
use std::fs::{self, File};
use std::process::{Command, Stdio};

#[test]
fn a_page_is_written_beside_the_recording_or_where_it_is_to_be() {
    let folder = scratch();
    let at = |name: &str| folder.path().join(name);
    for (option, page) in
        [("--html".to_owned(), at("a.html")), (format!("--html={}", at("b.html").display()), at("b.html"))]
    {
        let mut command = Command::new(memtoll());
        command.args(["record", "-q", "--force", "-o"]).arg(at("a.memtoll")).arg(option);
        command.args(["--", "sh", "-c", "echo out; exit 3"]);
        let outcome = run(command);
        assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(3), "out\n"), "{outcome:?}");
        let text = fs::read_to_string(&page).expect("the page");
        assert!(text.starts_with("<!doctype html>"), "{}", &text[..100]);
    }
}

#[test]
fn a_page_that_is_there_stays_and_nothing_runs() {
    let folder = scratch();
    let page = folder.path().join("there.html");
    fs::write(&page, "mine").expect("a file");
    let mut command = Command::new(memtoll());
    command.arg("record").arg(format!("--html={}", page.display())).args(["--", "echo", "out"]);
    let outcome = run(command);
    assert_eq!((outcome.status.code(), outcome.stdout.as_str()), (Some(125), ""), "{outcome:?}");
    assert!(!outcome.stderr_lines_with(&["exists", "--force"]).is_empty(), "{outcome:?}");
    assert_eq!(fs::read_to_string(&page).expect("the page"), "mine");
}

#[test]
fn the_viewer_opens_after_the_program_and_ctrl_c_ends_it() {
    let folder = scratch();
    let said = folder.path().join("stderr");
    let mut command = Command::new(memtoll());
    command.args(["record", "-q", "--view", "-o"]).arg(folder.path().join("a.memtoll"));
    command.args(["--", "sh", "-c", "exit 5"]).env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said).expect("a file"));
    let mut child = command.spawn().expect("memtoll");
    wait_until("the viewer listens", || {
        fs::read_to_string(&said).is_ok_and(|text| text.contains("http://127.0.0.1:") && text.contains("Ctrl-C"))
    });
    // SAFETY: kill takes no pointers; the child is not waited for before.
    assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) }, 0);
    assert_eq!(child.wait().expect("memtoll ends").code(), Some(5), "{:?}", fs::read_to_string(&said));
}
