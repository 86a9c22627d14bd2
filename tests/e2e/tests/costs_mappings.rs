//! Work on mappings, and memory that malloc takes from the system and gives back.

use memtoll_e2e::{CostReport, Recording, Target, program};

fn record(name: &str, arguments: &[&str]) -> Recording {
    Target::new(program(name)).args(arguments).option("--fault-period=1").record_alone()
}

#[test]
fn blocks_above_the_threshold_are_mapped_and_unmapped_each_time() {
    let recording = record("heap_moves.c", &["threshold"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let threshold = report.function("threshold");
    // Four pages each time: nothing is kept.
    assert_eq!(threshold.page_faults, 4 * 200, "{}", report.listing());
    assert!(threshold.mapping_ns > 200 * 1000, "200 mmap and munmap take more than 1 us: {}", report.listing());
    // Seen by the kernel's word, each time.
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((200..=203).contains(&calls), "{moved} in {calls} calls");
        let bytes = report.number(&format!("/totals/heap_{moved}_bytes"));
        assert!((200 << 20..=201 << 20).contains(&bytes), "{moved} by {bytes}");
    }
    let text = recording.text(&[]);
    assert!(text.contains("the allocator took 201 MiB"), "{text}");
}

/// The supervisor sleeps while a program allocates little; what the kernel tells still comes before the calls it is about.
#[test]
fn a_calm_program_has_all_its_mappings() {
    let recording = record("heap_moves.c", &["now_and_then"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((2000..=2003).contains(&calls), "{moved} in {calls} calls");
    }
}

#[test]
fn the_end_of_the_heap_goes_up_and_down() {
    let recording = record("heap_moves.c", &["trimming"]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let trimming = report.function("trimming");
    assert!((4 * 199..=4 * 200).contains(&trimming.page_faults), "{}", report.listing());
    assert!(trimming.mapping_ns > 200 * 500, "200 brk up and down take more than 0.5 us: {}", report.listing());
    for moved in ["grown", "shrunk"] {
        let calls = report.number(&format!("/totals/heap_{moved}_calls"));
        assert!((199..=203).contains(&calls), "{moved} in {calls} calls");
    }
}

#[test]
fn giving_back_is_charged_to_whoever_took() {
    let recording = record("fault_sites.c", &[]);
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let listing = report.listing();
    // munmap of 500 pages by main, MADV_DONTNEED by again.
    assert!(report.function("by_mmap").mapping_ns > 0, "{listing}");
    assert_eq!(report.function("main").mapping_ns + report.function("again").mapping_ns, 0, "{listing}");
    // mremap, which moves the pages of a block.
    assert!(report.function("grows").mapping_ns > 0, "{listing}");
    let Some(paid) = CostReport::of(&recording, &["--paid"]) else { return };
    assert!(paid.function("main").mapping_ns > 0, "{}", paid.listing());
    assert!(paid.function("again").mapping_ns > 0, "{}", paid.listing());
}

/// What the kernel does inside a call is not counted twice, as the call's time and as faults, however much else there is.
#[test]
fn pages_that_a_mapping_brings_along_are_part_of_its_time() {
    for arguments in [&[][..], &["madvise"]] {
        let recording = Target::new(program("populated.c")).args(arguments).record_alone();
        let Some(report) = CostReport::of(&recording, &[]) else { return };
        report.expect_all_faults();
        assert!(report.number("/totals/other_faults_by_kind/unseen") >= 4 * 16_384, "{}", report.json["totals"]);
        let [mapping, others] = ["mapping_ns", "other_fault_ns"].map(|name| report.number(&format!("/totals/{name}")));
        assert!(report.function("populate").mapping_ns * 10 >= mapping * 9, "{}", report.listing());
        assert!(others * 20 <= mapping, "{arguments:?}: {others} ns beside {mapping}");
    }
}

#[test]
fn memory_that_is_not_used_is_named() {
    let recording = Target::new(program("unused.c")).option("--fault-period=1").record_alone();
    let Some(report) = CostReport::of(&recording, &[]) else { return };
    let total = report.total();
    // mmap and mremap; neither the address space, nor what malloc maps.
    assert_eq!((total.mappings, total.mapped_bytes), (2, 128 << 20), "{}", report.listing());
    let by_thread = CostReport::of(&recording, &["--group", "thread"]).unwrap().total();
    assert_eq!((by_thread.mappings, by_thread.mapped_bytes), (2, 128 << 20));
    let text = recording.text(&[]);
    let in_one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains("; mmap and mremap took 128 MiB in 2 calls; the allocator took"), "{text}");
    let line =
        |words: &str| text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    let untouched = line("asked for but hardly touched: hardly_touched (unused.c:");
    assert!(untouched.contains("64.0 MiB") && untouched.contains("of which 2.7 MiB touched"), "{untouched}");
    let mapped = line("asked for but hardly touched: maps (unused.c:");
    assert!(mapped.contains("MiB") && mapped.contains("touched"), "{mapped}");
    let again = line("taken from the system again and again, in 200 calls: again_and_again (unused.c:");
    assert!(again.contains("80") && !again.contains("hardly"), "{again}");
}

#[test]
fn what_is_used_is_not_said_to_be_unused() {
    let recording = Target::new(program("fault_sites.c")).option("--fault-period=1").record_alone();
    let text = recording.text(&[]);
    assert!(!text.contains("hardly touched") && !text.contains("again and again"), "{text}");
}
