//! Selections that were added up: who looks at one from all sides asks for it again and again.

use crate::no_answer::NoAnswer;
use crate::packs::Wrappers;
use crate::recordings::Recordings;
use memtoll_analysis::findings::findings_of;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacks::View as StackView;
use memtoll_analysis::sums::Sums;
use memtoll_query::findings::Finding;
use memtoll_query::{Query, Shown, View};
use serde_json::Value;

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
    /// What is worth saying of it, in JSON; `None`: it was not looked for, which may read events.
    pub(crate) findings: Option<Value>,
    pub(crate) wrappers: Option<Wrappers>,
}

impl Selected {
    /// What a query selects, whatever it shows of it, with findings.
    pub(crate) fn of(open: &Recordings, query: &Query) -> Result<Selected, NoAnswer> {
        let mut selected = Selected::plain(open, query)?;
        selected.look_for_findings(open)?;
        Ok(selected)
    }

    /// The same without findings.
    pub(crate) fn plain(open: &Recordings, query: &Query) -> Result<Selected, NoAnswer> {
        let answer = open.ask(&selection(query))?;
        // No row is written out: the front end gets columns of all.
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let sums = answer.basis.sums.ok_or(NoAnswer::Lacks("sums"))?;
        let wrappers = open.wrappers(query, &sums);
        let matching = answer.basis.view.selects().then(|| together(&table.rest));
        Ok(Selected { sums, view: answer.basis.view, rows: table.rest, matching, findings: None, wrappers })
    }

    fn look_for_findings(&mut self, open: &Recordings) -> Result<(), NoAnswer> {
        if self.findings.is_none() {
            self.findings = Some(self.find(open)?);
        }
        Ok(())
    }

    /// What is worth saying of it, in JSON.
    pub(crate) fn find(&self, open: &Recordings) -> Result<Value, NoAnswer> {
        let recording = open.recording();
        let (found, _) = findings_of(&self.sums, &self.rows, &mut open.stacks(&self.view));
        let found: Vec<Finding> = found.into_iter().map(|found| Finding::new(recording, found)).collect();
        serde_json::to_value(found).map_err(|error| NoAnswer::Json { what: "findings", error })
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

/// The last selections, the latest first.
#[derive(Default)]
pub(crate) struct Selections(Vec<(Query, Selected)>);

impl Selections {
    /// What a query selects. It is added up if it is not remembered.
    pub(crate) fn of(&mut self, open: &Recordings, query: &Query) -> Result<&Selected, NoAnswer> {
        Ok(self.latest(open, query)?)
    }

    /// The same with findings.
    pub(crate) fn with_findings(&mut self, open: &Recordings, query: &Query) -> Result<&Selected, NoAnswer> {
        let latest = self.latest(open, query)?;
        latest.look_for_findings(open)?;
        Ok(latest)
    }

    fn latest(&mut self, open: &Recordings, query: &Query) -> Result<&mut Selected, NoAnswer> {
        let key = selection(query);
        let latest = match self.0.iter().position(|(known, _)| *known == key) {
            Some(known) => self.0.remove(known),
            None => (key, Selected::plain(open, query)?),
        };
        self.0.insert(0, latest);
        self.0.truncate(MOST);
        Ok(&mut self.0[0].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compared;
    use memtoll_model::Recording;
    use std::path::Path;

    #[test]
    fn findings_are_those_of_the_answer_and_are_looked_for_only_where_they_are_shown() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let open = Recordings::new(&recording, Compared::default());
        let (query, mut selections) = (Query::default(), Selections::default());
        assert_eq!(selections.of(&open, &query).unwrap().findings, None);
        let found = selections.with_findings(&open, &query).unwrap().findings.clone();
        let answer = open.ask(&Query { findings: true, ..selection(&query) }).unwrap();
        assert_eq!(found, Some(serde_json::to_value(&answer.findings).unwrap()));
        assert!(selections.of(&open, &query).unwrap().findings.is_some(), "they are remembered");
    }
}
