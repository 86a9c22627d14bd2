//! Processes with namespaces of their own: another root, network, user and other numbers of processes.

use super::*;
use memtoll_e2e::{install, is_root};
use memtoll_processor::HERE;

/// The libraries that the program needs, and its loader.
fn libraries(program: &Path) -> Vec<String> {
    let text = Command::new("ldd").arg(program).output().unwrap().stdout;
    let words: Vec<String> = String::from_utf8(text).unwrap().split_whitespace().map(str::to_owned).collect();
    words.into_iter().filter(|word| word.starts_with('/')).collect()
}

#[test]
fn from_outside_of_a_container() {
    if !is_root() {
        return skipped("only root may enter other networks");
    }
    let folder = scratch();
    let root = folder.path().join("root");
    let program = program("attached.c");
    for library in libraries(&program) {
        let place = root.join(library.trim_start_matches('/'));
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(&library, &place).unwrap();
    }
    assert!(root.join(HERE.loader.trim_start_matches('/')).exists(), "ldd names the loader");
    std::fs::create_dir_all(root.join("proc")).unwrap();
    install(&program, &root.join("attached"));
    let mut command = Command::new("unshare");
    command
        .args(["-Urmpn", "--fork", "--mount-proc"])
        .arg(format!("--root={}", root.display()))
        .args(["/attached", "3"]);
    let mut running = Running::start(command);
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let inside: u32 = std::fs::read_to_string(children).unwrap().trim().parse().unwrap();
    for namespace in ["mnt", "net", "pid", "user"] {
        let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/{namespace}")).unwrap();
        assert_ne!(of(&inside.to_string()), of("self"), "{namespace}");
    }
    for round in 0..2 {
        let file = folder.path().join(format!("{round}.memtoll"));
        let attached = Attached::to(inside, &file);
        assert_eq!(running.ask("exact"), "made");
        attached.end();
        expect_exact(&report(&file).function("exact"), 3);
    }
    running.end_well();
}
