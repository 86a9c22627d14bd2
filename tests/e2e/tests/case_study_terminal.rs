//! The terminal's text buffer: every step holds the same text, and allocates what its README says.

use memtoll_e2e::{Outcome, Recording, Target, demo_program, run, scratch, table, workspace};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

const STEPS: [&str; 6] = ["before", "1_vector", "2_reserve", "3_inline_run", "4_inline_cells", "5_reserved_range"];
const README: &str = "casestudies/terminal/README.md";

/// Any text without colours will do.
fn text() -> PathBuf {
    workspace().join("casestudies/terminal/common/text_buffer.cpp")
}

fn terminal(step: &str, columns: &str, text: &Path) -> Target {
    Target::new(demo_program("terminal", step)).args(["--columns", columns]).arg(text)
}

static BEFORE: LazyLock<Recording> = LazyLock::new(|| terminal("before", "120", &text()).record());

fn number(text: &str) -> u64 {
    text.replace(',', "").parse().unwrap_or_else(|_| panic!("no number: {text}"))
}

/// A row of the table on what the program allocates before the first step.
struct Row {
    what: String,
    function: String,
    allocations: u64,
    bytes: u64,
}

fn parts_of_before() -> Vec<Row> {
    let row = |cells: Vec<String>| Row {
        what: cells[0].clone(),
        function: cells[1].trim_matches('`').to_owned(),
        allocations: number(&cells[2]),
        bytes: number(&cells[3]),
    };
    table(README, "before").into_iter().map(row).collect()
}

#[test]
fn the_terminal_allocates_what_its_readme_says() {
    let report = BEFORE.report();
    let rows = parts_of_before();
    for function in ["ROW::ROW", "make_rows"] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.function == function).collect();
        assert_eq!(rows.len(), 2, "{function} in the README");
        let found = report.function(function);
        let said = (rows.iter().map(|row| row.allocations).sum(), rows.iter().map(|row| row.bytes).sum());
        assert_eq!((found.new_blocks, found.bytes), said, "{function}; sites:\n{}", report.listing());
        assert_eq!(found.temporary, 0);
    }
    let total = rows.last().expect("a row for the total");
    assert_eq!(total.what, "total");
    let totals = &report.totals.metrics;
    assert_eq!((totals.new_blocks, totals.bytes), (total.allocations, total.bytes));
    assert_eq!(report.new_blocks("ROW::ROW"), 18_002);
}

#[test]
fn the_two_vectors_of_a_row_are_told_apart() {
    let report = BEFORE.report();
    for (constructor, element, bytes) in
        [("AttrRow::AttrRow", "TextAttributeRun", 144_016), ("CharRow::CharRow", "CharRowCell", 4_320_480)]
    {
        let site = report.sites.iter().find(|site| site.is_in(constructor) && site.is_in("ROW::ROW"));
        let site = site.unwrap_or_else(|| panic!("no {constructor} inlined into ROW::ROW:\n{}", report.listing()));
        assert_eq!((site.metrics.new_blocks, site.metrics.bytes), (9_001, bytes), "{site:?}");
        assert!(site.element_type.as_deref().unwrap_or_default().contains(element), "{site:?}");
        assert!(
            site.inlined.iter().any(|frame| frame.file.as_deref().unwrap_or_default().ends_with("row.cpp")),
            "{site:?}"
        );
    }
}

#[test]
fn the_first_screen_tells_the_story() {
    let screen = BEFORE.text(&[]);
    for words in ["ROW::ROW", "row.cpp", "9,001", "TextAttributeRun", "CharRowCell", "27,018"] {
        assert!(screen.contains(words), "no {words} on the first screen:\n{screen}");
    }
}

#[test]
fn the_block_of_all_rows_is_the_text_buffers() {
    // GCC 12 leaves no inlined frames for this call, but a line in a header of the standard library.
    for step in ["2_reserve", "4_inline_cells"] {
        let report = terminal(step, "120", &text()).record().report();
        assert_eq!(report.new_blocks("TextBuffer::TextBuffer"), 1, "{step}:\n{}", report.listing());
    }
}

/// The README's number of allocations and of their bytes, and what memtoll counts.
#[track_caller]
fn expect_counts(step: &str, columns: &str, said: [&str; 2]) -> u64 {
    let totals = terminal(step, columns, &text()).record().report().totals.metrics;
    let found = (totals.new_blocks, totals.bytes);
    assert_eq!(found, (number(said[0]), number(said[1])), "{step}, {columns} columns");
    totals.new_blocks
}

#[test]
fn every_step_allocates_what_the_readme_says() {
    let rows = table(README, "steps");
    assert_eq!(rows.iter().map(|row| row[0].trim_matches('`')).collect::<Vec<_>>(), STEPS);
    let count = |row: &Vec<String>| expect_counts(row[0].trim_matches('`'), "120", [&row[1], &row[3]]);
    let [before, _, reserved, run, cells, range]: [u64; 6] =
        rows.iter().map(count).collect::<Vec<_>>().try_into().unwrap();
    // The story: 9,001 allocations less at each of three steps, and less than a thousandth of the buffer's is left.
    assert!(before - reserved >= 9_001, "{before} -> {reserved}");
    assert_eq!([reserved - run, run - cells], [9_001, 9_001]);
    let of_others = range; // the buffer itself has none left
    assert!((cells - of_others) * 1000 < before - of_others, "{before} -> {cells}");
}

#[test]
fn every_width_costs_what_the_readme_says() {
    let rows = table(README, "columns");
    assert_eq!(rows.len(), 4 * 4);
    let counts: Vec<u64> =
        rows.iter().map(|row| expect_counts(row[1].trim_matches('`'), &row[0], [&row[2], &row[3]])).collect();
    // Rows of 160 and 240 columns do not fit in what was learnt at 120.
    let spilled: Vec<bool> = counts.iter().skip(2).step_by(4).map(|&allocations| allocations > 9_001).collect();
    assert_eq!(spilled, [false, false, true, true]);
}

/// More lines than the buffer has rows, with colours, wide characters, tabs, lines that wrap, and broken UTF-8.
fn long_text(folder: &Path) -> PathBuf {
    let file = folder.join("text");
    let mut text = Vec::new();
    for line in 0..10_000 {
        let color = 30 + line % 9;
        text.extend(format!("{line}\t\x1b[1;{color};4{}m上下", line % 8).bytes());
        text.extend(std::iter::repeat_n(b'x', line % 301));
        text.extend(b"\x1b[0m\xff\r\n\n");
    }
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn every_step_holds_the_same_text() {
    let folder = scratch();
    for file in [long_text(folder.path()), text(), PathBuf::from("/dev/null")] {
        for columns in ["2", "80", "120", "121", "240"] {
            let outputs = STEPS.map(|step| run(terminal(step, columns, &file).plain_command()).stdout);
            assert!(outputs[0].contains(" rows scrolled"), "{outputs:?}");
            assert!(outputs.iter().all(|output| *output == outputs[0]), "{}, {columns}: {outputs:?}", file.display());
        }
    }
}

/// Minor faults and KiB of memory of making the buffer, as the program says.
fn start_up(outcome: &Outcome) -> (u64, u64) {
    let words: Vec<&str> = outcome.stderr.split_whitespace().collect();
    let before = |name: &str| words[words.iter().position(|word| *word == name).expect(name) - 1];
    (number(before("minor")), number(before("KiB")))
}

#[test]
fn memory_follows_use_in_the_reserved_range() {
    let of = |step| start_up(&run(terminal(step, "120", &text()).plain_command()));
    let (faults, kib) = of("before");
    assert!(faults > 1_200 && kib > 4_800, "before: {faults} faults, {kib} KiB");
    let (faults, kib) = of("5_reserved_range");
    assert!(faults < 40 && kib < 160, "after: {faults} faults, {kib} KiB");
}

/// A third of what the README says is left for other machines and busy ones.
#[test]
fn start_up_has_next_to_nothing_to_do_in_the_reserved_range() {
    let best = |step| {
        let milliseconds = |text: &str| text.split_whitespace().find_map(|word| word.parse::<f64>().ok());
        let runs = (0..5).map(|_| run(terminal(step, "120", &text()).plain_command()).stderr);
        runs.map(|text| milliseconds(&text).expect("the time of the start-up")).fold(f64::MAX, f64::min)
    };
    let (before, after) = (best("before"), best("5_reserved_range"));
    assert!(before > 200.0 / 3.0 * after, "{before} ms -> {after} ms");
}

#[test]
fn wrong_options_are_refused() {
    for wrong in ["1", "0", "x", "", "12x", "10001", "-5"] {
        let outcome = run(terminal("before", wrong, &text()).plain_command());
        assert_eq!(outcome.status.code(), Some(2), "{wrong}: {outcome:?}");
        assert_eq!(outcome.stderr_lines_with(&["--columns cannot be", wrong]).len(), 1, "{wrong}: {outcome:?}");
    }
    let folder = scratch();
    let missing = run(terminal("before", "120", &folder.path().join("missing")).plain_command());
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
}
