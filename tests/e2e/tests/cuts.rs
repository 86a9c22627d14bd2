//! `--drop`, `--focus` and `--collapse` cut stacks, and what is left adds up.

use memtoll_e2e::{Recording, Target, program_with, read_report};
use std::collections::BTreeMap;

/// Allocations by call path, whichever lines call.
fn paths(recording: &Recording, options: &[&str]) -> BTreeMap<String, u64> {
    let text = recording.text(&[&["--metric", "allocations", "--format", "collapsed"], options].concat());
    let mut sums = BTreeMap::new();
    for (path, count) in text.lines().map(|line| line.rsplit_once(' ').unwrap()) {
        *sums.entry(path.to_owned()).or_default() += count.parse::<u64>().unwrap();
    }
    sums
}

fn expected<const N: usize>(all: [(&str, u64); N]) -> BTreeMap<String, u64> {
    all.map(|(path, count)| (path.to_owned(), count)).into()
}

/// `walk` stands 5 times in the deepest stack and allocates once each time, `visit` 4 times; below that, `leaf` makes 10 blocks,
/// and 7 below `main`.
#[test]
fn stacks_are_cut_as_asked() {
    let recording = Target::new(program_with("recursion.c", &["-O1", "-g"])).record();
    let of = |options: &[&str]| paths(&recording, options);
    assert_eq!(of(&[]).values().sum::<u64>(), 26);
    assert_eq!(of(&[]).len(), 11);

    let once = expected([("main;walk", 5), ("main;walk;visit", 4), ("main;walk;leaf", 10), ("main;leaf", 7)]);
    assert_eq!(of(&["--collapse", "^walk$"]), once);
    assert_eq!(of(&["--collapse", "^(walk|visit)$"]), once);
    assert_eq!(of(&["--collapse", "^recursion"]), expected([("main", 26)]), "all of its functions are of one file");
    // A function and a file may have the same name.
    assert_eq!(of(&["--collapse", "module:^recursion"]), expected([("main", 26)]));
    assert_eq!(of(&["--collapse", "function:^recursion"]), of(&[]));
    assert_eq!(of(&["--collapse", "module:^walk$"]), of(&[]));
    assert_eq!(of(&["--collapse", "module:^libz\nfunction:^walk$"]), once);

    assert_eq!(of(&["--drop", "^visit$"]), expected([("main;walk", 1), ("main;leaf", 7)]));
    let within = of(&["--focus", "^visit$"]);
    assert_eq!(within.values().sum::<u64>(), 18);
    assert_eq!(
        (within["visit"], within["visit;walk"], within["visit;walk;visit;walk;visit;walk;visit;walk;leaf"]),
        (1, 1, 10)
    );
    assert_eq!(
        of(&["--focus", "^visit$", "--collapse", "^(walk|visit)$"]),
        expected([("visit", 4), ("visit;walk", 4), ("visit;walk;leaf", 10)])
    );
    assert_eq!(of(&["--focus", "^leaf$", "--drop", "^walk$"]), expected([("leaf", 7)]));
    assert_eq!(
        of(&["--focus", "^leaf$", "--filter", "^main$"]),
        expected([("leaf", 17)]),
        "the filter sees whole stacks"
    );

    let none = read_report(&recording.file, &["--focus", "^leaf$", "--drop", "^main$"]);
    assert!(!none.status.success());
    assert_eq!(none.stderr, "memtoll: no call stack is left with --focus \"^leaf$\" and --drop \"^main$\"\n");
}

/// What calls an inlined function stays, whichever of its calls within each other is cut.
#[test]
fn inlined_functions_collapse_as_others() {
    let recording = Target::new(program_with("inlined_recursion.c", &["-O1", "-g"])).record();
    let of = |options: &[&str]| paths(&recording, options);
    assert_eq!(of(&[])["main;step;again;step;again;step;again;step"], 1);
    assert_eq!(of(&["--collapse", "^step$"]), expected([("main;step", 4)]));
    assert_eq!(of(&["--collapse", "^again$"]), expected([("main;step", 1), ("main;step;again;step", 3)]));
    assert_eq!(of(&["--collapse", "^(step|again)$"]), expected([("main;step", 4)]));
    let within = of(&["--focus", "^again$", "--collapse", "^step$"]);
    assert_eq!(within, expected([("again;step", 3)]));
}
