//! Programs that run inside Valgrind are recorded as ever, in less shared memory: memcheck keeps account of each byte that is
//! mapped, and would take 13 s of CPU to start.

use memtoll_e2e::{Target, program};
use std::path::Path;

/// Bytes of address space that `cat`, started behind `words` and recorded, shares with memtoll.
fn shared(words: &[&str]) -> u64 {
    let words = [words, &["cat", "/proc/self/maps"]].concat();
    let outcome = Target::new(words[0]).args(&words[1..]).record_alone().outcome;
    assert!(outcome.status.success(), "{outcome:?}");
    let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let bytes = |line: &str| {
        let (begin, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        address(end) - address(begin)
    };
    outcome.stdout.lines().filter(|line| line.contains("/memfd:memtoll")).map(bytes).sum()
}

#[test]
fn little_is_mapped_there() {
    const MOST: u64 = 130 << 20;
    for tool in ["--tool=none", "--tool=memcheck"] {
        let bytes = shared(&["valgrind", "-q", tool]);
        assert!((1 << 20..MOST).contains(&bytes), "{tool}: {bytes} bytes");
    }
    assert!(shared(&["env"]) > 10 * MOST);
}

#[test]
fn counts_are_exact_there() {
    let inside = |program: &Path| Target::new("valgrind").args(["-q", "--tool=none"]).arg(program);
    let sizes = program("sizes.c");
    let report = inside(&sizes).record().report_with(&[]);
    report.expect_new_blocks(&[("small_ones", 300), ("middle_ones", 100), ("large_ones", 10)]);
    let module = report.sites.iter().find(|site| site.is_in("small_ones")).unwrap().module.as_deref();
    assert_eq!(module, sizes.to_str());
    // Each of its threads has a chunk of its own at the same time; Valgrind allows 500.
    let recording = inside(&program("alive_at_once.c")).arg("450").record();
    let report = recording.report_with(&[]);
    report.expect_new_blocks(&[("left_to_main", 450), ("own_block", 450)]);
    assert_eq!((report.recorder.dropped, &report.missing[..]), (0, &[][..]), "{:?}", recording.outcome);
}

/// Valgrind has a look at each call of the system. One of a library's constructors, as of `ls`, has the recorder ask which
/// memory may be read.
#[test]
fn valgrind_does_not_complain() {
    let recording = Target::new("valgrind").args(["-q", "--tool=none", "ls"]).record();
    let complaints: Vec<&str> = recording.outcome.stderr.lines().filter(|line| line.starts_with("--")).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    // The tool that Valgrind executes is static, but what runs inside is recorded.
    assert!(recording.outcome.stderr_lines_with(&["is not recorded"]).is_empty(), "{:?}", recording.outcome);
    assert!(recording.report_with(&[]).sites.iter().any(|site| site.module.as_deref() == Some("/usr/bin/ls")));
}
