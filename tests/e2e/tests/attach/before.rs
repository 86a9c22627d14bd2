//! Blocks that a process had before memtoll was attached to it: what the program says of them is what the recording says.

use super::{Attached, Running, report};
use memtoll_e2e::{program, read_report, scratch};
use std::process::Command;

/// Two numbers of an answer: blocks and bytes.
#[track_caller]
fn numbers(answer: &str) -> (u64, u64) {
    let mut words = answer.split(' ').map(|word| word.parse().unwrap());
    (words.next().unwrap(), words.next().unwrap())
}

fn had_blocks(threads: u32, blocks: u32) -> Running {
    let mut command = Command::new(program("had_blocks.c"));
    command.args([threads.to_string(), blocks.to_string()]);
    Running::start(command)
}

#[test]
fn blocks_from_before_are_live_from_the_first_second_and_found_by_their_frees() {
    for (threads, blocks) in [(1, 30_000), (4, 5_000)] {
        let folder = scratch();
        let file = folder.path().join("a.memtoll");
        let mut running = had_blocks(threads, blocks);
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
        assert!(others <= u64::from(threads) * 64 + 64, "{threads} threads: {before:?}, {had} {freed:?} {grown:?}");
        let bytes = before.live_bytes + freed.1 + grown.1 - had_bytes;
        assert!(bytes <= u64::from(threads) * 64 * 4100 + 80_000, "{bytes} of {others}");
        assert_eq!((before.new_blocks, before.bytes, before.temporary), (0, 0, 0), "they are no allocations");
        let text = read_report(&file, &[]).stdout;
        assert!(text.contains("before attach"), "{text}");
    }
}
