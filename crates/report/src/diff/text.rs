//! The comparison for people.

use super::Diff;
use crate::section::{FAINT, title};
use crate::table::Table;
use crate::{format, names};
use memtoll_analysis::diff::{Change, Side};

impl Diff<'_> {
    /// For people. `limit`: rows of each table; `width`: that of the terminal, if there is one.
    pub fn text(&self, limit: usize, width: Option<usize>) -> String {
        let mut text = String::new();
        for (which, side) in ["before", "after"].iter().zip(self.sides) {
            text += &format!("{FAINT}{which:>6}: {}{FAINT:#}\n", names::shorten(&about(side), room(width)));
        }
        let mut totals = Table::new(&["before", "after", "change", "", "total"]);
        self.total_cells().for_each(|cells| totals.add(cells));
        text += &format!("\n{}", totals.render(width));
        let mut is_any = false;
        for (by, changes) in [("function", &self.functions), ("call path", &self.paths)] {
            for (what, list) in self.sorted(changes).lists() {
                text += &title(&format!("{what}, by {by}"));
                text += &self.table(&list, limit, width);
                is_any = true;
            }
        }
        match is_any {
            true => text,
            false if self.allocates_the_same() => text + "\nNo function allocates more or less than before.\n",
            false => text + "\nNo function that is shown allocates more or less than before.\n",
        }
    }

    fn table(&self, changes: &[&Change], limit: usize, width: Option<usize>) -> String {
        let mut rows = Table::new(&[self.acquisitions(), "bytes", "peak", "cost", "where"]);
        for change in changes.iter().take(limit) {
            rows.add([
                format::signed_count(change.difference(super::acquired)),
                format::signed_bytes(change.difference(|m| m.bytes_allocated)),
                format::signed_bytes(change.difference(|m| m.peak_bytes)),
                format::signed_seconds(self.cost_difference(change)),
                place(change),
            ]);
        }
        rows.render(width) + &more(changes.len(), limit)
    }
}

/// The recording's file, what it is of, when that ran, and for how long.
fn about(side: &Side) -> String {
    let about = &side.recording.about;
    let lasted = format::seconds(about.clock.seconds(side.recording.ended()));
    let (file, date) = (side.recording.path().display(), format::date(about.started));
    format!("{file}, {date}, {lasted}: {}", about.command.join(" "))
}

fn room(width: Option<usize>) -> usize {
    width.map_or(usize::MAX, |width| width.saturating_sub(8))
}

/// How many changes are not shown.
pub(super) fn more(all: usize, limit: usize) -> String {
    match all.saturating_sub(limit) {
        0 => String::new(),
        more => format!("… and {} more\n", format::count(more as u64)),
    }
}

/// The function with its file, or the call path: its first function with its line, and the nearest callers.
pub(super) fn place(change: &Change) -> String {
    /// More are hardly read in one line.
    const CALLERS: usize = 6;
    let mut functions = change.name.iter();
    let mut text = functions.next().cloned().unwrap_or_default();
    if let Some(place) = &change.place {
        text += &format!(" ({})", names::last_part(place));
    }
    let callers = functions.len();
    for caller in functions.take(CALLERS) {
        text += &format!(" < {caller}");
    }
    if callers > CALLERS { text + &format!(" < … {} more", callers - CALLERS) } else { text }
}
