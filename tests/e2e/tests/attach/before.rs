//! Blocks that a process had before memtoll was attached to it: what the program says of them is what the recording says.

use super::{Attached, Running, expect_exact, report};
use memtoll_e2e::{program, read_report, scratch};
use std::process::Command;

/// Two numbers of an answer: blocks and bytes.
#[track_caller]
fn numbers(answer: &str) -> (u64, u64) {
    let mut words = answer.split(' ').map(|word| word.parse().unwrap());
    (words.next().unwrap(), words.next().unwrap())
}

fn had_blocks(threads: u32, blocks: u32, more: &[&str]) -> Running {
    let mut command = Command::new(program("had_blocks.c"));
    command.args([threads.to_string(), blocks.to_string()]).args(more);
    Running::start(command)
}

#[test]
fn blocks_from_before_are_live_from_the_first_second_and_found_by_their_frees() {
    for (threads, blocks, more) in [(1, 30_000, &[][..]), (4, 5_000, &[]), (4, 5_000, &["odd"]), (50, 500, &[])] {
        let folder = scratch();
        let file = folder.path().join("a.memtoll");
        let mut running = had_blocks(threads, blocks, more);
        let (had, had_bytes) = numbers(&running.ask("count"));
        let attached = Attached::to(running.pid(), &file);
        let freed = numbers(&running.ask("free"));
        let grown = numbers(&running.ask("grow"));
        attached.end();
        running.end_well();
        let found = report(&file);
        let before = &found.sites.iter().find(|site| site.function == "before attach").unwrap().metrics;
        // Beside the blocks that it knows it has those of the threads' rounds, of the C library and of the loader.
        let others = before.live_blocks + freed.0 + grown.0 - had;
        assert!(
            others <= u64::from(threads) * 64 + 64,
            "{threads} threads {more:?}: {before:?}, {had} {freed:?} {grown:?}"
        );
        let bytes = before.live_bytes + freed.1 + grown.1 - had_bytes;
        assert!(bytes <= u64::from(threads) * 64 * 4100 + 80_000, "{bytes} of {others}");
        assert_eq!((before.new_blocks, before.bytes, before.temporary), (0, 0, 0), "they are no allocations");
        let text = read_report(&file, &[]).stdout;
        assert!(text.contains("before attach"), "{text}");
    }
}

/// It goes on: memtoll saw no end at which it could look.
#[test]
fn who_asks_for_pages_that_memtoll_did_not_see_learns_how_to_see_them() {
    let folder = scratch();
    let file = folder.path().join("a.memtoll");
    let running = had_blocks(1, 10, &[]);
    Attached::to(running.pid(), &file).end();
    running.end_well();
    let why = read_report(&file, &["--resident"]).stderr;
    assert!(why.ends_with("; of one that goes on, memtoll snapshot asks for a look\n"), "{why}");
}

const ROUNDS: u32 = 8;
/// How long calls wait before memtoll gives up, ms.
const LONGEST_MS: f64 = 70.0;

/// Attaches to `attached.c` again and again, with two threads that allocate all the time and something that makes it hard, until the
/// blocks from before were known in [`ROUNDS`] of at most `tries` rounds. In each one, calls must be exact. Where the blocks are not
/// known, because a thread inside malloc got no processor in time, calls must have waited for the longest time, and the report must say so.
#[track_caller]
fn expect_known(how: &str, tries: u32) {
    const THREADS: u64 = 2;
    let folder = scratch();
    let mut command = Command::new(program("attached.c"));
    command.args([&THREADS.to_string(), how]);
    let mut running = Running::start(command);
    let (mut known, mut not_known) = (0, Vec::new());
    for round in 0..tries {
        if known == ROUNDS {
            break;
        }
        let file = folder.path().join(format!("{round}.memtoll"));
        let attached = Attached::to(running.pid(), &file);
        assert_eq!(running.ask("exact"), "made");
        let said = attached.end();
        let found = report(&file);
        if found.sites.iter().any(|site| site.function == "before attach") {
            known += 1;
        } else {
            assert!(said.contains("not known  blocks from before attach: a thread did not leave"), "{said}");
            let waited =
                said.split("waited for up to ").nth(1).and_then(|rest| rest.split(';').next()).expect("a time");
            // Seconds are long enough.
            let is_long = match waited.strip_suffix("ms") {
                Some(ms) => ms.trim().parse::<f64>().expect("ms") >= LONGEST_MS,
                None => !waited.ends_with("µs"),
            };
            assert!(is_long, "{said}");
            not_known.push(said);
        }
        expect_exact(&found.function("exact"), THREADS);
    }
    assert_eq!(known, ROUNDS, "known in {known} of {tries} rounds: {not_known:#?}");
    running.end_well();
}

#[test]
fn a_signal_handler_that_interrupts_malloc_and_allocates_does_not_wait() {
    expect_known("signals", ROUNDS + 2);
}

#[test]
fn forks_while_calls_are_held_go_on() {
    // A fork holds the heap's locks; on a busy machine it may last for longer than calls may wait.
    expect_known("forks", ROUNDS * 2);
}
