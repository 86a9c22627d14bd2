//! What was live at both ends of the selection, and how much more that became.

use super::before_after::{BeforeAfter, NUMBERS, headings};
use super::lines::name;
use super::{Shown, say};
use crate::colors::{BOLD, CURSOR, FOUND, SOFT};
use crate::draw::Pane;
use crate::fitted_text::{fit, fit_name};
use crate::keys::Action;
use crate::scrolled_rows::Cursor;
use crate::state::GROUPS;
use memtoll_analysis::metric::Metric;
use memtoll_model::Kept;
use memtoll_query::rows::Row;
use memtoll_query::{Answer, Shown as Found};
use memtoll_text::format;
use ratatui::style::Style;
use rustc_hash::FxHashMap;

#[derive(Default)]
pub struct SnapshotsView {
    cursor: Cursor,
}

/// A row of either instant, or of both.
struct Compared<'a> {
    row: &'a Row<'a>,
    of: &'a Answer<'a>,
    live: BeforeAfter,
}

impl SnapshotsView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let ends = shown.state.span.map_or((0, None), |span| (span.from_ns, span.to_ns));
        // Before the first instant of all, nothing was live.
        let before = match ends.0 {
            0 => None,
            at => match shown.answer(&shown.state.live_at(Some(at)), &mut pane) {
                Some((answer, _)) => Some(answer),
                None => return,
            },
        };
        let Some((after, _)) = shown.answer(&shown.state.live_at(ends.1), &mut pane) else { return };
        let is_known =
            |answer: &Answer| answer.totals.as_ref().is_some_and(|totals| totals.figures.of(Metric::Live).is_some());
        if !is_known(after) || before.is_some_and(|before| !is_known(before)) {
            return say(
                &mut pane,
                "What was live is not known: frees are hidden from memtoll. Recording (8) says why.",
            );
        }
        let mut rows = compared(before, after);
        if !shown.state.search.is_empty() {
            rows.retain(|row| shown.finds(&name(row.row, row.of, shown)));
        }
        heading(shown, ends, &mut pane);
        if rows.is_empty() {
            return say(&mut pane.part(1, 2), "Nothing was live at either end, or no row has what you search.");
        }
        let columns = pane.width();
        let height = pane.height().saturating_sub(2);
        let top = self.cursor.window(rows.len(), height);
        for (y, row) in rows.iter().enumerate().skip(top).take(height) {
            let line = 1 + y - top;
            let name = name(row.row, row.of, shown);
            let style = if shown.finds(&name) { FOUND } else { Style::new() };
            row.live.put(&mut pane, line, Metric::Live, Style::new());
            pane.put(NUMBERS, line, columns, &fit_name(&name, columns.saturating_sub(NUMBERS)), style);
            if y == self.cursor.at {
                pane.restyle(0, line, columns, CURSOR);
            }
        }
        let all = rows.iter().map(|row| row.live).fold(BeforeAfter::default(), BeforeAfter::plus);
        let last = pane.height().saturating_sub(1);
        all.put(&mut pane, last, Metric::Live, BOLD);
        let found = if shown.state.search.is_empty() { "" } else { " found" };
        let count = format!("sum of {}{found}", format::counted(rows.len() as u64, "row"));
        pane.put(NUMBERS, last, columns, &fit(&count, columns.saturating_sub(NUMBERS)), SOFT);
    }

    /// Moves the cursor.
    pub fn act(&mut self, action: Action) -> bool {
        self.cursor.act(action)
    }
}

fn heading(shown: &Shown, (from, to): (u64, Option<u64>), pane: &mut Pane) {
    let at = |ns: u64| format!("at {}", format::seconds(ns as f64 / 1e9));
    // At the end of the run, what each process left counts.
    let end = to.map_or_else(
        || match shown.recording.kept() {
            Kept::LiveAtEnd => "at the end".to_owned(),
            kept => kept.words().to_owned(),
        },
        at,
    );
    headings(pane, [&at(from), &end], &format!("live bytes by {}", GROUPS[shown.state.group].1));
}

/// All rows that are live at an end, those that grew most first.
fn compared<'a>(before: Option<&'a Answer<'a>>, after: &'a Answer<'a>) -> Vec<Compared<'a>> {
    let mut all: FxHashMap<&str, Compared> = FxHashMap::default();
    for (answer, is_after) in before.map(|answer| (answer, false)).into_iter().chain([(after, true)]) {
        let Found::Table(table) = &answer.shown else { continue };
        for row in &table.sites {
            let live = row.figures.estimate(Metric::Live).unwrap_or_default();
            let compared =
                all.entry(&row.key).or_insert_with(|| Compared { row, of: answer, live: BeforeAfter::default() });
            compared.live = match is_after {
                true => BeforeAfter::of(compared.live.before, live),
                false => BeforeAfter::of(live, compared.live.after),
            };
        }
    }
    let mut rows: Vec<Compared> = all.into_values().filter(|row| !row.live.is_nothing()).collect();
    rows.sort_by(|a, b| {
        let change = b.live.change.value.total_cmp(&a.live.change.value);
        change.then(b.live.after.value.total_cmp(&a.live.after.value)).then_with(|| a.row.key.cmp(&b.row.key))
    });
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::Recording;
    use memtoll_query::Session;
    use std::path::Path;

    /// Of what was live at some instants, by whatever rows are, in recordings of one process and of several.
    #[test]
    fn rows_add_up_to_what_was_live() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden");
        for name in ["costs.memtoll", "forks.memtoll"] {
            let recording = Recording::open(&golden.join(name)).unwrap();
            let session = Session::new(&recording);
            let end = (recording.about.clock.seconds(recording.ended()) * 1e9) as u64;
            let mut most = 0.0;
            for (group, part) in (0..GROUPS.len()).flat_map(|group| (1..10).map(move |part| (group, part))) {
                let state = crate::state::State { group, ..Default::default() };
                let at = |ns| {
                    let crate::question::Question::Query(query) = state.live_at(ns) else { unreachable!() };
                    session.ask(&query).unwrap()
                };
                let total = |answer: &Answer| answer.totals.as_ref().unwrap().figures.estimate(Metric::Live).unwrap();
                let (before, after) = (at(Some(end * part / 10)), at(None));
                let rows = compared(Some(&before), &after);
                let all = rows.iter().map(|row| row.live).fold(BeforeAfter::default(), BeforeAfter::plus);
                assert_eq!(all.before, total(&before), "{name}, {}, part {part}", GROUPS[group].1);
                assert_eq!(all.after, total(&after), "{name}, {}", GROUPS[group].1);
                most = total(&before).value.max(most);
            }
            assert!(most > 0.0, "{name}: nothing was live at any instant");
        }
    }
}
