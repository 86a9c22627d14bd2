//! Who holds the resident set, for programs of which it is known.

use memtoll_e2e::{Recording, Target, printed, program, program_with, read_report};
use serde_json::Value;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
/// Bytes that a block's chunk takes beside it: glibc.
const HEADER: u64 = 8;

/// What the program printed, and the balance of its pages at the end.
struct Told {
    output: String,
    resident: Value,
    text: String,
}

impl Told {
    fn of(target: &Target) -> Told {
        let recording = target.record_alone();
        let resident = balance(&recording, &[]);
        let text = recording.text(&["--resident"]);
        Told { output: recording.outcome.stdout, resident, text }
    }

    fn number(&self, name: &str) -> u64 {
        number(&self.resident, name)
    }

    /// The line that pins most.
    fn first_pin(&self) -> &Value {
        &self.resident["pins"][0]
    }

    #[track_caller]
    fn is_about(&self, name: &str, expected: u64, within: u64) {
        let found = self.number(name);
        assert!(found.abs_diff(expected) <= within, "{name} is {found}, not {expected}: {}", self.resident);
    }
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name}: {value}"))
}

fn balance(recording: &Recording, more: &[&str]) -> Value {
    let arguments: Vec<&str> = ["--resident", "--format", "json"].iter().chain(more).copied().collect();
    let answer: Value = serde_json::from_str(&recording.text(&arguments)).expect("JSON");
    let resident = answer["resident"].clone();
    let parts =
        ["live", "slack", "pinned", "free_pages", "mappings", "stacks", "globals", "files", "recorder", "other"];
    let sum: u64 = parts.iter().map(|part| resident[*part].as_u64().unwrap_or(0)).sum();
    assert_eq!(sum, number(&resident, "rss"), "the parts add up: {resident}");
    let kernel = resident["kernel"][1].as_u64().expect("kernel");
    assert!(sum.abs_diff(kernel) * 100 <= kernel, "within 1 % of the kernel's {kernel}: {resident}");
    resident
}

fn who_holds(layout: &[&str]) -> Told {
    Told::of(&Target::new(program("who_holds.c")).args(layout))
}

/// Pages that the chunks of blocks lie on, of which one in 64 of `count` stays, and the bytes of these chunks.
fn pages_of_survivors(first: u64, count: u64, chunk: u64) -> (u64, u64) {
    let mut pages: Vec<u64> = Vec::new();
    let mut bytes = 0;
    for number in (0..count).step_by(64) {
        let start = first - HEADER + number * chunk;
        pages.extend((start / PAGE)..=(start + chunk - 1) / PAGE);
        bytes += chunk;
    }
    pages.dedup();
    (pages.len() as u64, bytes)
}

#[test]
fn survivors_pin_the_pages_that_they_lie_on() {
    for (size, chunk) in [(100, 112), (33, 48), (200, 208)] {
        let told = who_holds(&["survivors", &size.to_string()]);
        let first = printed(&told.output, "first");
        let (pages, chunks) = pages_of_survivors(first, 400_000, chunk);
        // And a page on which a free chunk behind one begins.
        told.is_about("pinned", pages * PAGE - chunks, pages * PAGE / 50);
        let (allocator, free) = (printed(&told.output, "arena"), printed(&told.output, "free"));
        let known = told.number("pinned") + told.number("free_pages");
        assert!(known.abs_diff(free) <= allocator / 50, "mallinfo says {free} are free: {}", told.resident);
        let pin = told.first_pin();
        assert_eq!(pin["function"], "survivor");
        assert_eq!(number(pin, "blocks"), 6_250);
        assert_eq!(number(pin, "bytes"), 6_250 * size);
        assert!(number(pin, "alone").abs_diff(pages * PAGE) <= pages * PAGE / 50, "{pages} pages: {pin}");
        assert!(
            number(pin, "share").abs_diff(told.number("pinned")) <= told.number("pinned") / 50,
            "{}",
            told.resident
        );
        assert_eq!(told.resident["held_below"]["function"], "survivor");
        assert!(told.text.contains("pinned: free memory on pages that live blocks keep"), "{}", told.text);
    }
}

#[test]
fn trimming_gives_back_the_free_pages() {
    for layout in [&["survivors", "100"][..], &["top"], &["survivors", "200"]] {
        let kept = who_holds(layout);
        let trimmed = who_holds(&[layout, &["trim"]].concat());
        let allocators =
            |told: &Told| ["live", "slack", "pinned", "free_pages"].iter().map(|part| told.number(part)).sum::<u64>();
        let (predicted, measured) = (kept.number("free_pages"), allocators(&kept) - allocators(&trimmed));
        assert!(
            predicted.abs_diff(measured) <= predicted / 50 + 16 * PAGE,
            "{predicted}, measured {measured}: {}",
            kept.resident
        );
    }
}

#[test]
fn what_was_never_touched_is_not_in_memory() {
    let told = who_holds(&["capacity"]);
    told.is_about("live", 32 * MIB, 16 * PAGE);
    told.is_about("never_touched", 32 * MIB, 16 * PAGE);
    assert!(told.text.contains("never touched"), "{}", told.text);
}

#[test]
fn own_mappings_and_global_variables_are_told_apart() {
    let told = who_holds(&["mapping"]);
    told.is_about("mappings", 32 * MIB, 0);
    let told = who_holds(&["globals"]);
    told.is_about("globals", 24 * MIB, MIB);
}

#[test]
fn arenas_of_threads_keep_free_pages() {
    let told = Told::of(&Target::new(program_with("who_holds.c", &["-O2", "-pthread"])).arg("arenas"));
    // 20 threads, each with 2,000 freed blocks of 1,008 bytes.
    told.is_about("free_pages", 20 * 2_000 * 1_008, 20 * 2_000 * 1_008 / 5);
    assert_eq!(number(told.first_pin(), "blocks"), 20);
    let stacks = told.number("stacks");
    assert!((20 * 2 * PAGE..4 * MIB).contains(&stacks), "{stacks} bytes of stacks: {}", told.resident);
}

#[test]
fn a_short_process_says_why_there_is_nothing() {
    let recording = Target::new(program("temporary.c")).record();
    let refused = read_report(&recording.file, &["--resident"]);
    assert!(!refused.status.success());
    let why = "memtoll looks at the pages of processes that use 20 ms of CPU time or 16 MiB";
    assert!(refused.stderr.contains(why), "{refused:?}");
}
