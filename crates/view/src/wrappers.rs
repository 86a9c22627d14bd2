//! The wrappers of malloc that are folded away, as `memtoll report` folds them: those of the whole recording, so that each part
//! of it is shown in the same way.

use crate::ask::Ask;
use crate::compare::Compared;
use crate::engine::Engine;
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Sums, sums};
use memtoll_analysis::wrappers::Folded;
use memtoll_model::Recording;
use memtoll_query::{notes, query};
use memtoll_tally::Selection;
use regex::Regex;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};

/// Found when they are first needed; engines of the same recordings share them.
#[derive(Clone, Default)]
pub(crate) struct Wrappers(Arc<OnceLock<Found>>);

struct Found {
    /// Those of the recording that is shown.
    folded: Option<Folded>,
    /// These, and those of the recordings that it is compared with: a wrapper of one side is folded on both, where its callers
    /// are the same lines.
    regex: Option<Regex>,
}

impl Found {
    /// `whole`: the sums of the whole recording.
    fn of(recording: &Recording, whole: &Sums, compared: Compared) -> Found {
        let of = |recording, whole: &Sums| Folded::of(&mut Stacks::new(recording, &View::default()), whole);
        let folded = of(recording, whole);
        let others = compared.before.iter().chain(compared.after);
        let others = others.filter_map(|other| of(other, &sums(other, Selection::default())));
        let all: Vec<Folded> = folded.iter().cloned().chain(others).collect();
        Found { folded, regex: Folded::regex_of_all(all.iter().map(|folded| &folded.regex)) }
    }
}

impl Engine<'_> {
    fn found(&self) -> Result<&Found, String> {
        if let Some(found) = self.wrappers.0.get() {
            return Ok(found);
        }
        let whole = self.ask(&Ask::default(), query::View::Totals)?.basis.sums.ok_or("the answer has no sums")?;
        Ok(self.found_with(&whole))
    }

    fn found_with(&self, whole: &Sums) -> &Found {
        self.wrappers.0.get_or_init(|| Found::of(self.recording(), whole, self.compared()))
    }

    /// Finds them with sums of the whole recording that are there anyway.
    pub(crate) fn find_wrappers(&self, whole: &Sums) {
        self.found_with(whole);
    }

    /// What a view folds away.
    pub(crate) fn folded(&self, ask: &Ask) -> Result<Option<Regex>, String> {
        if ask.shows_wrappers() { Ok(None) } else { Ok(self.found()?.regex.clone()) }
    }

    /// The wrappers, and the sentence that says that they are folded, if they are; null: there are none.
    pub(crate) fn describe_wrappers(&self, ask: &Ask, sums: &Sums) -> Result<Value, String> {
        let of = |folded: &Folded| {
            let sentence = (!ask.shows_wrappers()).then(|| notes::callers_lead(folded, sums));
            json!({ "functions": folded.functions, "folded": sentence })
        };
        Ok(json!(self.found()?.folded.as_ref().map(of)))
    }
}
