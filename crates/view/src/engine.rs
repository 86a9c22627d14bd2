//! Answers questions about the open recordings.

use crate::ask::{Ask, Page};
use crate::layout::LookedUp;
use crate::memory_map::LiveBlocks;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::FindingsPack;
use crate::recordings::Recordings;
use crate::selections::Selections;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::sites::GroupBy;
use memtoll_model::reading;
use memtoll_query::{Query, View};
use std::sync::{Arc, OnceLock};

/// Finds who writes the page that is asked for, and keeps what the next page may need.
pub struct Engine<'a> {
    open: Recordings<'a>,
    /// Those that other engines have added up, too.
    selections: Arc<Selections>,
    /// What to change, if one of them has looked for it.
    advice: Arc<OnceLock<Pack>>,
    live_blocks: Option<LiveBlocks>,
    looked_up: Option<LookedUp>,
}

impl<'a> Engine<'a> {
    pub fn new(open: Recordings<'a>) -> Engine<'a> {
        Engine { open, selections: Arc::default(), advice: Arc::default(), live_blocks: None, looked_up: None }
    }

    /// One more for the same recordings: what one of them has added up, the others know.
    pub fn again(&self) -> Engine<'a> {
        Engine { selections: self.selections.clone(), advice: self.advice.clone(), ..Engine::new(self.open.again()) }
    }

    /// What was kept is made anew.
    pub fn forget(&mut self) {
        *self = self.again();
    }

    /// Adds up the whole run, for which a page asks first. If that fails, the page asks again and shows why.
    pub fn prepare(&self) {
        let _ = self.selections.of(&self.open, &Query::default());
    }

    /// Looks for findings in it, too.
    pub fn prepare_findings(&self) {
        let _ = self.selections.of(&self.open, &Query::default()).and_then(|whole| whole.findings(&self.open));
    }

    /// Looks for what to change, which reads all events.
    pub fn prepare_advice(&self) {
        let _ = self.advice();
    }

    /// What to change.
    fn advice(&self) -> Result<Pack, NoAnswer> {
        if let Some(known) = self.advice.get() {
            return Ok(known.clone());
        }
        let (open, whole) = (&self.open, self.selections.of(&self.open, &Query::default())?);
        let mut pass = EventPass::new(open.recording(), &whole.sums);
        let found = open.advice(&mut pass, (&whole.sums, &whole.view), open.settings.sources)?;
        if !reading::is_cut() {
            // Another thread may have been faster, and found the same.
            let _ = self.advice.set(found.clone());
        }
        Ok(found)
    }

    /// The answer, or why there is none.
    pub fn answer(&mut self, Ask { query, page }: &Ask) -> Result<Pack, NoAnswer> {
        self.open.check_files()?;
        if *page == Page::Advice {
            return self.advice();
        }
        let Engine { open, selections, live_blocks, looked_up, .. } = self;
        match (page, &query.view) {
            (Page::About, _) => Ok(open.about()),
            (Page::Shown, View::Table { group: GroupBy::Site, limit }) => {
                let selected = &*selections.of(open, query)?;
                let sites = open.sites(&selected.sums, &selected.rows, limit.unwrap_or(usize::MAX));
                match query.patterns {
                    true => Ok(open.patterns(selected, &sites)),
                    false => Ok(open.profile(selected, None, &sites)),
                }
            }
            (Page::Findings, _) => {
                selections.of(open, query)?.findings(open).map(|findings| Pack::new(&FindingsPack { findings }))
            }
            (Page::Shown, View::Table { limit, .. }) => open.groups(query, limit.unwrap_or(usize::MAX)),
            (Page::Shown, View::Lanes { .. }) => open.lanes(query),
            (Page::Shown, View::Activity { .. }) => open.activity(query),
            (Page::Shown, View::Resident { .. }) => open.resident_set(query),
            (Page::Level(level), View::Tree(tree)) => open.level(&*selections.of(open, query)?, query, tree, level),
            (Page::Changes(changes), View::Tree(tree)) => open.changed_trees(query, tree, changes),
            (Page::Changes(changes), View::Activity { .. }) => open.activity_before(query, changes),
            (Page::Changes(changes), View::Table { limit, .. }) => open.changes(query, *limit, changes),
            (Page::Stacked { intervals, through }, View::Table { .. }) => {
                open.stacked(query, *intervals, through.as_deref())
            }
            (Page::StackChart(asked), _) => open.stack_chart(query, asked),
            (Page::Source { file }, _) => open.source(&*selections.of(open, query)?, file),
            (Page::Functions, _) => Ok(open.functions(&*selections.of(open, query)?)),
            (Page::Memory { range }, _) => open.memory(selections, live_blocks, query, *range),
            (Page::Generations { borders }, _) => open.generations(&*selections.of(open, query)?, *borders),
            (Page::Layout { of }, _) => Ok(open.layout(&*selections.of(open, query)?, looked_up, of.as_deref())),
            (page, view) => Err(NoAnswer::NoPage { page: page.clone(), view: Box::new(view.clone()) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compared;
    use memtoll_model::Recording;
    use memtoll_model::reading::{self, Reading};
    use std::path::Path;
    use std::sync::Arc;

    /// What a cancelled question leaves behind is no part of later answers.
    #[test]
    fn a_question_is_answered_as_ever_after_it_was_cancelled() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let mut engine = Engine::new(Recordings::new(&recording, Compared::default()));
        let ask = Ask { query: Query::default(), page: Page::Memory { range: None } };
        let expected = engine.answer(&ask).unwrap().bytes();
        engine.forget();
        let reading = Arc::new(Reading::default());
        reading.cancel();
        let _ = reading::during(Some(reading.clone()), || engine.answer(&ask));
        assert!(reading.is_cut() && reading.events() > 0);
        engine.forget();
        let whole = Arc::new(Reading::default());
        let answer = reading::during(Some(whole.clone()), || engine.answer(&ask)).unwrap();
        assert_eq!(answer.bytes(), expected);
        assert!(!whole.is_cut() && whole.events() >= reading.events());
    }

    #[test]
    fn engines_know_what_one_of_them_has_added_up() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let mut engine = Engine::new(Recordings::new(&recording, Compared::default()));
        let mut other = engine.again();
        other.prepare_findings();
        // What the front end asks first.
        let [about, whole] = [0, 1].map(|number| crate::ask::tests::questions().swap_remove(number));
        assert_eq!(about.page, Page::About);
        let prepared = engine.selections.of(&engine.open, &Query::default()).unwrap();
        assert!(prepared.has_findings());
        let asked = engine.selections.of(&engine.open, &whole.query).unwrap();
        assert!(Arc::ptr_eq(&prepared, &asked));
        let found = engine.answer(&Ask { page: Page::Findings, ..whole }).unwrap().bytes();
        assert_eq!(found, other.answer(&Ask { page: Page::Findings, ..Ask::default() }).unwrap().bytes());
    }

    #[test]
    fn advice_that_was_prepared_reads_nothing_and_a_cancelled_one_is_not_kept() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let ask = Ask { page: Page::Advice, ..Ask::default() };
        let expected = Engine::new(Recordings::new(&recording, Compared::default())).answer(&ask).unwrap().bytes();
        let mut engine = Engine::new(Recordings::new(&recording, Compared::default()));
        let cancelled = Arc::new(Reading::default());
        cancelled.cancel();
        reading::during(Some(cancelled), || engine.prepare_advice());
        assert!(engine.advice.get().is_none());
        engine.again().prepare_advice();
        let asked = Arc::new(Reading::default());
        let found = reading::during(Some(asked.clone()), || engine.answer(&ask)).unwrap();
        assert_eq!((found.bytes(), asked.events()), (expected, 0));
    }

    /// Selections are shared, so one that is not complete must not be kept.
    #[test]
    fn a_cancelled_selection_is_not_kept() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(Path::new(file)).unwrap();
        let mut engine = Engine::new(Recordings::new(&recording, Compared::default()));
        // Sizes are known of events only.
        let query = Query { max_size: Some(1 << 20), ..Query::default() };
        let ask = Ask { page: Page::Findings, query };
        let reading = Arc::new(Reading::default());
        reading.cancel();
        let _ = reading::during(Some(reading.clone()), || engine.answer(&ask));
        assert!(reading.is_cut());
        let kept = engine.answer(&ask).unwrap().bytes();
        let expected = Engine::new(Recordings::new(&recording, Compared::default())).answer(&ask).unwrap();
        assert_eq!(kept, expected.bytes());
    }
}
