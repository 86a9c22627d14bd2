//! What `--help` and the manual page say below the options.

use crate::exit;

/// Command lines, and what they do.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("memtoll ./app --its arguments", "Record ./app into app.memtoll, print a summary"),
    ("memtoll report app.memtoll --tree", "Show the call tree, from main to the allocations"),
    ("memtoll diff app.memtoll app.2.memtoll", "Show what changed between two recordings"),
    ("memtoll doctor ./app", "Check what is missing on this machine and in ./app"),
    ("memtoll record --help", "Show the options of a command"),
];

/// What to know before.
pub const NOTES: &str = "\
Programs need not be recompiled. For source lines, build them with debug
information: -g for C and C++, debug = \"line-tables-only\" under [profile.release]
for Rust.";

/// Rows of a table with a heading.
fn table(heading: &str, rows: &[(&str, &str)]) -> String {
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let row = |(name, what): &(&str, &str)| format!("\n  {name:widest$}  {what}");
    rows.iter().map(row).fold(format!("{heading}:"), |text, row| text + &row)
}

/// For `-h`.
pub fn short() -> String {
    format!("{}\n\n{NOTES}", table("Examples", &EXAMPLES))
}

/// For `--help`.
pub fn long() -> String {
    format!("{}\n\n{}", short(), table("Exit codes", &exit::CODES))
}
