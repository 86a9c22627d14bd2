//! What the front end asks: a [`Query`] as everybody asks it, and which page of the answer it wants.

use memtoll_analysis::metric::Metric;
use memtoll_query::Query;
use memtoll_query::query::When;
use serde::Deserialize;

/// A question about the recording that is shown.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// What is selected, and what is shown of it.
    pub query: Query,
    /// What of the answer is wanted.
    pub page: Page,
}

/// What of an answer is wanted.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Page {
    /// What the query's view shows: a table (of call sites: with totals or, if the query asks for patterns, these), lanes or
    /// activity.
    #[default]
    Shown,
    /// What the recording is, its time line, and the table of metrics.
    About,
    /// What to change, and what that saves. Of the whole run.
    Advice,
    /// What is worth a look in what is selected. To find it may read all events.
    Findings,
    /// A level of the query's tree, and what is below it as far as it is large enough to be seen.
    Level(Level),
    /// What changed, by the query's view: a table, or a tree of both sides; or what happened when before.
    Changes(Changes),
    /// A source file, and what its lines cost.
    Source {
        /// The file, as the recording names it.
        file: String,
    },
    /// What functions cost, of themselves and with all that they call.
    Functions,
    /// Where live blocks lie at the end of the selected time: a map, or the blocks of a range of addresses.
    Memory {
        /// The range's first address, and the first one behind it.
        range: Option<(f64, f64)>,
    },
    /// What is live at the end of the selected time, by when it was acquired.
    Generations {
        /// Where generations begin.
        borders: Borders,
    },
    /// The query's metric over time, divided among the rows of its table.
    Stacked {
        /// The most intervals, which are equal.
        intervals: usize,
        /// Only call stacks with this function; `None`: all.
        #[serde(default)]
        through: Option<String>,
    },
    /// The call stacks of a thread in the order of time: of the one that has most of the query's metric.
    StackChart(StackChart),
    /// Types of the blocks, and how the members of one lie in memory.
    Layout {
        /// The type; `None`: of none.
        of: Option<String>,
    },
}

/// Nodes of a tree at most: as many as a screen has room for, and more for a search to look through.
pub(crate) fn most_nodes(searched: bool) -> usize {
    if searched { 100_000 } else { 4_000 }
}

/// A level of a call tree.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Level {
    /// The metrics whose numbers are wanted; none: all.
    pub columns: Vec<Metric>,
    /// Of a tree by modules or types, the one that leads to the level.
    pub label: Option<String>,
    /// The frames that lead to the level, by their ids.
    pub path: Vec<u32>,
    /// Whether it is for a search.
    pub searched: bool,
}

/// A stack chart.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StackChart {
    /// The most columns into which time is cut.
    pub columns: usize,
    /// Whether the lines of a function are frames of their own.
    pub lines: bool,
    /// The metrics whose numbers bars have beside the query's.
    pub metrics: Vec<Metric>,
}

/// What is compared with the query's answer.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Changes {
    /// The time before, of the same recording. Where there is a recording before, both are compared as a whole.
    pub before: Option<When>,
    /// Of a tree, the frames that lead to the level: whose (0: before, 1: after), and their ids.
    pub path: Vec<(usize, u32)>,
    /// Whether the tree is for a search.
    pub searched: bool,
}

/// Where generations of blocks begin.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Borders {
    /// With the selection: what is older, and what is not.
    Selection,
    /// With the selection and each mark in it or, where there are no marks, with each tenth of it.
    Marks,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use memtoll_analysis::sites::GroupBy;
    use memtoll_query::View;

    /// What the front end sends, one of each: a test of it holds the file against what it sends.
    pub(crate) fn questions() -> Vec<Ask> {
        let all = include_str!("../../../viewer/tests/questions.json");
        let all: Vec<serde_json::Value> = serde_json::from_str(all).unwrap();
        let ask = |one: &serde_json::Value| serde_json::from_value(one.clone());
        all.iter().map(|one| ask(one).unwrap_or_else(|error| panic!("{error}: {one}"))).collect()
    }

    #[test]
    fn each_question_of_the_front_end_is_understood() {
        let asks = questions();
        let has =
            |page: &Page| asks.iter().any(|ask| std::mem::discriminant(&ask.page) == std::mem::discriminant(page));
        let pages = [
            Page::Shown,
            Page::About,
            Page::Advice,
            Page::Findings,
            Page::Level(Level::default()),
            Page::Changes(Changes::default()),
            Page::Source { file: String::new() },
            Page::Functions,
            Page::Memory { range: None },
            Page::Generations { borders: Borders::Marks },
            Page::Stacked { intervals: 0, through: None },
            Page::StackChart(StackChart::default()),
            Page::Layout { of: None },
        ];
        assert!(pages.iter().all(has));
        let some = &asks[2].query;
        assert_eq!(some.when, When::Span { from_ns: Some(1), to_ns: Some(2_000_000_000) });
        assert_eq!((&some.processes[..], &some.threads[..]), (&["4711".to_owned()][..], &["io".to_owned()][..]));
        assert_eq!((some.filter.as_deref(), some.unfold, some.wrappers, some.paid), (Some("app::"), true, true, true));
        assert_eq!((some.min_size, some.max_size), (Some(768), Some(1023)));
        assert_eq!(some.view, View::Table { group: GroupBy::Site, limit: Some(2000) });
        assert_eq!(asks[1].query.when, When::All);
    }
}
