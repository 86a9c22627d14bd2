//! Which blocks are left at the end, and which of them nothing points to, of programs of which it is known.

use memtoll_e2e::{Recording, Target, matches, program, program_with, read_report, run, scratch};
use serde_json::Value;
use std::collections::BTreeMap;

/// Blocks and bytes: lost, indirectly lost, possibly lost, live.
type Counts = [(u64, u64); 4];

const NAMES: [(&str, &str); 4] = [
    ("lost_blocks", "lost_bytes"),
    ("indirectly_lost_blocks", "indirectly_lost_bytes"),
    ("possibly_lost_blocks", "possibly_lost_bytes"),
    ("live_blocks", "live_bytes"),
];

fn lost(arguments: &[&str]) -> Target {
    Target::new(program_with("lost.c", &["-lpthread"])).args(arguments)
}

fn json(recording: &Recording, more: &[&str]) -> Value {
    let arguments: Vec<&str> = ["--format", "json"].iter().chain(more).copied().collect();
    serde_json::from_str(&recording.text(&arguments)).expect("JSON")
}

fn counts(metrics: &Value) -> Option<Counts> {
    let number = |name: &str| metrics[name].as_u64();
    let mut counts = Counts::default();
    for (place, (blocks, bytes)) in counts.iter_mut().zip(NAMES) {
        *place = (number(blocks)?, number(bytes)?);
    }
    Some(counts)
}

/// By function of `lost.c`: what it left.
fn left(recording: &Recording) -> BTreeMap<String, Counts> {
    let answer = json(recording, &[]);
    let mut left = BTreeMap::<String, Counts>::new();
    for site in answer["sites"].as_array().expect("sites") {
        let function = site["function"].as_str().unwrap_or_default();
        let known = counts(site).unwrap_or_else(|| panic!("not known: {site}\n{}", answer["notes"]));
        let of = ["kept_node", "lost_head", "lost_tail", "inner_block", "held_block", "large_block", "last_block"];
        let Some(function) = of.into_iter().find(|name| matches(function, name)) else { continue };
        let sum = left.entry(function.to_owned()).or_default();
        sum.iter_mut().zip(known).for_each(|(sum, one)| *sum = (sum.0 + one.0, sum.1 + one.1));
    }
    left
}

#[track_caller]
fn leaves(arguments: &[&str], expected: &[(&str, Counts)]) {
    let recording = lost(arguments).record();
    let expected: BTreeMap<String, Counts> = expected.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect();
    assert_eq!(left(&recording), expected, "{arguments:?}");
}

const NONE: (u64, u64) = (0, 0);
const HELD: (u64, u64) = (1, 200);

#[test]
fn each_kind_of_loss_is_told() {
    for end in ["exit", "_exit", "abort"] {
        leaves(
            &["lists", end],
            &[
                ("kept_node", [NONE, NONE, NONE, (5, 320)]),
                ("lost_head", [(1, 64), NONE, NONE, (1, 64)]),
                ("lost_tail", [NONE, (3, 192), NONE, (3, 192)]),
                ("inner_block", [NONE, NONE, (1, 100), (1, 100)]),
                ("large_block", [(1, 300_000), NONE, NONE, (1, 300_000)]),
            ],
        );
    }
}

#[test]
fn what_another_thread_holds_is_not_lost() {
    leaves(&["stack"], &[("held_block", [NONE, NONE, NONE, HELD])]);
    leaves(&["variable"], &[("held_block", [NONE, NONE, NONE, HELD])]);
}

#[test]
fn what_only_a_thread_held_that_has_ended_is_lost() {
    leaves(&["thread"], &[("held_block", [HELD, NONE, NONE, HELD])]);
}

#[test]
fn a_register_a_mapping_and_the_kernel_hold_blocks() {
    leaves(&["register"], &[("held_block", [NONE, NONE, NONE, HELD])]);
    leaves(&["mapping"], &[("held_block", [NONE, NONE, NONE, HELD])]);
    leaves(&["epoll"], &[("held_block", [NONE, NONE, NONE, HELD])]);
}

/// malloc's own variables point to the chunk behind it.
#[test]
fn what_malloc_itself_knows_of_a_block_does_not_keep_it() {
    leaves(&["last"], &[("last_block", [(1, 24), NONE, NONE, (1, 24)])]);
}

/// The child's list goes on in blocks of its parent's, which are not among those of the child.
#[test]
fn a_forked_child_is_searched_too() {
    leaves(
        &["fork"],
        &[
            ("kept_node", [NONE, NONE, NONE, (7, 448)]),
            ("lost_head", [(1, 64), NONE, NONE, (1, 64)]),
            ("lost_tail", [NONE, (3, 192), NONE, (3, 192)]),
        ],
    );
}

#[test]
fn without_a_search_nothing_is_known() {
    let of = |recording: &Recording| json(recording, &[])["totals"]["lost_bytes"].clone();
    let switched_off = lost(&["lists"]).option("--no-leak-search").record();
    assert_eq!(of(&switched_off), Value::Null);
    let killed = lost(&["lists", "signal"]).record();
    assert_eq!(of(&killed), Value::Null);
    let recording = lost(&["lists"]).record();
    assert_eq!(of(&recording), Value::from(300_064));
    let at_peak = json(&recording, &[])["totals"]["peak_with_mappings"]["at_ns"].as_u64().unwrap();
    let part = json(&recording, &["--to", &format!("{}ns", at_peak + 1000)]);
    assert!(part["totals"]["live_blocks"].as_u64() > Some(0), "{part:#}");
    assert_eq!(part["totals"]["lost_bytes"], Value::Null, "of a part");
}

#[test]
fn the_report_tells_what_is_lost_from_what_is_reachable() {
    let text = |arguments: &[&str]| lost(arguments).record().text(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
    let lists = text(&["lists"]);
    let expected = "293 KiB of it lost, in 5 blocks: nothing points to them at the end but other lost blocks; 100 B possibly \
                    lost, in 1 block: pointers lead only into the middle";
    assert!(lists.contains(expected), "{lists}");
    assert!(lists.contains("are lost") || lists.contains("is lost"), "a finding: {lists}");
    let kept = text(&["kept"]);
    assert!(kept.contains("0 B of it lost: something points to every block at the end"), "{kept}");
    let stack = text(&["stack"]);
    assert!(stack.contains("of 1 thread that had not ended, memtoll did not see the registers"), "{stack}");
}

/// memtoll copies the program's memory and lets it go before its calls are packed. What it then does counts for nothing.
#[test]
fn a_program_is_searched_and_does_not_wait_however_far_memtoll_is_behind() {
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let target = Target::new(program_with("far_behind.c", &["-lpthread"])).arg(&file);
    let recording = Recording::of(run(target.record_command(&file)), file, directory);
    let totals = &json(&recording, &[])["totals"];
    assert_eq!((&totals["lost_blocks"], &totals["lost_bytes"]), (&1.into(), &100.into()), "{totals}");
    let packed: u64 = recording.outcome.stdout.trim().trim_start_matches("recorded ").parse().expect("bytes");
    let all = std::fs::metadata(&recording.file).expect("the recording").len();
    assert!(packed < all / 2, "the program waited until {packed} of {all} B were there");
}

/// One program is searched, and leaves nothing; a signal ends the other.
#[test]
fn what_was_not_searched_is_not_taken_for_reachable() {
    let program = program_with("lost.c", &["-lpthread"]);
    let script = format!("{0} kept && {0} lists signal; true", program.display());
    let text = Target::new("/bin/sh").args(["-c", &script]).record().text(&[]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("0 B of it lost where memtoll searched: something points to every block there"), "{text}");
    let (before, after) =
        text.split_once(" more blocks may be lost: memtoll did not search ").expect("what was not searched");
    assert!(before.ends_with("; 11"), "{text}");
    assert!(after.split_once(' ').expect("a pid").1.contains("(it ended by SIG"), "{text}");
}

/// A shell executes the program: its own blocks are neither live nor lost at the end, and say nothing of what the program leaves.
#[test]
fn blocks_that_exec_discards_are_neither_live_nor_lost() {
    let program = program_with("lost.c", &["-lpthread"]);
    let executed = |words: &str| {
        let script = format!("true; exec {} {words}", program.display());
        let recording = Target::new("/bin/sh").args(["-c", &script]).record();
        let text = recording.text(&[]).split_whitespace().collect::<Vec<_>>().join(" ");
        (json(&recording, &["--group", "process"]), text)
    };
    let (answer, text) = executed("lists");
    assert_eq!(answer["totals"]["lost_bytes"], 300_064);
    let sites = answer["sites"].as_array().expect("sites");
    let shell =
        sites.iter().find(|site| site["function"].as_str().is_some_and(|name| name.contains(" /bin/sh "))).unwrap();
    assert_eq!(
        (&shell["lost_bytes"], &shell["live_blocks"], &shell["live_bytes"]),
        (&0.into(), &0.into(), &0.into()),
        "{shell}"
    );
    let [got, freed] = ["allocations", "freed"].map(|name| shell[name].as_u64().expect(name));
    assert!(got > freed && text.contains(&format!("; exec discarded {} more blocks ", got - freed)), "{shell}: {text}");
    assert!(!text.contains("may be lost"), "{text}");
    let (answer, text) = executed("lists signal");
    assert_eq!(answer["totals"]["lost_bytes"], Value::Null, "a signal ended the program: {text}");
    let (answer, text) = executed("no-such-way");
    assert_eq!(answer["totals"]["lost_bytes"], 0, "{text}");
    assert!(text.contains("0 B never freed, in 0 blocks; exec discarded "), "{text}");
}

/// Of the list, the head and the others; a large block is left.
#[test]
fn suppressed_blocks_are_not_told() {
    let recording = lost(&["lists"]).record();
    let file = recording.file.with_extension("supp");
    std::fs::write(&file, "# a list that is known\nleak:^lose_list$\n").unwrap();
    let options = ["--suppressions", file.to_str().unwrap()];
    let totals = json(&recording, &options)["totals"].clone();
    assert_eq!(counts(&totals).unwrap()[..3], [(1, 300_000), NONE, (1, 100)]);
    let text = recording.text(&options).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("256 B more in 4 blocks suppressed"), "{text}");

    std::fs::write(&file, "race:lose_list\n").unwrap();
    let refused = read_report(&recording.file, &options);
    assert!(refused.stderr.contains("line 1 is \"race:lose_list\""), "{}", refused.stderr);
}

/// The text is read from the program's file, however it was compiled.
#[test]
fn a_program_suppresses_its_own_leaks() {
    for level in ["-O0", "-O2"] {
        let target = program_with("lost.c", &["-lpthread", level, "-DSUPPRESSED=\"lost_tail\""]);
        let recording = Target::new(target).arg("lists").record();
        let totals = json(&recording, &[])["totals"].clone();
        assert_eq!(counts(&totals).unwrap()[..3], [(2, 300_064), NONE, (1, 100)], "{level}");
    }
}

#[test]
fn what_is_kept_is_no_finding_where_it_is_little_beside_the_programs_mappings() {
    for (arguments, is_found) in [(&[][..], true), (&["beside mappings"], false)] {
        let recording = Target::new(program("keeps_little.c")).args(arguments).record();
        let answer = json(&recording, &[]);
        let found = answer["findings"].as_array().expect("findings");
        let also = found.iter().flat_map(|finding| finding["also"].as_array().into_iter().flatten());
        let keeps = found.iter().chain(also).any(|finding| finding["id"] == "never-freed");
        assert_eq!(keeps, is_found, "{arguments:?}: {found:#?}");
    }
}
