//! `docs/metrics.md` is what the table of metrics says. `UPDATE_METRICS=1 cargo test -p memtoll-metrics` writes it.

use memtoll_metrics::{About, TABLE, Unit};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# Metrics\n\n\
    Written from `crates/metrics/src/list.rs` by a test. Options and budgets take the names in the headings. JSON, CSV,\n\
    Parquet and the tables of a store use the key in code: the name with `_` for `-`, then `_ns` for a time and `_bytes` for a\n\
    number of bytes (but `bytes` is itself). All other figures of memtoll have keys by the same rule. A value that was not observed is `null` in JSON, empty in CSV, and `unknown` in tables.\n\n\
    A number with ± is an estimate: of `12 ± 3 ms`, the true value lies between 9 and 15 ms in 95 of 100 recordings; `8 to 19 ms` has\n\
    a longer way to one side, and `under 4 ms` may be nothing at all. Times are always estimates, and so are page faults and what is\n\
    made of them where memtoll sampled one fault in 17. Tables show the digits that are known; calls, blocks and the bytes that the\n\
    program asks for are exact, and have all.\n";

fn unit(about: &About) -> &'static str {
    match about.unit {
        Unit::Count | Unit::Share => "a number",
        Unit::Bytes => "bytes",
        Unit::Time => "nanoseconds",
    }
}

#[test]
fn the_document_says_what_the_table_says() {
    let mut text = HEAD.to_owned();
    for about in TABLE {
        let (name, key, help) = (about.name, about.key, about.help);
        write!(text, "\n## {name}\n\n`{key}`, {}. {help}\n\n", unit(about)).unwrap();
        writeln!(text, "{}", about.origin()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    if std::env::var_os("UPDATE_METRICS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, text,
        "docs/metrics.md is not what the table says: UPDATE_METRICS=1 cargo test -p memtoll-metrics"
    );
}
