//! What is looked at: view, selection, metric, search. All views answer for the same.

use crate::comparison::Sides;
use crate::keys::Step;
use crate::question::Question;
use memtoll_analysis::metric::{Metric, Place};
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::{By, Direction};
use memtoll_query::query::{self, TreeQuery, When};
use memtoll_query::{Query, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    /// What memory costs, the worst lines, advice.
    Overview,
    /// Call sites, or what they are grouped by.
    Lines,
    /// The call tree.
    Tree,
    /// The call tree as a picture.
    Flame,
    /// What was live at both ends of the selection.
    Snapshots,
    /// Threads over time.
    Threads,
    /// What was recorded.
    Recording,
    /// What changed between two recordings or spans.
    Compare,
}

impl View {
    /// All of them, with the keys that show them, which are those of the viewer for browsers, and their names.
    pub const ALL: [(View, char, &str); 8] = [
        (View::Overview, '1', "Overview"),
        (View::Lines, '2', "Lines"),
        (View::Tree, '3', "Call tree"),
        (View::Flame, '4', "Flame graph"),
        (View::Snapshots, '5', "Snapshots"),
        (View::Threads, '7', "Threads"),
        (View::Recording, '8', "Recording"),
        (View::Compare, '0', "Compare"),
    ];
}

/// What rows of the lines can be, with what they are called.
pub const GROUPS: [(GroupBy, &str); 6] = [
    (GroupBy::Site, "lines"),
    (GroupBy::Function, "functions"),
    (GroupBy::Module, "modules"),
    (GroupBy::Type, "types"),
    (GroupBy::Thread, "threads"),
    (GroupBy::Process, "processes"),
];

/// Rows that are listed at the most.
const ROWS: usize = 1000;
/// Branches of a call tree below this share of it, in percent, are one row.
const SMALL: f64 = 0.1;
/// Intervals of the time line and of the lanes at the most.
const INTERVALS: usize = 512;

/// Whose calls count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Who {
    pub process: Option<String>,
    pub thread: Option<String>,
}

/// What is looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    pub view: View,
    pub metric: Metric,
    /// The part of the time; `None`: all of it.
    pub span: Option<Span>,
    /// The part of the time that the selection is compared with.
    pub before: Option<Span>,
    /// The part of the time that the time line shows; `None`: all of it.
    pub zoom: Option<Span>,
    /// Whose calls count.
    pub who: Who,
    /// Whether call trees begin at the allocations.
    pub reversed: bool,
    /// Index in [`GROUPS`].
    pub group: usize,
    /// What call trees begin with, if not frames.
    pub tree_by: Option<By>,
    /// What is searched; empty: nothing.
    pub search: String,
}

impl Default for State {
    fn default() -> State {
        State {
            view: View::Overview,
            metric: Metric::Cost,
            span: None,
            before: None,
            zoom: None,
            who: Who::default(),
            reversed: false,
            group: 0,
            tree_by: None,
            search: String::new(),
        }
    }
}

impl State {
    /// The metric after this one, or before it, of those that the recording knows and the view `shows`.
    pub fn metric_beside(&self, tariff: &Tariff, step: Step, shows: impl Fn(Metric) -> bool) -> Metric {
        let known: Vec<Metric> = {
            // Call trees and flame graphs have no means.
            let added = Metric::shown_in(Place::Viewer).filter(|metric| metric.adds_up());
            added.filter(|metric| metric.is_known(tariff.sees()))
        }
        .collect();
        let at = known.iter().position(|metric| *metric == self.metric).unwrap_or(0);
        let mut others = (1..=known.len()).map(|by| match step {
            Step::Previous => known[(at + known.len() - by) % known.len()],
            Step::Next => known[(at + by) % known.len()],
        });
        others.find(|metric| shows(*metric)).unwrap_or(self.metric)
    }

    /// The end of the stacks at which trees begin.
    pub fn direction(&self) -> Direction {
        if self.reversed { Direction::Callers } else { Direction::Callees }
    }

    /// What a view asks of the selection.
    fn query(&self, view: query::View) -> Query {
        Query {
            when: when(self.span),
            processes: self.who.process.iter().cloned().collect(),
            threads: self.who.thread.iter().cloned().collect(),
            metric: Some(self.metric),
            ..Query::of(view)
        }
    }

    /// Totals, findings and the worst lines.
    pub fn overview(&self) -> Question {
        let view = query::View::Table { group: GroupBy::Site, limit: Some(ROWS) };
        Question::from(Query { findings: true, ..self.query(view) })
    }

    /// Rows of the lines.
    pub fn lines(&self) -> Question {
        match GROUPS[self.group].0 {
            GroupBy::Site => self.overview(),
            group => Question::from(self.query(query::View::Table { group, limit: Some(ROWS) })),
        }
    }

    /// What was live at an instant; `None`: at the end, with what each process left.
    pub fn live_at(&self, at: Option<u64>) -> Question {
        let view = query::View::Table { group: GROUPS[self.group].0, limit: None };
        let when = at.map_or(When::All, |at| When::Span { from_ns: None, to_ns: Some(at) });
        Question::from(Query { when, metric: Some(Metric::Live), ..self.query(view) })
    }

    /// Index in [`GROUPS`] of what rows of a comparison are: lines or functions.
    pub fn compared_group(&self) -> usize {
        usize::from(GROUPS[self.group].0 == GroupBy::Function)
    }

    /// What changed. `has_before`: from one recording to another; otherwise from one span to the selection, if both are known.
    pub fn comparison(&self, has_before: bool) -> Option<Question> {
        let whole = || Query::of(query::View::Totals);
        let [before, after] = match self.before {
            _ if has_before => [whole(), whole()],
            None => return None,
            before => [before, self.span].map(|span| Query {
                when: when(span),
                metric: None,
                ..self.query(query::View::Totals)
            }),
        };
        let group = GROUPS[self.compared_group()].0;
        Some(Question::Comparison(Box::new(Sides { before, after, group })))
    }

    /// The call tree.
    pub fn tree(&self) -> Question {
        self.tree_of(self.tree_by)
    }

    /// The flame graph: the same, of all call paths together.
    pub fn flame(&self) -> Question {
        self.tree_of(None)
    }

    fn tree_of(&self, by: Option<By>) -> Question {
        let tree = TreeQuery { min_percent: SMALL, by, joins_lines: true, ..TreeQuery::whole(self.direction()) };
        Question::from(self.query(query::View::Tree(tree)))
    }

    /// What each thread costs.
    pub fn costs_of_threads(&self) -> Question {
        let view = query::View::Table { group: GroupBy::Thread, limit: None };
        Question::from(Query { metric: None, ..self.query(view) })
    }

    /// Threads over time.
    pub fn lanes(&self) -> Question {
        Question::from(Query { metric: None, ..self.query(query::View::Lanes { intervals: INTERVALS / 2 }) })
    }

    /// Live bytes over the part of the time that the time line shows.
    pub fn band(&self) -> Question {
        let query = self.query(query::View::Activity { intervals: INTERVALS });
        Question::from(Query { when: when(self.zoom), metric: None, ..query })
    }

    /// What there is to choose from.
    pub fn list(of: query::List) -> Question {
        Question::from(Query::of(query::View::List { of }))
    }
}

fn when(span: Option<Span>) -> When {
    span.map_or(When::All, |span| When::Span { from_ns: Some(span.from_ns), to_ns: span.to_ns })
}
