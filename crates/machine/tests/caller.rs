//! Measuring prices leaves nothing behind in the process that asks for them. The only test of its process: others would
//! open files meanwhile.

use std::fs;

fn entries(folder: &str) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn the_caller_is_left_alone() {
    memtoll_machine::prices().unwrap(); // the heap grows once
    let state =
        || (entries("/proc/self/fd"), entries("/proc/self/task"), fs::read_to_string("/proc/self/maps").unwrap());
    let before = state();
    for _ in 0..3 {
        memtoll_machine::prices().unwrap();
    }
    let after = state();
    assert_eq!(before.0, after.0, "descriptors stay open");
    assert_eq!(before.1, after.1, "threads stay");
    assert_eq!(before.2, after.2, "mappings have changed");
    let child = rustix::process::wait(rustix::process::WaitOptions::NOHANG);
    assert_eq!(child.err(), Some(rustix::io::Errno::CHILD), "a child was not waited for");
}
