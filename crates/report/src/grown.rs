//! Lines whose live bytes grow steadily.

use crate::section::title_within;
use memtoll_query::grown::Grown;
use memtoll_query::wastes::shown;
use memtoll_text::format;
use memtoll_text::table::Table;

/// A table of them, those that grow most first.
pub fn render(grown: &[Grown], rows: usize, width: Option<usize>) -> String {
    if grown.is_empty() {
        let text = "No line grows steadily. A line would be listed here if the lowest number of its live bytes rose from each \
             window of time to the next.";
        return format::wrapped("", text, width);
    }
    let several = grown.iter().any(|one| one.pid != grown[0].pid);
    let mut table = Table::new(&["a second", "95 % interval", "live", "blocks", "older", "over time", "line"]);
    for one in grown.iter().take(rows) {
        let rate = |value: f64| format::bytes(value.max(0.0) as u64);
        let place = one.place.as_ref().map_or("(no stack)".to_owned(), shown);
        table.add([
            rate(one.bytes_per_second),
            format!("{} to {}", rate(one.interval[0]), rate(one.interval[1])),
            format::bytes(one.bytes),
            format::count(one.blocks),
            format::percent(one.older_than_any_freed, one.blocks),
            format::sparkline(&one.least, one.least.len()),
            if several { format!("{place} in {}", one.pid) } else { place },
        ]);
    }
    let mut text = title_within("What grows steadily", width) + &table.render(width);
    if grown.len() > rows {
        text += &format!("… and {} more\n", grown.len() - rows);
    }
    let older = "live, blocks: behind the last window; a whole run's ends when 98 % of it is over. older: live blocks that are older than any block of the line was when it was freed. Where that is most of them, \
                 and others of the line are freed, these may be forgotten.";
    text + "\n" + &format::wrapped("", older, width)
}
