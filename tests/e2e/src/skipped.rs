//! Tests that are cut short are named at the end of `make test`.

use std::io::Write;

/// Whether a variable announces that this machine lacks something (`MEMTOLL_WITHOUT_PERF`, `MEMTOLL_WITHOUT_CGROUPS`).
pub fn announced(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Says which test checks less than it would elsewhere, and why: past the capture of its output, so that it is seen.
pub fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    // Nothing can be done about a terminal that is gone.
    let _ = writeln!(std::io::stderr(), "skipped: {}: {why}", thread.name().unwrap_or("a thread of a test"));
}
