//! `docs/metrics.md` is what the table of metrics says. `UPDATE_METRICS=1 cargo test -p memtoll-analysis` writes it.

use memtoll_analysis::metric::{About, Price, Seen, TABLE, Together, Unit};
use std::fmt::Write;
use std::path::Path;

const HEAD: &str = "# Metrics\n\n\
    Written from `crates/analysis/src/metric.rs` by a test. `--sort` takes the names in the headings; JSON and CSV use the\n\
    names in code. What nobody saw is `null` in JSON, empty in CSV, and `unknown` in tables.\n";

fn unit(about: &About) -> &'static str {
    match about.unit {
        Unit::Count => "a number",
        Unit::Bytes => "bytes",
        Unit::Time => "nanoseconds",
    }
}

fn seen(about: &About) -> &'static str {
    match about.seen {
        Seen::Calls => "The recorder sees each call, so it is exact.",
        Seen::Stamps => {
            "It comes from time stamps around each call and from the kernel's samples of where threads are."
        }
        Seen::Faults => "It needs a kernel that shows page faults.",
        Seen::Switches => "It needs a kernel that shows when threads lose the CPU.",
    }
}

fn price(about: &About) -> &'static str {
    match about.price {
        Price::None => "",
        Price::Measured => " The time is measured.",
        Price::Each => " Faults are counted, and each one costs what a fault takes on average in this recording.",
        Price::Sum => " It is the sum of what is known.",
    }
}

fn together(about: &About) -> &'static str {
    match about.together {
        Together::Sum => "Rows add up to the total.",
        Together::Peak => {
            "Rows add up to the peak of their process; several processes reach theirs at different times."
        }
        Together::Largest => "The total is the largest row's.",
        Together::Mean => "The total is the mean over all blocks.",
    }
}

#[test]
fn the_document_says_what_the_table_says() {
    let mut text = HEAD.to_owned();
    for about in TABLE {
        let (name, json, help) = (about.name, about.json, about.help);
        write!(text, "\n## {name}\n\n`{json}`, {}. {help}\n\n", unit(about)).unwrap();
        writeln!(text, "{}{} {}", seen(about), price(about), together(about)).unwrap();
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
