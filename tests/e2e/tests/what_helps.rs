//! What `report --resident` says would make the resident set smaller, against programs that do it.

use memtoll_e2e::{Target, memtoll, printed, program, program_with, run, skipped};
use serde_json::Value;

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;
const HUGE: u64 = 2 * MIB;

fn target(layout: &[&str], remedy: &str) -> Target {
    Target::new(program("what_helps.c")).args(layout).arg(remedy)
}

/// What a program that records nothing says of its resident set.
fn plainly(target: &Target, word: &str) -> u64 {
    printed(&run(target.plain_command()).stdout, word)
}

/// What the remedy saves within one run.
fn saved_within(layout: &[&str], remedy: &str) -> u64 {
    let output = run(target(layout, remedy).plain_command()).stdout;
    // A layout that prints it twice does so last before its remedy.
    let before = output.lines().rfind(|line| line.starts_with("before")).expect("a line").to_owned();
    printed(&before, "before").saturating_sub(printed(&output, "after"))
}

struct Helps {
    output: String,
    resident: Value,
    wastes: Vec<Value>,
    huge_pages: Value,
    text: String,
    first_screen: String,
}

impl Helps {
    fn of(target: &Target) -> Helps {
        let recording = target.record_alone();
        let answer: Value = serde_json::from_str(&recording.text(&["--resident", "--format", "json"])).expect("JSON");
        let resident = answer["resident"].clone();
        let wastes = resident["wastes"].as_array().expect("wastes").clone();
        let first_screen = recording.outcome.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        Helps {
            output: recording.outcome.stdout.clone(),
            huge_pages: resident["huge_pages"].clone(),
            resident,
            wastes,
            text: recording.text(&["--resident"]),
            first_screen,
        }
    }

    /// The waste of a kind, of a function where it has one.
    #[track_caller]
    fn waste(&self, kind: &str, function: Option<&str>) -> &Value {
        let is_it = |waste: &&Value| waste["kind"] == kind && function.is_none_or(|name| waste["function"] == name);
        self.wastes.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} of {function:?}: {:?}", self.wastes))
    }

    fn number(&self, name: &str) -> u64 {
        self.resident[name].as_u64().unwrap_or_else(|| panic!("{name}: {}", self.resident))
    }

    fn has(&self, kind: &str) -> bool {
        self.wastes.iter().any(|waste| waste["kind"] == kind)
    }
}

fn range(waste: &Value) -> (u64, u64) {
    let number = |name: &str| waste[name].as_u64().unwrap_or_else(|| panic!("{name}: {waste}"));
    (number("low"), number("high"))
}

/// What was saved lies in the range, but for 2 % and what a run differs from the next.
#[track_caller]
fn holds(waste: &Value, saved: u64) {
    let (low, high) = range(waste);
    let around = saved / 50 + 16 * PAGE;
    assert!(low <= saved + around && saved <= high + around, "saved {saved}: {waste}");
}

/// The same, and the range says something.
#[track_caller]
fn is_exact(waste: &Value, saved: u64) {
    let (low, high) = range(waste);
    assert!(high - low <= high / 20 + 16 * PAGE, "a wide range: {waste}");
    holds(waste, saved);
}

#[test]
fn trimming_saves_what_is_predicted() {
    for bytes in ["100", "200"] {
        let helps = Helps::of(&target(&["survivors", bytes], "none"));
        is_exact(helps.waste("free_pages", None), saved_within(&["survivors", bytes], "trim"));
        assert!(helps.text.contains("call malloc_trim(0)"), "{}", helps.text);
    }
    // On each page lies a survivor, so trimming saves next to nothing.
    let small = Helps::of(&target(&["survivors", "33"], "none"));
    assert!(!small.has("free_pages"), "{:?}", small.wastes);
    assert!(saved_within(&["survivors", "33"], "trim") < MIB);
}

#[test]
fn without_its_survivors_a_line_pins_nothing() {
    for bytes in ["100", "33", "200"] {
        let helps = Helps::of(&target(&["survivors", bytes], "none"));
        let waste = helps.waste("pinned", Some("survivor"));
        is_exact(waste, saved_within(&["survivors", bytes], "free"));
        assert_eq!(waste["blocks"], 6_250);
        // Of blocks of 200 bytes, more pages are free than pinned.
        let brief = match bytes {
            "200" => "free pages that the allocator keeps; malloc_trim(0) would give back",
            _ => "free memory on pages that live blocks keep; without the blocks of survivor what_helps.c:",
        };
        assert!(helps.first_screen.contains(brief), "{}", helps.first_screen);
    }
}

#[test]
fn lines_with_pages_of_their_own_are_told_apart() {
    let helps = Helps::of(&target(&["two_lines"], "none"));
    is_exact(helps.waste("pinned", Some("survivor")), saved_within(&["two_lines"], "free"));
    is_exact(helps.waste("pinned", Some("second_survivor")), saved_within(&["two_lines"], "free"));
}

#[test]
fn lines_on_the_same_pages_are_one_callers() {
    let helps = Helps::of(&target(&["side_by_side"], "none"));
    is_exact(helps.waste("pinned", Some("fill")), saved_within(&["side_by_side"], "free"));
    assert_eq!(helps.wastes.iter().filter(|waste| waste["kind"] == "pinned").count(), 1, "{:?}", helps.wastes);
}

#[test]
fn a_block_on_top_of_the_heap_is_named() {
    let helps = Helps::of(&target(&["top"], "none"));
    is_exact(helps.waste("free_pages", None), saved_within(&["top"], "trim"));
    let top = helps.waste("top_of_heap", Some("survivor"));
    assert_eq!((top["blocks"].as_u64(), top["bytes"].as_u64()), (Some(1), Some(64)), "{top}");
    let saved = plainly(&target(&["top"], "none"), "after") - plainly(&target(&["top"], "early"), "after");
    holds(top, saved);
    assert!(saved >= range(top).1 * 9 / 10, "{saved}: {top}");
}

#[test]
fn heaps_of_threads_that_take_turns_are_too_many() {
    for layout in ["arenas", "arenas_top"] {
        let helps = Helps::of(&target(&[layout], "none"));
        let waste = helps.waste("arenas", None);
        let many = plainly(&target(&[layout], "none"), "after");
        let one = plainly(&target(&[layout], "none").env("MALLOC_ARENA_MAX", "1"), "after");
        holds(waste, many - one);
        let (low, high) = range(waste);
        assert!(low * 10 >= high * 8, "a wide range: {waste}");
        assert!(waste["remedy"].as_str().expect("text").starts_with("set MALLOC_ARENA_MAX=1 or 2"), "{waste}");
        let trimmed = saved_within(&[layout], "trim");
        match layout {
            "arenas" => is_exact(helps.waste("free_pages", None), trimmed),
            // What lies behind the last block of such a heap is not given back.
            _ => assert!(!helps.has("free_pages") && trimmed < MIB, "{trimmed}: {:?}", helps.wastes),
        }
    }
}

#[test]
fn blocks_of_odd_sizes_take_less_in_slots() {
    let helps = Helps::of(&target(&["rounding"], "none"));
    let waste = helps.waste("rounding", Some("survivor"));
    let saved = plainly(&target(&["rounding"], "none"), "after") - plainly(&target(&["rounding"], "slots"), "after");
    holds(waste, saved);
    // 48 bytes instead of 40, and of 33.
    assert_eq!(range(waste), (400_000 * 8, 400_000 * 15));
}

/// Of each layout: whether trimming saves something, and the function whose blocks pin something.
const MIXES: [(&str, bool, Option<&str>); 7] = [
    ("sizes", true, Some("written")),
    ("half", false, Some("written")),
    ("any_lifetimes", true, Some("written")),
    ("aligned", true, Some("aligned")),
    ("grown", true, Some("grown")),
    ("zeroed", true, None),
    ("mapped", false, None),
];

#[test]
fn blocks_of_mixed_sizes_and_lifetimes_save_what_is_predicted() {
    for (layout, is_trimmed, pins) in MIXES {
        let helps = Helps::of(&target(&[layout], "none"));
        let are_there = (helps.has("free_pages"), helps.has("pinned"));
        assert_eq!(are_there, (is_trimmed, pins.is_some()), "{layout}: {}", helps.resident);
        let trimmed = saved_within(&[layout], "trim");
        match is_trimmed {
            true => is_exact(helps.waste("free_pages", None), trimmed),
            // What is not worth a word.
            false => assert!(trimmed <= helps.number("rss") / 20, "{layout}: {trimmed} of {}", helps.resident),
        }
        if pins.is_some() {
            let waste = helps.waste("pinned", pins);
            let (freed, (_, pages)) = (saved_within(&[layout], "free"), range(waste));
            holds(waste, freed);
            // What tcache keeps is at most a twentieth.
            assert!(freed + pages / 20 + 16 * PAGE >= pages, "{layout}: {freed} came back: {waste}");
        }
    }
}

/// What is in memory of jemalloc, and what is free in its slabs, as it says itself.
#[test]
fn jemalloc_counts_the_same() {
    for layout in [&["survivors", "100"][..], &["sizes"], &["half"], &["any_lifetimes"]] {
        let helps = Helps::of(&target(layout, "none").env("LD_PRELOAD", "libjemalloc.so.2"));
        let free_in_slabs = printed(&helps.output, "free_in_slabs");
        let pinned = helps.number("pinned");
        assert!(
            pinned.abs_diff(free_in_slabs) <= free_in_slabs / 50 + 16 * PAGE,
            "{layout:?}: {free_in_slabs} are free in slabs: {}",
            helps.resident
        );
        let has = ["live", "slack", "pinned", "free_pages"].iter().map(|part| helps.number(part)).sum::<u64>();
        let [resident, metadata] = ["of_jemalloc", "metadata"].map(|word| printed(&helps.output, word));
        // Metadata counts there whether it was touched or not.
        let (least, most) = (resident - metadata, resident);
        let around = resident / 50 + 16 * PAGE;
        assert!(
            least <= has + around && has <= most + around,
            "{layout:?}: {has} instead of {least} to {most}: {}",
            helps.resident
        );
    }
}

/// Of two libraries with a malloc, the one that was loaded first answers: the other may be met first in a stack.
#[test]
fn the_allocator_is_the_one_that_answers() {
    let linked = program_with("what_helps.c", &["-O2", "-pthread", "-Wl,--no-as-needed", "-l:libjemalloc.so.2"]);
    let allocator =
        |target: Target| Helps::of(&target.args(["survivors", "100", "none"])).resident["allocator"].clone();
    assert_eq!(allocator(Target::new(linked.clone())), "jemalloc");
    assert_eq!(allocator(Target::new(linked).env("LD_PRELOAD", "libc.so.6")), "glibc");
}

#[test]
fn jemalloc_keeps_what_it_can_purge() {
    let never = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
    let with = |remedy: &str| target(&["kept"], remedy).env("LD_PRELOAD", "libjemalloc.so.2").env("MALLOC_CONF", never);
    let helps = Helps::of(&with("none"));
    let output = run(with("purge").plain_command()).stdout;
    let saved = printed(&output, "before") - printed(&output, "after");
    let waste = helps.waste("kept_by_allocator", None);
    holds(waste, saved);
    let (low, high) = range(waste);
    assert!(low * 10 >= high * 8, "a wide range: {waste}");
}

/// Twelve threads use a tenth of a huge page each: what no block ever lay on is what small pages save.
#[test]
fn huge_pages_that_are_hardly_used_become_small() {
    let tunables = |huge: u8| format!("glibc.malloc.hugetlb={huge}:glibc.malloc.top_pad=4194304");
    let with = |huge: u8, remedy: &str| target(&["huge"], remedy).env("GLIBC_TUNABLES", tunables(huge));
    let huge = plainly(&with(1, "none"), "after");
    let small = plainly(&with(0, "none"), "after");
    if huge < small + 8 * MIB {
        return skipped(
            "malloc gets no huge pages: that takes glibc 2.35, and transparent huge pages that are not off",
        );
    }
    let helps = Helps::of(&with(1, "none"));
    let waste = helps.waste("huge_pages", None);
    is_exact(waste, huge - small);
    is_exact(waste, huge - plainly(&with(1, "small"), "after"));
    // Those of the threads, and the main heap's.
    let number = |name: &str| helps.huge_pages[name].as_u64().expect("a number");
    assert!(number("bytes") % HUGE == 0 && (12..=14).contains(&(number("bytes") / HUGE)), "{}", helps.huge_pages);
    let live = 12 * 200 * 1000;
    assert!((live..live + live / 10).contains(&number("live")), "{}", helps.huge_pages);
    assert_eq!(helps.huge_pages["unused"], serde_json::json!([waste["low"], waste["high"]]));
    assert!(helps.text.contains("Huge pages of malloc: 2"), "{}", helps.text);
}

/// A block of 256 MiB, of which 64 are written: asking for less saves addresses, and no memory.
#[test]
fn capacity_that_is_never_touched_saves_addresses_only() {
    let helps = Helps::of(&target(&["capacity"], "none"));
    let waste = helps.waste("never_touched", Some("capacity"));
    assert_eq!((range(waste), waste["blocks"].as_u64()), ((0, 0), Some(1)), "{waste}");
    // It begins 16 bytes behind a page, so one page more has something.
    let untouched = (192 << 20) - (PAGE - 16);
    assert_eq!(
        (waste["bytes"].as_u64(), waste["address_space"].as_u64()),
        (Some(256 << 20), Some(untouched)),
        "{waste}"
    );
    assert!(helps.text.contains("no memory; 192 MiB of addresses  capacity what_helps.c:"), "{}", helps.text);
    assert!(helps.text.contains("only fewer or smaller blocks help"), "{}", helps.text);
    let saved = |word: &str| {
        let of = |remedy: &str| plainly(&target(&["capacity"], remedy), word);
        of("none").abs_diff(of("less"))
    };
    assert_eq!(saved("addresses"), 192 << 20);
    assert!(saved("after") < MIB, "{}", saved("after"));
    let less = Helps::of(&target(&["capacity"], "less"));
    assert!(less.wastes.is_empty(), "{:?}", less.wastes);
}

/// What a long-lived program keeps is a finding and advice, whose saving comes true.
#[test]
fn verify_measures_what_advice_predicts() {
    let layout = &["survivors", "100"];
    let recording = target(layout, "none").env("LINGER", "1").record_alone();
    let findings: Value = serde_json::from_str(&recording.text(&["--format", "json"])).expect("JSON");
    let kinds: Vec<&str> = findings["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .flat_map(|finding| std::iter::once(finding).chain(finding["also"].as_array().into_iter().flatten()))
        .filter(|finding| finding["id"] == "resident")
        .filter_map(|finding| finding["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["pinned", "free_pages"], "{findings}");
    let file = recording.file.to_str().expect("a path");
    let memtoll = |arguments: &[&str]| {
        let mut command = std::process::Command::new(memtoll());
        command.args(arguments);
        run(command)
    };
    let advice: Value = serde_json::from_str(&memtoll(&["advise", file, "--format", "json"]).stdout).expect("JSON");
    let program = program("what_helps.c");
    let side = |remedy: &str| format!("{} survivors 100 {remedy}", program.display());
    // Free pages are given back in the one run; survivors go in the other one, too.
    for (function, before, after) in [("survivor", "trim", "free"), ("passer", "none", "trim")] {
        let is_it = |finding: &&Value| finding["rule"] == "resident" && finding["function"] == function;
        let finding = advice["findings"].as_array().expect("findings").iter().find(is_it);
        let id = finding.unwrap_or_else(|| panic!("no advice on {function}: {advice}"))["id"].as_str().expect("an id");
        let verified = memtoll(&[
            "verify",
            "--before",
            &side(before),
            "--after",
            &side(after),
            "--ignore-output",
            "--min-rounds",
            "3",
            "--max-rounds",
            "9",
            "--finding",
            id,
            file,
        ]);
        let line =
            verified.stdout.lines().find(|line| line.contains("resident set at the end") && line.contains("inside"));
        assert!(verified.status.success() && line.is_some(), "{verified:?}");
    }
}

#[test]
fn a_program_that_uses_what_it_has_gets_no_remedy() {
    let helps = Helps::of(&target(&["survivors", "100"], "free"));
    assert!(helps.wastes.is_empty(), "{:?}", helps.wastes);
    assert!(helps.text.contains("What helps\nNothing that the allocator could do"), "{}", helps.text);
}
