//! Answers questions about the open recordings.

use crate::ask::{Ask, Page};
use crate::layout::LookedUp;
use crate::memory_map::LiveBlocks;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::recordings::Recordings;
use crate::selections::Selections;
use memtoll_analysis::sites::GroupBy;
use memtoll_query::View;

/// Finds who writes the page that is asked for, and keeps what the next page may need.
pub struct Engine<'a> {
    open: Recordings<'a>,
    selections: Selections,
    live_blocks: Option<LiveBlocks>,
    looked_up: Option<LookedUp>,
}

impl<'a> Engine<'a> {
    pub fn new(open: Recordings<'a>) -> Engine<'a> {
        Engine { open, selections: Selections::default(), live_blocks: None, looked_up: None }
    }

    /// What was kept is made anew.
    pub fn forget(&mut self) {
        *self = Engine::new(self.open.again());
    }

    /// The answer, or why there is none.
    pub fn answer(&mut self, Ask { query, page }: &Ask) -> Result<Pack, NoAnswer> {
        let Engine { open, selections, live_blocks, looked_up } = self;
        open.check_files()?;
        match (page, &query.view) {
            (Page::About, _) => Ok(open.about()),
            (Page::Advice, _) => open.advice(open.settings.sources),
            (Page::Shown, View::Table { group: GroupBy::Site, limit }) => {
                let selected = match query.patterns {
                    true => selections.of(open, query)?,
                    false => selections.with_findings(open, query)?,
                };
                let sites = open.sites(&selected.sums, &selected.rows, limit.unwrap_or(usize::MAX));
                match query.patterns {
                    true => Ok(open.patterns(selected, &sites)),
                    false => Ok(open.profile(selected, None, &sites)),
                }
            }
            (Page::Shown, View::Table { limit, .. }) => open.groups(query, limit.unwrap_or(usize::MAX)),
            (Page::Shown, View::Lanes { .. }) => open.lanes(query),
            (Page::Shown, View::Activity { .. }) => open.activity(query),
            (Page::Shown, View::Resident { .. }) => open.resident_set(query),
            (Page::Level(level), View::Tree(tree)) => open.level(selections.of(open, query)?, query, tree, level),
            (Page::Changes(changes), View::Tree(tree)) => open.changed_trees(query, tree, changes),
            (Page::Changes(changes), View::Activity { .. }) => open.activity_before(query, changes),
            (Page::Changes(changes), View::Table { limit, .. }) => open.changes(query, *limit, changes),
            (Page::Stacked { intervals, through }, View::Table { .. }) => {
                open.stacked(query, *intervals, through.as_deref())
            }
            (Page::StackChart { columns, lines }, _) => open.stack_chart(query, *columns, *lines),
            (Page::Source { file }, _) => open.source(selections.of(open, query)?, file),
            (Page::Functions, _) => Ok(open.functions(selections.of(open, query)?)),
            (Page::Memory { range }, _) => open.memory(selections, live_blocks, query, *range),
            (Page::Generations { borders }, _) => open.generations(selections.of(open, query)?, *borders),
            (Page::Layout { of }, _) => Ok(open.layout(selections.of(open, query)?, looked_up, of.as_deref())),
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
    use memtoll_query::Query;
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
}
