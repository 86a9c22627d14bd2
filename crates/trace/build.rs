//! Makes the table of operations from the recorder's list of hooks, `recorder/src/hooks/hooks.def`, which says what its
//! entries mean.

use std::fmt::Write;
use std::path::PathBuf;

/// An `EVENT`, a `TOLD` or an `OWN` of the list.
struct Entry<'a> {
    number: u8,
    name: &'a str,
    symbol: &'a str,
    function: &'a str,
    effect: &'a str,
}

fn entry(line: &str) -> Option<Entry<'_>> {
    let arguments = ["EVENT(", "TOLD(", "OWN("].iter().find_map(|start| line.strip_prefix(start))?.strip_suffix(')')?;
    let mut fields = arguments.split(", ");
    let mut field = || fields.next().unwrap_or_else(|| panic!("hooks.def: expected five fields and a type: {line}"));
    let number = field().parse().unwrap_or_else(|_| panic!("hooks.def: expected a number: {line}"));
    let name = field().trim_end_matches('_');
    Some(Entry {
        number,
        name,
        symbol: field().trim_matches('"'),
        function: field().trim_matches('"'),
        effect: field(),
    })
}

/// `ACQUIRE` as a variant of an enum: `Acquire`.
fn variant(effect: &str) -> String {
    let (first, rest) = effect.split_at(1);
    format!("{first}{}", rest.to_lowercase())
}

fn main() {
    // As it is now, not as it was compiled: a clone may have been moved.
    let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let list = manifest.join("../../recorder/src/hooks/hooks.def");
    println!("cargo::rerun-if-changed={}", list.display());
    let text = std::fs::read_to_string(&list).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    let mut entries: Vec<Entry> = text.lines().filter_map(entry).collect();
    entries.sort_by_key(|entry| entry.number);
    let mut constants = String::from("impl Op {\n");
    let mut table = String::from("static FUNCTIONS: &[Function] = &[\n");
    for (index, Entry { number, name, symbol, function, effect }) in entries.iter().enumerate() {
        assert_eq!(usize::from(*number), index + 1, "hooks.def: numbers run from 1 without a gap");
        let written = if symbol == function { format!("`{symbol}`") } else { format!("`{symbol}`: `{function}`") };
        let _ = writeln!(constants, "    /// {written}\n    pub const {}: Op = Op({number});", name.to_uppercase());
        let _ = writeln!(
            table,
            "    Function {{ symbol: {symbol:?}, name: {function:?}, does: Does::{} }},",
            variant(effect)
        );
    }
    let output = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("operations.rs");
    std::fs::write(&output, format!("{constants}}}\n\n{table}];\n"))
        .unwrap_or_else(|error| panic!("{}: {error}", output.display()));
}
