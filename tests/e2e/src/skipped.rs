//! Tests that are cut short are named at the end of `make test`.

use std::io::Write;

/// Whether a variable announces that this machine lacks something (`MEMTOLL_WITHOUT_PERF`, `MEMTOLL_WITHOUT_CGROUPS`).
pub fn announced(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Names the running test as skipped in part, with the reason. Writes past the capture of the test's output, so that it shows.
pub fn skipped(why: impl std::fmt::Display) {
    let thread = std::thread::current();
    // Nothing can be done about a terminal that is gone.
    let _ = writeln!(std::io::stderr(), "skipped: {}: {why}", thread.name().unwrap_or("a thread of a test"));
}
