//! `docs/metrics.md` is what the table of metrics says. `UPDATE_METRICS=1 cargo test -p memtoll-analysis` writes it.

use memtoll_analysis::metric::{About, TABLE, Unit};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# Metrics\n\n\
    Written from `crates/analysis/src/metric.rs` by a test. `--sort` takes the names in the headings; JSON and CSV use the\n\
    names in code. A value that was not observed is `null` in JSON, empty in CSV, and `unknown` in tables.\n";

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
        let (name, json, help) = (about.name, about.json, about.help);
        write!(text, "\n## {name}\n\n`{json}`, {}. {help}\n\n", unit(about)).unwrap();
        writeln!(text, "{}", about.origin()).unwrap();
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    if std::env::var_os("UPDATE_METRICS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        found, text,
        "docs/metrics.md is not what the table says: UPDATE_METRICS=1 cargo test -p memtoll-analysis"
    );
}
