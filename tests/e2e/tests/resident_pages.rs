//! Who holds the resident set, for programs of which it is known.

use memtoll_e2e::{
    Recording, Target, become_ordinary_user, printed, program, program_with, read_report, record_confined, refuse,
};
use serde_json::Value;
use std::process::Command;

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

/// A shell's child has the shell's name until it executes the program.
#[test]
fn the_balance_names_the_program_that_the_process_ran_then() {
    let path = program("who_holds.c");
    let script = format!("{} survivors 100 > /dev/null & wait", path.display());
    let recording = Target::new("/bin/sh").args(["-c", &script]).record();
    let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
    assert_eq!(balance(&recording, &[])["program"], name);
    let text = recording.text(&["--resident"]);
    assert!(text.lines().next().is_some_and(|line| line.contains(&format!("   {name}, glibc"))), "{text}");
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
    told.is_about("free_pages", 20 * 2_000 * 1_008, 20 * 2_000 * 1_008 / 50);
    assert_eq!(number(told.first_pin(), "blocks"), 20);
    let stacks = told.number("stacks");
    assert!((20 * 2 * PAGE..4 * MIB).contains(&stacks), "{stacks} bytes of stacks: {}", told.resident);
}

/// Linux before 6.7 does not look at whole ranges.
fn without_scans() -> std::io::Result<()> {
    const PAGEMAP_SCAN: u32 = 0xc060_6610;
    refuse(libc::SYS_ioctl, Some(PAGEMAP_SCAN), libc::ENOTTY)
}

#[test]
fn without_scans_the_pages_are_read_one_by_one() {
    for before in [become_ordinary_user, without_scans] {
        let recording = record_confined(&program("who_holds.c"), &["capacity"], &[], before);
        let resident = balance(&recording, &[]);
        assert!(number(&resident, "live").abs_diff(32 * MIB) <= 16 * PAGE, "{resident}");
    }
}

#[test]
fn a_process_that_hides_its_pages_says_so() {
    let recording =
        record_confined(&program("who_holds.c"), &["survivors", "100", "hidden"], &[], become_ordinary_user);
    let refused = read_report(&recording.file, &["--resident"]);
    assert!(!refused.status.success());
    let why = "the kernel refused to show the pages of process ";
    assert!(refused.stderr.contains(why) && refused.stderr.contains("Permission denied"), "{refused:?}");
    // One line, in each report.
    let report = recording.text(&[]);
    assert_eq!(report.matches("the kernel does not show which of its pages are in memory").count(), 1, "{report}");
}

#[test]
fn a_short_process_says_why_there_is_nothing() {
    let recording = Target::new(program("temporary.c")).record();
    let refused = read_report(&recording.file, &["--resident"]);
    assert!(!refused.status.success());
    let why = "memtoll looks at the pages of processes that use 20 ms of CPU time or 16 MiB";
    assert!(refused.stderr.contains(why), "{refused:?}");
}

/// Small and large blocks side by side, one group in each 4,288 bytes: what their lines hold of it, by their chunks.
struct TwoLines {
    /// Free bytes on pages that only one of them keeps, or both.
    small: u64,
    large: u64,
    both: u64,
}

const GROUPS: u64 = 400_000 / 64;
const SMALL: u64 = 64;
const LARGE: u64 = 256;
const GROUP: u64 = SMALL + LARGE + 62 * 64;

impl TwoLines {
    fn new(first: u64) -> TwoLines {
        /// Bytes of a free chunk that stay: where others are.
        const FREE_HEADER: u64 = 48;
        let mut pages: std::collections::BTreeMap<u64, (u64, u64)> = std::collections::BTreeMap::new();
        for number in 0..GROUPS {
            let small = first - HEADER + number * GROUP;
            let large = small + SMALL;
            let end = large + LARGE;
            for (from, to, is_large) in [(small, large, false), (large, end, true)] {
                for page in from / PAGE..=(to - 1) / PAGE {
                    let bytes = to.min((page + 1) * PAGE) - from.max(page * PAGE);
                    let on_it = pages.entry(page).or_default();
                    *(if is_large { &mut on_it.1 } else { &mut on_it.0 }) += bytes;
                }
            }
            // A page that begins with the rest of a free chunk's begin.
            let next = end.next_multiple_of(PAGE);
            if end + FREE_HEADER > next && number + 1 < GROUPS && next + PAGE <= end + GROUP - SMALL - LARGE {
                pages.entry(next / PAGE).or_default();
            }
        }
        let mut of = TwoLines { small: 0, large: 0, both: 0 };
        for (small, large) in pages.values() {
            let free = PAGE - small - large;
            match (small, large) {
                (0, _) => of.large += free,
                (_, 0) => of.small += free,
                _ => of.both += free,
            }
        }
        of
    }
}

/// The rows of a report by a metric of pages, and its totals.
fn rows(recording: &Recording, options: &[&str]) -> (Vec<Value>, Value) {
    let arguments: Vec<&str> = options.iter().chain(&["--format", "json"]).copied().collect();
    let mut answer: Value = serde_json::from_str(&recording.text(&arguments)).expect("JSON");
    let rows = answer["sites"].as_array().expect("sites").clone();
    (rows, answer["totals"].take())
}

const OF_PAGES: [(&str, &str); 4] = [
    ("resident_bytes", "live"),
    ("never_touched_bytes", "never_touched"),
    ("slack_bytes", "slack"),
    ("pinned_bytes", "pinned"),
];

#[test]
fn call_sites_have_what_the_balance_has() {
    const ALL: [&str; 8] = ["site", "function", "line", "path", "module", "thread", "process", "size"];
    let layouts = [
        (&["survivors", "100"][..], &ALL[..]),
        (&["two-lines"], &ALL[..3]),
        (&["capacity"], &ALL[..1]),
        (&["top"], &ALL[3..5]),
    ];
    for (layout, groups) in layouts {
        let recording = Target::new(program("who_holds.c")).args(layout).record_alone();
        let resident = balance(&recording, &[]);
        for group in groups {
            let (rows, totals) = rows(&recording, &["--group", group, "--metric", "resident"]);
            for (key, part) in OF_PAGES {
                let sum: u64 = rows.iter().map(|row| number(row, key)).sum();
                assert_eq!(sum, number(&resident, part), "{layout:?} by {group}: {key}");
                assert_eq!(number(&totals, key), sum, "{layout:?} by {group}: {key}");
            }
            for row in &rows {
                let both = number(row, "resident_bytes") + number(row, "never_touched_bytes");
                assert_eq!(both, number(row, "live_bytes"), "{layout:?} by {group}: {row}");
            }
        }
        // Shares of lines are those of the balance.
        let (lines, _) = rows(&recording, &["--group", "line", "--metric", "pinned"]);
        for pin in resident["pins"].as_array().expect("pins") {
            let line = lines.iter().find(|row| row["function"] == pin["function"] && row["line"] == pin["line"]);
            assert_eq!(number(line.expect("a line"), "pinned_bytes"), number(pin, "share"), "{pin}");
        }
    }
}

#[test]
fn lines_share_the_free_memory_of_their_pages() {
    let recording = Target::new(program("who_holds.c")).arg("two-lines").record_alone();
    let known = TwoLines::new(printed(&recording.outcome.stdout, "first"));
    let (functions, _) = rows(&recording, &["--group", "function", "--metric", "pinned"]);
    for (name, alone, size) in [("small_survivor", known.small, 56), ("large_survivor", known.large, 248)] {
        let row = functions.iter().find(|row| row["function"] == name).expect("a function");
        let (pinned, expected) = (number(row, "pinned_bytes"), alone + known.both / 2);
        assert!(pinned.abs_diff(expected) <= 4 * PAGE, "{pinned}, not {expected}: {row}");
        assert_eq!(number(row, "resident_bytes"), GROUPS * size, "{row}");
        assert_eq!(number(row, "slack_bytes"), GROUPS * 8, "{row}");
        assert_eq!(number(row, "never_touched_bytes"), 0, "{row}");
    }
    let tree = recording.text(&["--tree", "--metric", "pinned"]);
    assert!(tree.contains("pinned: ") && tree.contains("two_lines"), "{tree}");
    let table = recording.text(&["--metric", "pinned", "--group", "function"]);
    let heads = ["pinned", "share", "resident", "never touched", "slack", "live at end", "live blocks"];
    assert!(heads.iter().all(|head| table.contains(head)), "{table}");
    let csv = recording.text(&["--metric", "pinned", "--group", "function", "--format", "csv"]);
    let mut lines = csv.lines();
    let column = lines.next().unwrap().split(',').position(|head| head == "pinned_bytes").expect("a column");
    let of_csv: u64 = lines.map(|line| line.split(',').nth(column).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(of_csv, functions.iter().map(|row| number(row, "pinned_bytes")).sum::<u64>());
}

#[test]
fn what_is_not_looked_at_is_not_known() {
    // Too short for a look.
    let recording = Target::new(program("temporary.c")).record();
    let (rows, totals) = rows(&recording, &["--group", "site", "--metric", "resident"]);
    for (key, _) in OF_PAGES {
        assert!(totals[key].is_null() && rows.iter().all(|row| row[key].is_null()), "{key}: {totals}");
    }
    let text = recording.text(&["--metric", "resident"]);
    assert!(text.contains("Resident is not known: memtoll did not see the pages"), "{text}");
    // Nobody asks, or it is about another time.
    let recording = Target::new(program("who_holds.c")).args(["survivors", "100"]).record_alone();
    for options in [&["--group", "site"][..], &["--group", "site", "--metric", "pinned", "--to", "1ms"]] {
        let (_, totals) = self::rows(&recording, options);
        assert!(totals["pinned_bytes"].is_null() && totals["resident_bytes"].is_null(), "{options:?}: {totals}");
    }
}

#[test]
fn budgets_and_differences_know_what_is_pinned() {
    let recorded = |size: &str| Target::new(program("who_holds.c")).args(["survivors", size]).record_alone();
    let (before, after) = (recorded("100"), recorded("33"));
    let pinned = |recording: &Recording| number(&balance(recording, &[]), "pinned");
    let (was, is) = (pinned(&before), pinned(&after));
    assert!(was.abs_diff(is) > was / 10, "{was} {is}");
    let folder = tempfile::tempdir().unwrap();
    let budget = folder.path().join("budget.toml");
    for (limit, is_kept) in [(was, true), (was - 1, false)] {
        for scope in ["run", "function.survivor"] {
            std::fs::write(&budget, format!("[{scope}]\npinned = {limit}\n")).unwrap();
            let output = Command::new(memtoll_e2e::memtoll())
                .arg("check")
                .arg(&before.file)
                .arg("--budget")
                .arg(&budget)
                .output()
                .unwrap();
            assert_eq!(output.status.success(), is_kept, "{scope} {limit}: {output:?}");
        }
    }
    let compare = |options: &[&str]| {
        let mut command = Command::new(memtoll_e2e::memtoll());
        command.arg("diff").args([&before.file, &after.file]).args(options).args(["--format", "json"]);
        serde_json::from_slice::<Value>(&command.output().unwrap().stdout).expect("JSON")
    };
    let found = compare(&["--resident"]);
    for (of, key) in [("totals", "pinned_bytes"), ("whole", "pinned_bytes")] {
        let (found, of) = (&found[of][key], [was as f64, is as f64]);
        assert_eq!([found["before"].as_f64(), found["after"].as_f64()], of.map(Some), "{found}");
    }
    let change = found["changes"].as_array().unwrap().iter().find(|row| row["frame"]["function"] == "survivor");
    assert!(change.is_some_and(|row| row["pinned_bytes"]["before"].as_f64() > Some(0.0)), "{found}");
    assert!(compare(&[])["whole"].get("pinned_bytes").is_none());
}

#[test]
fn the_resident_set_is_known_over_time() {
    let recording = Target::new(program("who_holds.c")).args(["survivors", "100"]).record_alone();
    let resident = balance(&recording, &[]);
    let curve: Vec<(u64, u64)> = resident["curve"]
        .as_array()
        .expect("a curve")
        .iter()
        .map(|point| (number(point, "at_ns"), number(point, "bytes")))
        .collect();
    assert!(curve.len() > 2 && curve.is_sorted_by_key(|(at, _)| *at), "{curve:?}");
    let seconds: Value = serde_json::from_str(&recording.text(&["--format", "json"])).expect("JSON");
    // What the process said itself as it ended, however long the last look is ago.
    assert_eq!(curve.last().map(|(_, bytes)| *bytes), seconds["totals"]["resident_at_end_bytes"].as_u64(), "{curve:?}");
    let end = (seconds["seconds"].as_f64().expect("seconds") * 1e9) as u64;
    // It is from this recording's beginning to its end, and the program has all of its blocks at some look.
    assert!(curve.iter().all(|(at, _)| *at <= end), "{end}: {curve:?}");
    let most = curve.iter().map(|(_, bytes)| *bytes).max().expect("points");
    let without_recorder = number(&resident, "rss") - number(&resident, "recorder");
    assert!(most.abs_diff(without_recorder) <= without_recorder / 10, "{most}, at the end {without_recorder}");
}

#[test]
fn a_chart_draws_the_balance() {
    let recording = Target::new(program("who_holds.c")).args(["survivors", "100"]).record_alone();
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("pages.svg");
    recording.text(&["--resident", "--chart", chart.to_str().unwrap()]);
    let svg = std::fs::read_to_string(&chart).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for text in [
        "free memory on pages that live blocks keep", "mostly pinned: ", "survivor who_holds.c:",
        "resident set over time",
    ] {
        assert!(svg.contains(text), "{text}: {}", &svg[..svg.len().min(4_000)]);
    }
    // Cells say how many bytes of each part they have: those of pinned memory are the balance's, as far as texts are exact.
    let pinned: u64 = svg.matches("mostly pinned").count() as u64;
    assert!(pinned > 100, "{pinned} strips");
    for wrong in ["pages.png", "no-such-folder/pages.svg"] {
        let path = folder.path().join(wrong);
        let refused = read_report(&recording.file, &["--resident", "--chart", path.to_str().unwrap()]);
        assert!(!refused.status.success() && !path.exists(), "{refused:?}");
    }
    assert!(!read_report(&recording.file, &["--chart", chart.to_str().unwrap()]).status.success());
}

#[test]
fn a_forked_child_has_what_its_parent_had() {
    const BYTES: u64 = 24_000;
    let recording = Target::new(program("forked_pages.c")).record_alone();
    let child = printed(&recording.outcome.stdout, "child").to_string();
    let resident = balance(&recording, &["--process", &child]);
    // Half of the parent's blocks, and the child's own ones, which lie where the others did.
    let live = number(&resident, "live");
    assert!(live.abs_diff((500 + 100) * BYTES) <= 16 * PAGE, "{resident}");
    let text = recording.text(&["--resident", "--process", &child]);
    assert!(text.contains("live blocks: 60") && number(&resident, "mappings") == 4 * MIB, "{text}");
    // 400 chunks are free, between those that are not.
    let free = number(&resident, "pinned") + number(&resident, "free_pages");
    assert!(free.abs_diff(400 * (BYTES + 2 * HEADER)) <= 64 * PAGE, "{resident}");
    let pins = resident["pins"].as_array().expect("pins");
    let of =
        |name: &str| pins.iter().filter(|pin| pin["function"] == name).map(|pin| number(pin, "blocks")).sum::<u64>();
    assert!(of("parents") > 400, "the parent's lines: {resident}");
}
