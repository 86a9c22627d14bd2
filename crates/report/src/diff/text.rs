//! The comparison for people.

use super::cells::What;
use super::{Diff, capitalized};
use crate::section::{FAINT, title};
use crate::table::Table;
use crate::{format, names};
use memtoll_analysis::diff::Run;

impl Diff<'_> {
    /// For people. `limit`: rows of the table of changes; `width`: that of the terminal, if there is one.
    pub fn text(&self, limit: usize, width: Option<usize>) -> String {
        let mut text = String::new();
        for (which, runs) in ["before", "after"].iter().zip(self.sides) {
            for run in runs {
                text += &format!("{FAINT}{which:>6}: {}{FAINT:#}\n", names::shorten(&about(run), room(width)));
            }
        }
        let mut totals = Table::new(&["before", "after", "change", "", "total"]);
        self.totals.iter().for_each(|total| totals.add(total.cells()));
        text += &format!("\n{}", totals.render(width));
        if self.is_any() {
            text += &title(&format!("{}s that changed", capitalized(self.thing())));
            let mut headings = self.headings();
            headings.push("where");
            let mut table = Table::new(&headings);
            for (mut cells, what) in self.rows(limit) {
                cells.push(match what {
                    What::Change("", name) | What::Rest(name) => name,
                    What::Change(fate, name) => format!("{fate}: {name}"),
                });
                table.add(cells);
            }
            text += &table.render(width);
        } else {
            text += &format!("\nNo {} changed by more than noise.\n", self.thing());
        }
        text + &format!(
            "\n{FAINT}{}{FAINT:#}\n",
            format::wrapped("", &self.method(), Some(width.unwrap_or(120))).trim_end()
        )
    }
}

/// The recording's file, what it is of, when that ran, and for how long.
fn about(run: &Run) -> String {
    let about = &run.recording.about;
    let lasted = format::seconds(about.clock.seconds(run.recording.ended()));
    let (file, date) = (run.recording.path().display(), format::date(about.started));
    format!("{file}, {date}, {lasted}: {}", about.command.join(" "))
}

fn room(width: Option<usize>) -> usize {
    width.map_or(usize::MAX, |width| width.saturating_sub(8))
}
