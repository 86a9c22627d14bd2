//! What is answered. One shape for the command line, the viewer and exports; `docs/json.md` describes it.

use crate::activity::Activity;
use crate::choices::Items;
use crate::figures::Figures;
use crate::findings::Finding;
use crate::grown::Grown;
use crate::lanes::Lanes;
use crate::left_out::LeftOut;
use crate::regions::Region;
use crate::resident::Resident;
use crate::rows::Row;
use crate::run_details::{Details, Recorder};
use crate::timeline::Timeline;
use crate::totals::Totals;
use crate::tree::Tree;
use memtoll_analysis::alike::Alike;
use memtoll_analysis::looks::Looks;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::page_balance::Balance;
use memtoll_analysis::sites::{self, GroupBy};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Known, Sums};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_analysis::wrappers::Folded;
use memtoll_model::Recording;
use memtoll_tally::Selection;
use memtoll_trace::meta::Rank;
use serde::Serialize;
use std::sync::{Arc, OnceLock};

/// What a recording says to a [`crate::Query`].
#[derive(Serialize)]
pub struct Answer<'r> {
    /// [`crate::SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Of which run, and of which part of it.
    #[serde(flatten)]
    pub about: About<'r>,
    /// The totals of what is selected; a filter does not change them. `None`: the view has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// What rows are sorted by, and shares are of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<Metric>,
    /// What was asked to be shown.
    #[serde(flatten)]
    pub shown: Shown<'r>,
    /// What is worth a look, most important first, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<Finding<'r>>>,
    /// The run's processes, threads, modules and prices, if they were asked for.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<Details<'r>>,
    /// The wrappers of malloc that are folded away, so that their callers lead, if there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wrappers: Option<Folded>,
    /// What was left out, and what must be known to read the numbers.
    pub notes: Vec<String>,
    /// What is not in the recording, or cannot be read of it.
    pub missing: Vec<String>,
    /// What the answer is made from, for printers.
    #[serde(skip)]
    pub basis: Basis<'r>,
    #[serde(skip)]
    pub(crate) alike: OnceLock<Alike>,
}

impl Answer<'_> {
    /// What functions of rows or of the tree are called.
    pub fn alike(&self) -> &Alike {
        self.alike.get_or_init(|| match &self.shown {
            Shown::Table(table) => Alike::among(table.sites.iter().flat_map(Row::functions)),
            Shown::Tree(tree) => Alike::among(tree.tree.functions()),
            _ => Alike::default(),
        })
    }
}

/// Which run, and which part of it.
#[derive(Serialize)]
pub struct About<'r> {
    /// The command line.
    pub command: &'r [String],
    pub machine: &'r memtoll_trace::meta::Machine,
    /// Which rank of a parallel job; `None`: none.
    pub rank: Option<Rank>,
    /// Settings of malloc in the environment that it was started with, such as `MALLOC_ARENA_MAX`.
    pub malloc_settings: &'r [memtoll_trace::meta::MallocSetting],
    /// When it started, UTC.
    pub started: String,
    /// For how long it ran; `None` if it was cut off before its first event.
    pub seconds: Option<f64>,
    /// The part of the time that was asked for; `None`: all of it.
    pub span: Option<Span>,
}

/// A part of the time, in ns since the recording began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Span {
    /// Its begin.
    pub from_ns: u64,
    /// Its end; `None`: that of the recording.
    pub to_ns: Option<u64>,
}

/// What was asked to be shown.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Shown<'r> {
    /// Nothing but totals.
    Totals {},
    /// Rows, largest first.
    Table(Table<'r>),
    /// A call tree, or a part of it.
    Tree(Box<Tree<'r>>),
    /// Each thread over time.
    Lanes(Lanes),
    /// What the processes together do over time.
    Activity(Activity),
    /// Runs of regions.
    Regions {
        /// By name.
        regions: Vec<Region>,
    },
    /// Live bytes over time.
    Timeline {
        /// The time line; `None` where several processes count: ask for one of them.
        timeline: Option<Timeline>,
    },
    /// Who holds the pages of a process.
    Resident {
        /// At an instant.
        resident: Box<Resident<'r>>,
    },
    /// Lines whose live bytes grow steadily.
    Grown {
        /// Those that grow most first.
        grown: Vec<Grown<'r>>,
    },
    /// What the recorder itself did.
    Recorder {
        /// In all processes together.
        recorder: Recorder,
    },
    /// What there is to choose from.
    List(Items<'r>),
}

/// Rows, and what they leave out.
#[derive(Serialize)]
pub struct Table<'r> {
    /// The rows, largest first.
    pub sites: Vec<Row<'r>>,
    /// What all rows have together, where only some stacks match; `None`: totals are of the same stacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching: Option<Figures>,
    /// What further rows have together; `None`: all rows are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// What rows are.
    #[serde(skip)]
    pub group: GroupBy,
    /// The further rows, as the analysis has them.
    #[serde(skip)]
    pub rest: Vec<sites::Row>,
}

/// What an answer is made from.
pub struct Basis<'r> {
    pub recording: &'r Recording,
    /// The part of the time, and what else was selected.
    pub selection: Selection,
    /// The processes and threads that count.
    pub thread_filter: ThreadFilter,
    /// What was added up; `None`: the view needs no sums.
    pub sums: Option<Sums>,
    /// How stacks are shown.
    pub view: View,
    /// What lies in memory, if it was asked for.
    pub looks: Option<Arc<Looks>>,
    /// The rows of the call sites, if there are findings and these were made for them.
    pub sites: Option<Vec<sites::Row>>,
    /// The stacks as the view shows them, with those that are known already. `None`: the session keeps them for further questions.
    pub stacks: Option<Stacks<'r>>,
    /// Who holds the pages of its process at the end, if there are findings and this was found for them.
    pub pages: Option<Arc<Balance>>,
    /// What things cost.
    pub tariff: Tariff,
}

impl<'r> Basis<'r> {
    /// The stacks as the view shows them.
    pub fn stacks(&self) -> Stacks<'r> {
        self.stacks.clone().unwrap_or_else(|| Stacks::new(self.recording, &self.view))
    }

    /// What further sums of the same need to know.
    pub fn known(&self) -> Known<'_> {
        Known { looks: self.looks.as_deref(), ..Known::default() }
    }
}
