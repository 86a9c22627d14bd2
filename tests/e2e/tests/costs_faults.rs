//! Page faults of programs that touch a known number of pages: each is charged to the line of its block or mapping.

use memtoll_e2e::{CostReport, Recording, Target, memtoll, printed, program, run, scratch};
use serde_json::Value;
use std::process::Command;
use std::sync::LazyLock;

/// Every fault is looked at.
fn every_fault(target: Target) -> Recording {
    target.option("--fault-period=1").record_alone()
}

static SITES: LazyLock<Recording> = LazyLock::new(|| every_fault(Target::new(program("fault_sites.c"))));

#[test]
fn each_page_is_charged_to_the_line_of_its_block() {
    let Some(report) = CostReport::of(&SITES, &[]) else { return };
    let faults = |name: &str| report.function(name).minor_faults;
    let listing = report.listing();
    assert_eq!(faults("by_malloc"), 400, "{listing}");
    // calloc's block and its header are on 301 pages, the last of which nobody touches.
    assert_eq!(faults("by_calloc"), 300, "{listing}");
    assert!((312..=314).contains(&faults("small_blocks")), "{listing}");
    assert!(faults("reuse") <= 18, "{listing}");
    assert_eq!(faults("by_mmap"), 750, "{listing}");
    assert_eq!(faults("grown"), 200, "{listing}");
    assert_eq!(faults("grows"), 100, "{listing}");
    let file = report.function("file_pages");
    assert_eq!((file.minor_faults, file.file_faults, file.touched_bytes), (0, 20, 0), "{listing}");
    assert!(file.fault_time_ns > 0, "{listing}");
    let text = SITES.text(&[]);
    assert!(text.contains("20 page faults of files that the program maps"), "{text}");
    assert_eq!(faults("again") + faults("touch_for"), 0, "{listing}");
    assert_eq!(report.function("by_malloc").touched_bytes, 400 * 4096);
    report.expect_all_faults();
}

#[test]
fn the_other_view_is_the_code_that_touched() {
    let Some(report) = CostReport::of(&SITES, &["--paid"]) else { return };
    let listing = report.listing();
    // What malloc touches itself stays with the call.
    assert_eq!(report.function("by_malloc").minor_faults, 1, "{listing}");
    let touched = 399 + 299 + 500 + 250 + 199 + 100;
    let found = report.function("touch_for").minor_faults;
    assert!((touched..=touched + 18).contains(&found), "{found}, not {touched} and those of reuse\n{listing}");
    assert_eq!(report.function("by_mmap").minor_faults, 0, "{listing}");
}

#[test]
fn files_and_stacks_are_told_apart() {
    let Some(report) = CostReport::of(&SITES, &[]) else { return };
    let kinds = &report.json["totals"]["other_faults_by_kind"];
    assert!(report.number("/totals/other_faults_by_kind/files") >= 20, "{kinds}");
    let stacks = report.number("/totals/other_faults_by_kind/stacks");
    assert!((40..=60).contains(&stacks), "{kinds}");
    let unowned = report.number("/totals/other_faults_by_kind/unowned");
    assert!(unowned <= 20, "{kinds}");
    let counted = printed(&SITES.outcome.stdout, "minor") + printed(&SITES.outcome.stdout, "major");
    let found = report.number("/totals/faults_counted");
    assert!(found >= counted && found <= counted + counted / 50, "{found}; the program says {counted}");
}

#[test]
fn whoever_touches_the_allocating_line_is_charged() {
    let recording = every_fault(Target::new(program("fault_threads.c")));
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let allocates = report.function("allocates");
    assert!((500..=501).contains(&allocates.minor_faults), "{}", report.listing());
    assert_eq!(report.function("touches").minor_faults, 0, "{}", report.listing());
    // Taking the pages away is charged to them, too.
    assert!(allocates.mapping_ns > 0, "{}", report.listing());
    assert_eq!(report.function("frees").mapping_ns, 0, "{}", report.listing());
    report.expect_all_faults();

    // The thread that paid is another one.
    let Some(by_thread) = CostReport::of(&recording, &["--group", "thread"]) else { return };
    let rows = by_thread.json["sites"].as_array().unwrap();
    let of = |name: &str| rows.iter().find(|row| row["function"].as_str().unwrap().contains(&format!("\"{name}\"")));
    assert_eq!(of("touches").expect("a thread without calls has a row")["minor_faults"], 399, "{rows:#?}");
    assert!(of("frees").is_some(), "{rows:#?}");
    assert!(of("allocates").unwrap()["minor_faults"].as_u64().unwrap() <= 2, "{rows:#?}");
}

#[test]
fn huge_pages_are_faults_of_their_own() {
    expect_huge_pages(Target::new(program("huge_pages.c")));
}

#[test]
fn huge_pages_are_known_whoever_asked_for_them() {
    expect_huge_pages(Target::new(program("huge_pages.c")).arg("quietly"));
}

fn expect_huge_pages(target: Target) {
    let recording = every_fault(target);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let given = printed(&recording.outcome.stdout, "huge");
    let asks = report.function("asks");
    // Where the kernel has no huge page free, it gives small ones.
    assert_eq!(asks.huge_faults, given, "{}", report.listing());
    assert_eq!(asks.minor_faults, given + (8 - given) * 512, "{}", report.listing());
    assert_eq!(asks.touched_bytes, 8 << 21, "{}", report.listing());
    report.expect_all_faults();
}

#[test]
fn copies_after_a_fork_are_charged_to_the_line_that_allocated() {
    let recording = every_fault(Target::new(program("cow.c")));
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let faults = |function| report.function(function).minor_faults;
    assert_eq!(faults("childs_own"), 3 * 50, "{}", report.listing());
    assert_eq!(faults("after_exec"), 70, "{}", report.listing());
    // First touched; copied by the first child, by the silent one, by the grandchild and by the parent.
    let copies = 120 + 90 + 40 + 60;
    let inherited = faults("inherited");
    assert!((200 + copies..=202 + copies).contains(&inherited), "{inherited}; {}", report.listing());
    assert_eq!(faults("own_mapping"), 64 + 7 + 5, "{}", report.listing());
    // What it gets in the place of an inherited block that it released is its own.
    assert!((30..=31).contains(&faults("takes_its_place")), "{}", report.listing());
    // Blocks are allocated once, however many processes have them; one of a child's own stays.
    let of = |function| report.function(function).allocations;
    assert_eq!((of("inherited"), of("takes_its_place")), (1, 1), "{}", report.listing());
    assert_eq!(report.number("/totals/live_blocks"), 1);
    report.expect_all_faults();
}

#[track_caller]
fn expect_copies(way: &str, copies: u64) {
    let recording = every_fault(Target::new(program("cow_ways.c")).arg(way));
    assert!(recording.outcome.status.success(), "{recording:?}");
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let inherited = report.function("inherited").minor_faults;
    assert!((200 + copies..=202 + copies).contains(&inherited), "{inherited}; {}", report.listing());
    report.expect_all_faults();
}

#[test]
fn a_child_that_the_c_library_knows_nothing_of_inherits() {
    expect_copies("RAW", 80);
}

#[test]
fn a_child_inherits_from_a_parent_that_is_gone() {
    expect_copies("ORPHAN", 80);
}

#[test]
fn two_hundred_children_inherit_at_once() {
    expect_copies("MANY", 200 * 3);
}

#[test]
fn memory_that_is_read_before_it_is_written_is_fresh_once() {
    let recording = every_fault(Target::new(program("read_first.c")));
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let costs = |function| report.function(function);
    // Each page faults when it is read and again when it is written. calloc touches the first one itself.
    let twice = costs("read_first");
    assert_eq!(twice.minor_faults, 4 * (2 * 500 - 1), "{}", report.listing());
    // malloc's header makes it a page more, which nobody touches.
    assert!((4 * 500..=4 * 502).contains(&(twice.touched_bytes / 4096)), "{twice:?}");
    let once = costs("written_at_once");
    assert_eq!((once.minor_faults, once.touched_bytes), (4 * 500, 4 * 500 * 4096), "{}", report.listing());
    let zeroing = |function: &str| {
        let sites = report.json["sites"].as_array().expect("sites");
        let site = sites.iter().find(|site| site["function"] == function).unwrap_or_else(|| panic!("{function}"));
        site["zeroing_ns"].as_f64().expect("zeroing_ns")
    };
    let ratio = zeroing("read_first") / zeroing("written_at_once");
    assert!((0.99..=1.01).contains(&ratio), "{ratio}; {}", report.listing());
    let text = recording.text(&[]);
    assert!(text.contains("faults again when it is written after it was only read"), "{text}");
}

#[test]
fn a_storm_loses_nothing() {
    let recording = Target::new(program("storm.c")).record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let pages = 4 * 20 * 4096;
    let fresh = report.function("fresh").minor_faults;
    assert!(fresh.abs_diff(pages) <= pages / 100, "{fresh} instead of {pages}");
    report.expect_all_faults();
}

#[test]
fn what_ran_before_in_memtolls_own_process_is_not_counted() {
    let directory = scratch();
    let file = directory.path().join("run.memtoll");
    let mut shell = Command::new("sh");
    shell.args(["-c", r#""$1" >/dev/null; exec "$2" record -q -o "$3" -- "$4" 0"#, "sh"]);
    shell.arg(program("fault_sites.c")).arg(memtoll()).arg(&file).arg(program("tiny.c"));
    let recording = Recording::of(run(shell), file, directory);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let counted = report.number("/totals/faults_counted");
    assert!((1..1500).contains(&counted), "{counted} faults: more than 2,600 are of the program before");
}

/// A program that does nothing but touch huge pages: what that took is in the interval of its faults, and the rest is not the
/// program's own work.
#[test]
fn huge_pages_cost_what_the_kernel_took_for_them() {
    let recording = Target::new(program("huge_touch.c")).record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let (given, took) = (printed(&recording.outcome.stdout, "huge"), printed(&recording.outcome.stdout, "took"));
    assert_eq!(report.function("asks").huge_faults, given, "{}", report.listing());
    let interval = &report.json["totals"]["intervals"]["fault_time_ns"];
    let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
    let (told, took) = (report.total().fault_time_ns as f64, took as f64);
    // The recording also has the faults of the start of the program.
    let (least, most) = (took * 0.9 - 5e6, took * 1.1 + 5e6);
    assert!(low <= most && high >= least, "{low} to {high} ns, took {took}: {}", report.json["totals"]);
    assert!((least * 0.6..=most).contains(&told), "{told} ns, took {took}: {}", report.json["totals"]);
}

/// Each kind of memory that is no block's has a number of its own: at least the pages that the program touches, and not many
/// more.
#[test]
fn faults_that_are_charged_to_nobody_are_told_apart() {
    let recording = every_fault(Target::new(program("fault_owners.c")));
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let kinds = &report.json["totals"]["other_faults_by_kind"];
    // (what, pages that the program touches, how many the C library, the loader and the page cache may add or spare)
    let expected = [
        ("globals", 400 + 200, 60),
        ("stacks", 300 + 2 * (350 + 50), 30),
        ("loader", 50, 30),
        ("shared", 60, 0),
        ("unowned", 0, 20),
    ];
    for (kind, pages, more) in expected {
        let found = kinds[kind].as_u64().unwrap();
        assert!((pages..=pages + more).contains(&found), "{found} of {kind}, expected {pages}: {kinds}");
    }
    // Constants come many at a time: the kernel maps what is in the page cache around a fault.
    assert!((4..200).contains(&kinds["files"].as_u64().unwrap()), "{kinds}");
    report.expect_all_faults();
    let sum: u64 = kinds.as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert_eq!(sum, report.number("/totals/other_faults"), "{kinds}");
    let text = recording.text(&[]);
    let named = ["of code and constants", "of global variables", "of stacks", "of the loader", "of shared memory"];
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(named.iter().all(|name| words.contains(name)), "{text}");
}

/// tcmalloc (of the package libtcmalloc-minimal4) writes 2 MiB of tables in the first call.
#[test]
fn what_an_allocator_needs_for_itself_is_touched_by_the_call_that_starts_it() {
    let recording = every_fault(Target::new(program("tiny.c")).env("LD_PRELOAD", "libtcmalloc_minimal.so.4"));
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let total = report.total();
    assert!(total.minor_faults > 512, "{}", report.listing());
    assert_eq!(total.touched_bytes, total.minor_faults * 4096, "{}", report.listing());
    let text = recording.text(&[]);
    assert!(!text.contains("More pages faulted"), "{text}");
    assert!(text.contains("and what the allocator needs for itself"), "{text}");
}
