//! Answers for people.

use super::Arguments;
use crate::exit;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::waits::waits;
use memtoll_query::{Answer, Query, Shown, View};
use memtoll_report::section::Limits;
use memtoll_report::{grown, lanes, list, recorder, regions, resident, rows, summary, threads, tree};

impl Arguments {
    /// The answer as text. `width`: columns of the terminal, if there is one.
    pub(super) fn text(&self, query: &Query, answer: &Answer, width: Option<usize>) -> String {
        let recording = answer.basis.recording;
        match &answer.shown {
            Shown::Totals {} | Shown::Timeline { .. } => {
                summary::render(answer, Limits { rows: self.limit.unwrap_or(8), width })
            }
            Shown::Table(table) => {
                let text = rows::render(answer, table.sites.len(), width);
                match table.group == GroupBy::Thread && answer.metric == Some(Metric::Waiting) {
                    true => text + &who_waited(answer, width),
                    false => text,
                }
            }
            Shown::Tree(_) => {
                let View::Tree(part) = &query.view else { return String::new() };
                tree::render(answer, part, width)
            }
            Shown::Lanes(shown) => lanes::render(recording, shown, width) + &who_waited(answer, width),
            // No option asks for it: lanes say more on paper.
            Shown::Activity(_) => String::new(),
            Shown::Regions { regions: shown } => regions::render(recording, shown, width),
            Shown::Grown { grown: shown } => grown::render(shown, self.limit.unwrap_or(20), width),
            Shown::Resident { resident: shown } => resident::render(shown, self.limit.unwrap_or(8), width),
            Shown::Recorder { .. } => recorder::render(recording, &answer.basis.thread_filter, width),
            Shown::List(items) => list::render(items, width),
        }
    }
}

/// Who waited for whom in the allocator.
fn who_waited(answer: &Answer, width: Option<usize>) -> String {
    let (basis, selection) = (&answer.basis, &answer.basis.selection);
    let (waits, damage) = waits(basis.recording, selection.from, selection.to, &basis.thread_filter);
    damage.iter().for_each(exit::say);
    threads::waits(basis.recording, &waits, width)
}
