//! What is asked for.

use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::tree::{By, Direction};
use serde::{Deserialize, Serialize};

/// A question about a recording. All fields are optional in JSON; the default asks for the totals of the whole recording.
///
/// ```json
/// { "when": { "span": { "from_ns": 2000000000, "to_ns": 3000000000 } }, "threads": ["io"], "metric": "cost",
///   "view": { "table": { "group": "function", "limit": 20 } } }
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    /// Which part of the time.
    pub when: When,
    /// Only these processes: a PID (`4711.2`: the second process that had it), a program's name, or a word of a command line. Empty: all.
    pub processes: Vec<String>,
    /// Only these threads: a TID or a name. Empty: all.
    pub threads: Vec<String>,
    /// Only call stacks with a function, file or module that this regular expression matches.
    pub filter: Option<String>,
    /// Functions and modules that this regular expression matches are folded away like those of a library.
    pub fold: Option<String>,
    /// Only call stacks without a function or module that this regular expression matches.
    pub drop: Option<String>,
    /// Only call stacks with such a function or module, from the outermost one on.
    pub focus: Option<String>,
    /// Functions that are shown once in a call stack, without what lies between their calls; of modules, the function that is
    /// called first.
    pub collapse: Option<String>,
    /// Whether library frames are shown, too.
    pub unfold: bool,
    /// Whether functions that allocate for others, such as `xmalloc`, are shown. Without this, their callers lead.
    pub wrappers: bool,
    /// Only blocks of at least this size, bytes.
    pub min_size: Option<u64>,
    /// Only blocks of at most this size, bytes.
    pub max_size: Option<u64>,
    /// Whether costs are charged to the code that paid them, not to the lines that allocated.
    pub paid: bool,
    /// Whether it is known what lies in memory, at the end or at an instant: `resident`, `pinned` and the like. That reads all events. A
    /// metric that is one of these asks for it, too.
    pub pages: bool,
    /// What rows and branches are sorted by, and what shares are of. Default: see [`Query::metric`].
    pub metric: Option<Metric>,
    /// What is shown.
    pub view: View,
    /// Whether the answer has [`crate::Answer::findings`].
    pub findings: bool,
    /// Whether rows of stacks have [`crate::rows::Row::pattern`].
    pub patterns: bool,
    /// Whether the answer has [`crate::Answer::details`]. They are of the whole run, and some read all costs.
    pub details: bool,
}

/// A part of the time, in ns since the recording began.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum When {
    /// All of it.
    #[default]
    All,
    /// From one time to another. What was live before still counts as live.
    Span {
        /// `None`: from the start.
        from_ns: Option<u64>,
        /// `None`: to the end.
        to_ns: Option<u64>,
    },
    /// From one mark of `memtoll.h` to the next one of the other name; of a region, give its name twice.
    Marks {
        /// The first one's name.
        from: String,
        /// The last one's name.
        to: String,
    },
    /// What was live at an instant. If it is asked what lies in memory, that is the look at a process's pages nearest to it.
    At {
        /// The instant.
        ns: u64,
    },
    /// What was live at a look at the pages of a process.
    Look {
        /// Which look.
        at: Instant,
    },
}

/// What an answer shows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum View {
    /// Only totals, findings and details.
    #[default]
    Totals,
    /// Rows, largest first.
    Table {
        /// What a row is.
        group: GroupBy,
        /// The most rows.
        #[serde(default)]
        limit: Option<usize>,
    },
    /// A call tree, or a part of it.
    Tree(TreeQuery),
    /// Each thread over time.
    Lanes {
        /// Number of equal intervals.
        intervals: usize,
    },
    /// Live bytes, allocations and page faults over time, of all processes that count together.
    Activity {
        /// The most intervals, which are equal.
        intervals: usize,
    },
    /// What each run of a region cost.
    Regions,
    /// Live bytes over time.
    Timeline,
    /// Lines whose live bytes grow steadily.
    Grown,
    /// What the recorder itself did.
    Recorder,
    /// Who holds the pages of a process at an instant.
    Resident {
        at: Instant,
        /// Cells at the most of a map of them; 0: there is no map.
        #[serde(default)]
        cells: usize,
    },
    /// What there is to choose from.
    List { of: List },
}

/// At which look at a process's pages.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Instant {
    /// The last one.
    #[default]
    Last,
    /// Where it had most.
    Peak,
    /// When it was about to end.
    End,
    /// The one nearest to this time after the start, ns.
    Near(u64),
    /// The first one after a mark or a region of this name.
    Mark(String),
    /// The one for which the resident set had passed this size, bytes.
    Size(u64),
}

/// Which part of a call tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeQuery {
    /// Which end of the stacks is the root.
    pub direction: Direction,
    /// Only what this function calls (from the entry inward) or who calls it (from the allocation outward): its name as
    /// rows have it, with ` module:` and that of its loaded file behind it where other files have one of that name. Of a stack
    /// that has it several times, the outermost one counts.
    #[serde(default)]
    pub function: Option<String>,
    /// What the branches below the root are: modules or types, with the call trees of their allocations below them. `None`:
    /// frames, as always where a function is asked for.
    #[serde(default)]
    pub by: Option<By>,
    /// Only what is below the node with this [`crate::tree::Node::key`]. Ask for children when a node is opened.
    #[serde(default)]
    pub node: Option<String>,
    /// The most levels; `None`: all of them.
    #[serde(default)]
    pub depth: Option<usize>,
    /// Without branches below this share of the metric's total, in percent.
    #[serde(default)]
    pub min_percent: f64,
    /// Whether the lines of a function that calls are one node. Lines that are small each are still left out.
    #[serde(default)]
    pub joins_lines: bool,
}

impl TreeQuery {
    pub fn whole(direction: Direction) -> TreeQuery {
        TreeQuery { direction, function: None, by: None, node: None, depth: None, min_percent: 0.0, joins_lines: false }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    /// Marks and regions of memtoll.h.
    Marks,
    Threads,
    /// Process images.
    Processes,
    /// Loaded files.
    Modules,
    /// Looks at the pages of processes.
    Looks,
}

impl Query {
    /// A query that shows this, of the whole recording.
    pub fn of(view: View) -> Query {
        Query { view, ..Query::default() }
    }

    /// Only what it says of call stacks, of the whole recording.
    pub fn of_stacks(&self) -> Query {
        let Query { filter, fold, drop, focus, collapse, .. } = self.clone();
        Query { filter, fold, drop, focus, collapse, unfold: self.unfold, wrappers: self.wrappers, ..Query::default() }
    }

    /// Whether its answer knows what lies in memory.
    pub fn is_of_pages(&self) -> bool {
        self.pages || self.metric.is_some_and(Metric::is_of_pages)
    }

    /// At which look at a process's pages, if it is about one.
    pub(crate) fn look(&self) -> Option<Instant> {
        match &self.when {
            When::Look { at } => Some(at.clone()),
            When::At { ns } if self.is_of_pages() => Some(Instant::Near(*ns)),
            _ => None,
        }
    }

    /// What rows are sorted by: what was asked for; else what is live, at an instant; cost, where that is charged to who
    /// paid; and allocations.
    pub fn metric(&self) -> Metric {
        match (self.metric, &self.when) {
            (Some(metric), _) => metric,
            (None, When::At { .. } | When::Look { .. }) => Metric::Live,
            (None, _) if self.paid => Metric::Cost,
            (None, _) => Metric::Allocations,
        }
    }
}
