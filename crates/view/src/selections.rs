//! Selections that were added up: who looks at one from all sides asks for it again and again.

use crate::no_answer::NoAnswer;
use crate::packs::Wrappers;
use crate::recordings::Recordings;
use memtoll_analysis::findings::findings_of;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacks::View as StackView;
use memtoll_analysis::sums::Sums;
use memtoll_model::reading;
use memtoll_query::findings::Finding;
use memtoll_query::{Query, Shown, View, notes};
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// How many are remembered.
const MOST: usize = 3;

/// Sums of a selection, and what was made of them.
pub(crate) struct Selected {
    pub(crate) sums: Sums,
    pub(crate) view: StackView,
    /// All call sites.
    pub(crate) rows: Vec<Row>,
    /// The call stacks that match the filter together; `None`: there is no filter.
    pub(crate) matching: Option<Priced>,
    pub(crate) wrappers: Option<Wrappers>,
    /// What was not recorded of it.
    pub(crate) missing: Vec<String>,
    /// Without the one about wrappers, which have it.
    pub(crate) notes: Vec<String>,
    /// What is worth saying of it, in JSON, if it was looked for, which may read events.
    findings: OnceLock<Value>,
}

impl Selected {
    /// What a query selects, whatever it shows of it.
    pub(crate) fn of(open: &Recordings, query: &Query) -> Result<Selected, NoAnswer> {
        let answer = open.ask(&selection(query))?;
        // No row is written out: the front end gets columns of all.
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let sums = answer.basis.sums.ok_or(NoAnswer::Lacks("sums"))?;
        let wrappers = open.wrappers(query, &sums);
        let matching = answer.basis.view.selects().then(|| together(&table.rest));
        let missing = open.recording().missing_in(|index| sums.images[index].counts).cloned().collect();
        let folded = answer.wrappers.map(|folded| notes::folded(&folded, &sums));
        let notes = answer.notes.into_iter().filter(|note| folded.as_ref() != Some(note)).collect();
        let (view, rows) = (answer.basis.view, table.rest);
        Ok(Selected { sums, view, rows, matching, wrappers, missing, notes, findings: OnceLock::new() })
    }

    /// What is worth saying of it, in JSON.
    pub(crate) fn findings(&self, open: &Recordings) -> Result<Value, NoAnswer> {
        if let Some(known) = self.findings.get() {
            return Ok(known.clone());
        }
        let recording = open.recording();
        let (found, _) = findings_of(&self.sums, &self.rows, &mut open.stacks(&self.view));
        let found: Vec<Finding> = found.into_iter().map(|found| Finding::new(recording, found)).collect();
        let found = serde_json::to_value(found).map_err(|error| NoAnswer::Json { what: "findings", error })?;
        if !reading::is_cut() {
            // Another thread may have been faster, and found the same.
            let _ = self.findings.set(found.clone());
        }
        Ok(found)
    }

    /// Whether they were looked for.
    #[cfg(test)]
    pub(crate) fn has_findings(&self) -> bool {
        self.findings.get().is_some()
    }

    /// All that is shown together.
    pub(crate) fn total(&self) -> &Priced {
        self.matching.as_ref().unwrap_or(&self.sums.total)
    }
}

fn together(rows: &[Row]) -> Priced {
    rows.iter().fold(Priced::default(), |mut sum, row| {
        sum.add(&row.metrics);
        sum
    })
}

fn selection(query: &Query) -> Query {
    Query {
        view: View::Table { group: GroupBy::Site, limit: Some(0) },
        findings: false,
        pages: query.is_of_pages(),
        metric: None,
        patterns: false,
        details: false,
        ..query.clone()
    }
}

/// The last selections, the latest first: one thread may look for findings in one while another one packs it.
#[derive(Default)]
pub(crate) struct Selections(Mutex<Vec<(Query, Arc<Selected>)>>);

impl Selections {
    fn all(&self) -> MutexGuard<'_, Vec<(Query, Arc<Selected>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a query selects. It is added up if it is not remembered.
    pub(crate) fn of(&self, open: &Recordings, query: &Query) -> Result<Arc<Selected>, NoAnswer> {
        let key = selection(query);
        let mut all = self.all();
        if let Some(at) = all.iter().position(|(known, _)| *known == key) {
            all[..=at].rotate_right(1);
            return Ok(all[0].1.clone());
        }
        drop(all);
        let selected = Arc::new(Selected::of(open, query)?);
        // Of a question that was cancelled, it may not be complete.
        if !reading::is_cut() {
            let mut all = self.all();
            all.insert(0, (key, selected.clone()));
            all.truncate(MOST);
        }
        Ok(selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compared;
    use memtoll_model::Recording;
    use std::path::Path;

    #[test]
    fn findings_are_those_of_the_answer_and_are_remembered() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let open = Recordings::new(&recording, Compared::default());
        let (query, selections) = (Query::default(), Selections::default());
        let selected = selections.of(&open, &query).unwrap();
        assert!(selected.findings.get().is_none(), "they are looked for where they are shown");
        let found = selected.findings(&open).unwrap();
        let answer = open.ask(&Query { findings: true, ..selection(&query) }).unwrap();
        assert_eq!(found, serde_json::to_value(&answer.findings).unwrap());
        assert_eq!(selections.of(&open.again(), &query).unwrap().findings.get(), Some(&found));
    }

    #[test]
    fn the_latest_selections_are_remembered() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let open = Recordings::new(&recording, Compared::default());
        let selections = Selections::default();
        let of = |min_size: u64| selections.of(&open, &Query { min_size: Some(min_size), ..Query::default() }).unwrap();
        let first = of(1);
        (2..=MOST as u64).for_each(|size| drop(of(size)));
        assert!(Arc::ptr_eq(&first, &of(1)));
        let of_others = of(MOST as u64 + 1);
        assert!(Arc::ptr_eq(&first, &of(1)) && Arc::ptr_eq(&of_others, &of(MOST as u64 + 1)));
        (2..=MOST as u64).for_each(|size| drop(of(size)));
        assert!(!Arc::ptr_eq(&first, &of(1)));
    }
}
