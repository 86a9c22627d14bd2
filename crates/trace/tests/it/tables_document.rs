//! `format/TABLES.md`, which another implementation needs beside FORMAT.md, is what the code says: the fields of all JSON
//! objects with their comments, the counts of call sites, and the numbers of the operations. `UPDATE_TABLES=1 cargo test -p memtoll-trace` writes it.

use memtoll_trace::metrics::{Adds, COUNTS};
use memtoll_trace::op::Op;
use std::fmt::Write;

const HEAD: &str = "# JSON objects, counts and operations\n\n\
    Written from the source by a test (`crates/trace/tests/it/tables_document.rs`); `FORMAT.md` says where they stand in a file.\n\
    A reader ignores fields that it does not know.\n";

/// The items of a source file that have fields or variants.
fn objects(source: &str) -> String {
    let mut text = String::new();
    let (mut comment, mut snake_case, mut or_zero, mut kind) = (String::new(), false, false, None);
    // Only up to the code that is no description.
    for line in source.lines().take_while(|line| !line.starts_with("#[cfg(test)]")) {
        let code = line.trim();
        if let Some(words) = code.strip_prefix("///") {
            let words = words.trim();
            comment += if words.is_empty() { "<br>" } else { words };
            comment.push(' ');
            continue;
        }
        if code.starts_with("#[") {
            snake_case |= code.contains("snake_case");
            or_zero |= code.contains("write_or_zero");
            continue;
        }
        let name = |prefix: &str| code.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(" {"));
        if let Some(name) = name("pub struct ") {
            write!(text, "\n## {name}\n\n{}\n\n| field | type | what |\n|---|---|---|\n", sentence(&comment)).unwrap();
            kind = Some("struct");
        } else if let Some(name) = name("pub enum ") {
            write!(text, "\n## {name}\n\n{}\n\n| value | what |\n|---|---|\n", sentence(&comment)).unwrap();
            assert!(snake_case, "{name}: how are its values written?");
            kind = Some("enum");
        } else if line == "}" {
            kind = None;
        } else if let (Some("struct"), Some((name, rust))) = (kind, code.trim_start_matches("pub ").split_once(": ")) {
            // No one is 0, not null.
            let rust = if or_zero { rust.replace("Option<", "").replace('>', "") } else { rust.to_owned() };
            let json =
                json_type(rust.split(',').next().filter(|_| !rust.contains('(')).unwrap_or(rust.trim_end_matches(',')));
            writeln!(text, "| `{name}` | {json} | {} |", sentence(&comment)).unwrap();
        } else if let (Some("enum"), Some(variant)) = (kind, code.split([',', ' ']).next().filter(|v| !v.is_empty())) {
            let value = match variant.split_once('(') {
                Some((name, _)) => format!("`{{\"{}\": N}}`", name.to_lowercase()),
                None => format!("`\"{}\"`", snake_case_of(variant)),
            };
            writeln!(text, "| {value} | {} |", sentence(&comment)).unwrap();
        }
        comment.clear();
        (snake_case, or_zero) = (false, false);
    }
    text
}

/// A comment as a table has it: without links to Rust's names.
fn sentence(comment: &str) -> String {
    let text = comment.trim().replace("[`", "`").replace("`]", "`").replace("crate::meta::", "").replace("::", ".");
    text.replace('|', "\\|")
}

/// `PartOfIt` as `part_of_it`.
fn snake_case_of(variant: &str) -> String {
    let mut text = String::new();
    for letter in variant.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

fn json_type(rust: &str) -> String {
    let inner = |prefix: &str| rust.strip_prefix(prefix).and_then(|rest| rest.strip_suffix('>'));
    if let Some(inner) = inner("Option<") {
        return format!("{} or null", json_type(inner));
    }
    if let Some(inner) = inner("Vec<") {
        return format!("list of {}", json_type(inner));
    }
    if let Some(inner) = rust.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        return format!("[{}]", inner.split(", ").map(json_type).collect::<Vec<_>>().join(", "));
    }
    match rust {
        "u16" | "u32" | "u64" | "i32" | "NodeId" | "ThreadNo" | "ImageNo" | "Units" | "Bytes" => "integer".into(),
        "f64" => "number".into(),
        "String" => "string".into(),
        "bool" => "`true` or `false`".into(),
        "PackedFrame" => json_type("(u32, Option<u32>, Option<u32>)"),
        object => format!("[{object}](#{})", object.to_lowercase()),
    }
}

fn counts() -> String {
    let mut text =
        "\n## Counts\n\nWhat is counted of call sites, in units of the recording's clock where it is time.\n\n\
        | tag | name | adds up as | blocks | what |\n|---:|---|---|---|---|\n"
            .to_owned();
    for count in COUNTS {
        let adds = match count.adds {
            Adds::Sum => "sum",
            Adds::Level => "sum, zigzag",
            Adds::Balance => "sum, zigzag",
            Adds::Largest => "largest",
            Adds::Bits => "bits of all",
        };
        let blocks: Vec<&str> = count.blocks().collect();
        let about = sentence(count.about).replace("Metrics.", "");
        writeln!(text, "| {} | `{}` | {adds} | {} | {about} |", count.tag, count.name, blocks.join(", ")).unwrap();
    }
    text
}

fn operations() -> String {
    let mut text = "\n## Operations\n\n| number | function |\n|---:|---|\n".to_owned();
    for op in Op::all() {
        writeln!(text, "| {} | `{}` |", op.0, op.symbol()).unwrap();
    }
    text
}

#[test]
fn the_tables_are_those_of_the_code() {
    let expected = HEAD.to_owned()
        + &objects(include_str!("../../src/meta.rs"))
        + &objects(include_str!("../../src/meta/calibration.rs"))
        + &objects(include_str!("../../src/meta/kernel.rs"))
        + &objects(include_str!("../../src/meta/own_allocator.rs"))
        + &objects(include_str!("../../src/meta/prices.rs"))
        + &objects(include_str!("../../src/meta/rank.rs"))
        + &objects(include_str!("../../src/meta/variables.rs"))
        + &objects(include_str!("../../src/meta/verified.rs"))
        + &objects(include_str!("../../src/symbols.rs"))
        + &counts()
        + &operations();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/TABLES.md");
    if std::env::var_os("UPDATE_TABLES").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "format/TABLES.md is not what the code says: run UPDATE_TABLES=1 cargo test -p memtoll-trace"
    );
}
