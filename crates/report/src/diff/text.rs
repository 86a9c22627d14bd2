//! The comparison for people.

use super::cells::{What, headings, of_total, rows};
use super::{allocators, capitalized, method};
use crate::section::{FAINT, title};
use memtoll_analysis::diff::Run;
use memtoll_query::comparison::Comparison;
use memtoll_text::format;
use memtoll_text::shell;
use memtoll_text::table::Table;
use memtoll_text::visible;
use memtoll_text::wrap;

/// For people. `limit`: rows of the table of changes; `width`: that of the terminal, if there is one.
pub fn text(of: &Comparison, limit: usize, width: Option<usize>) -> String {
    let mut text = String::new();
    for (which, runs) in ["before", "after"].iter().zip(&of.sides) {
        for run in runs {
            text += &format!("{FAINT}{which:>6}: {}{FAINT:#}\n", wrap::shorten(&about(run), room(width)));
        }
    }
    text.extend(allocators(of).map(|line| format!("{line}\n")));
    let mut totals = Table::new(&["before", "after", "change", "", "total"]);
    of.totals.iter().for_each(|total| totals.add(of_total(total)));
    text += &format!("\n{}", totals.render(width));
    if !of.changes.is_empty() {
        text += &title(&format!("{}s that changed", capitalized(of.thing())));
        let mut headings = headings(of);
        headings.push("where");
        let mut table = Table::new(&headings);
        for (mut cells, what) in rows(of, limit) {
            cells.push(match what {
                What::Change("", name) | What::Rest(name) => name,
                What::Change(fate, name) => format!("{fate}: {name}"),
            });
            table.add(cells);
        }
        text += &table.render(width);
    } else {
        text += &format!("\nNo {} changed by more than noise.\n", of.thing());
    }
    text + &format!("\n{FAINT}{}{FAINT:#}\n", format::wrapped("", &method(of), Some(width.unwrap_or(120))).trim_end())
}

/// The recording's file, what it is of, when that ran, and for how long.
fn about(run: &Run) -> String {
    let about = &run.recording.about;
    let lasted = run.recording.seconds().map_or(String::new(), |seconds| format!(", {}", format::seconds(seconds)));
    let (file, date) = (run.recording.path().display(), format::date(about.started));
    format!("{file}, {date}{lasted}: {}", visible(&shell::line(&about.command)))
}

fn room(width: Option<usize>) -> usize {
    width.map_or(usize::MAX, |width| width.saturating_sub(8))
}
