//! Programs of another C library than glibc: musl, of which no code has unwind tables.

use memtoll_e2e::{Recording, Target, library, program, program_with};
use std::path::PathBuf;

/// Debian's musl-gcc leaves out the search table for unwind tables, which musl's own distributions have.
const MUSL: &[&str] = &["-O2", "musl-gcc", "-Wl,--eh-frame-hdr"];

fn of_musl(name: &str) -> PathBuf {
    program_with(name, MUSL)
}

fn whole() -> Recording {
    let plugin = library("plugin.c", &["musl-gcc", "-Wl,--eh-frame-hdr", "-DPLUGIN_A"]);
    let recording = Target::new(of_musl("of_musl.c")).arg(plugin).arg(program("tiny.c")).record();
    assert_eq!((recording.outcome.status.code(), &*recording.outcome.stdout), (Some(43), "done\n"));
    recording
}

#[test]
fn all_blocks_are_counted() {
    let report = whole().report();
    report.expect_new_blocks(&[("of_a_thread", 4 * 1001), ("plugin_a_work", 3), ("of_a_child", 1), ("work", 42)]);
    let threads = report.function("of_a_thread");
    assert_eq!((threads.live_blocks, threads.live_bytes), (4, 4 * 500));
    assert_eq!(threads.bytes, 4 * (1000 * 100 + 500));
    let [program, child] =
        [Some(43), Some(3)].map(|code| report.processes.iter().filter(|process| process.exit_code() == code).count());
    assert_eq!((program, child), (1, 1), "{:?}", report.processes);
}

#[test]
fn stacks_go_through_the_c_library() {
    let recording = whole();
    assert_eq!(recording.report().totals.cut_off, 0);
    let collapsed = recording.text(&["--format", "collapsed", "--unfold"]);
    for (path, blocks) in [(&["main", "copies", "strdup"][..], 100), (&["main", "sorts", "qsort", "compare"], 1)] {
        let found: u64 = collapsed
            .lines()
            .filter(|line| {
                let mut rest = *line;
                path.iter().all(|name| {
                    rest.split_once(name).is_some_and(|(_, behind)| {
                        rest = behind;
                        true
                    })
                })
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum();
        assert!(found >= blocks, "{found} blocks of {path:?} in\n{collapsed}");
    }
}

#[test]
fn programs_of_the_other_tests_count_the_same() {
    for (name, sites) in [
        ("hammer.c", &[("hammer_one", 400_000)][..]),
        ("handover.c", &[("produce", 2000)]),
        ("fork_both.c", &[("before_fork", 50), ("parent_side", 100), ("child_side", 200), ("grandchild_side", 300)]),
    ] {
        let recording = Target::new(of_musl(name)).record();
        recording.report().expect_new_blocks(sites);
    }
}
