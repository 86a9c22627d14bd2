//! Days, by which stores are divided.

/// The day of a time, UTC, as `2026-11-23`.
pub fn day(start_ns: i64) -> String {
    memtoll_text::format::date(start_ns.max(0) as u64)[..10].to_owned()
}
