//! The case studies show what their READMEs say.

use memtoll_e2e::{Recording, Target, demo_program, workspace};
use std::sync::LazyLock;

static TERMINAL: LazyLock<Recording> = LazyLock::new(|| {
    // Any text without colours will do.
    let text = workspace().join("casestudies/terminal/before/main.cpp");
    Target::new(demo_program("terminal", "before")).arg(text).record()
});

/// A row of the table in the README: the constructor, allocations and bytes.
struct Row {
    what: String,
    function: String,
    allocations: u64,
    bytes: u64,
}

fn table() -> Vec<Row> {
    let readme = std::fs::read_to_string(workspace().join("casestudies/terminal/README.md")).unwrap();
    let rows = readme.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let number = |text: &str| text.replace(',', "").parse().unwrap_or_else(|_| panic!("no number: {line}"));
        Row {
            what: cells[0].to_owned(),
            function: cells[1].trim_matches('`').to_owned(),
            allocations: number(cells[2]),
            bytes: number(cells[3]),
        }
    })
    .collect()
}

#[test]
fn the_terminal_allocates_what_its_readme_says() {
    let report = TERMINAL.report();
    let rows = table();
    for constructor in ["ROW::ROW", "TextBuffer::TextBuffer"] {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.function == constructor).collect();
        assert_eq!(rows.len(), 2, "{constructor} in the README");
        let found = report.function(constructor);
        let said = (rows.iter().map(|row| row.allocations).sum(), rows.iter().map(|row| row.bytes).sum());
        assert_eq!((found.allocations, found.bytes_allocated), said, "{constructor}; sites:\n{}", report.listing());
        assert_eq!(found.temporary_allocations, 0);
    }
    let total = rows.last().expect("a row for the total");
    assert_eq!(total.what, "total");
    let totals = &report.totals.metrics;
    assert_eq!((totals.allocations, totals.bytes_allocated), (total.allocations, total.bytes));
    assert_eq!(report.allocations("ROW::ROW"), 18_002);
}

#[test]
fn the_two_vectors_of_a_row_are_told_apart() {
    let report = TERMINAL.report();
    for (constructor, element, bytes) in
        [("AttrRow::AttrRow", "TextAttributeRun", 144_016), ("CharRow::CharRow", "CharRowCell", 4_320_480)]
    {
        let site = report.sites.iter().find(|site| site.is_in(constructor) && site.is_in("ROW::ROW"));
        let site = site.unwrap_or_else(|| panic!("no {constructor} inlined into ROW::ROW:\n{}", report.listing()));
        assert_eq!((site.metrics.allocations, site.metrics.bytes_allocated), (9_001, bytes), "{site:?}");
        assert!(site.element_type.as_deref().unwrap_or_default().contains(element), "{site:?}");
        assert!(
            site.inlined.iter().any(|frame| frame.file.as_deref().unwrap_or_default().ends_with("row.cpp")),
            "{site:?}"
        );
    }
}

#[test]
fn the_first_screen_tells_the_story() {
    let screen = TERMINAL.text(&[]);
    for words in ["ROW::ROW", "row.cpp", "9,001", "TextAttributeRun", "CharRowCell", "27,018"] {
        assert!(screen.contains(words), "no {words} on the first screen:\n{screen}");
    }
}
