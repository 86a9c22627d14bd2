//! What the front end asks.

use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::tree::By;
use serde::Deserialize;

/// A question about a part of a recording.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ask {
    /// What is asked for.
    pub what: What,
    /// From when on, ns since the recording began.
    pub from_ns: Option<f64>,
    /// Until when.
    pub to_ns: Option<f64>,
    /// Processes that count, by number or name; none: all.
    pub processes: Vec<String>,
    /// Threads that count, by number or name; none: all.
    pub threads: Vec<String>,
    /// Only stacks of which a function, a file or a module matches.
    pub filter: String,
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Whether wrappers of malloc are shown. Without this, their callers lead.
    pub wrappers: bool,
    /// Whether costs are charged to whom paid them.
    pub paid: bool,
    /// How rows are grouped.
    pub group: Group,
    /// Which part of a call tree.
    pub tree: Part,
    /// The span that this one is compared with, of the same recording.
    pub base: Option<Base>,
    /// The source file, as the recording names it.
    pub file: String,
    /// The type whose layout is wanted; empty: none.
    pub type_name: String,
    /// Which part of a map of memory.
    pub memory: Memory,
    /// Where generations begin.
    pub borders: Borders,
}

/// Which part of a map of memory.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Memory {
    /// Only the blocks from this address on; none: the map.
    pub from: Option<f64>,
    /// Only those below this one.
    pub to: Option<f64>,
}

/// Where generations of blocks begin.
#[derive(Clone, Copy, Default, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Borders {
    /// With the selection: what is older, and what is not.
    #[default]
    Selection,
    /// With the selection and each mark in it or, where there are no marks, with each tenth of it.
    Marks,
}

/// A span of time that another one is compared with.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Base {
    /// From when on, ns since the recording began.
    pub from_ns: Option<f64>,
    /// Until when.
    pub to_ns: Option<f64>,
}

/// What an [`Ask`] asks for.
#[derive(Clone, Copy, Default, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// What the recording is, and its time line.
    About,
    /// Sums, call sites and findings.
    #[default]
    Profile,
    /// Sums by something else than call sites.
    Groups,
    /// Sizes, lifetimes and growth of blocks, by call site.
    Patterns,
    /// What to change, and what that saves. Of the whole run.
    Advice,
    /// Threads over time.
    Lanes,
    /// Live bytes, allocations and page faults over time; marks and regions.
    Activity,
    /// What changed, by call site: from another recording, of the whole runs, or from another span of this one.
    Compare,
    /// The same, as one call tree of both.
    CompareTree,
    /// A source file, and what its lines cost.
    Source,
    /// A part of a call tree, as far as it is large enough to be seen.
    Tree,
    /// Where live blocks lie at the end of the selected time.
    Memory,
    /// What is live at the end of the selected time, by when it was acquired.
    Generations,
    /// Types of the blocks, and how the members of one lie in memory.
    Layout,
}

/// Which part of a call tree.
#[derive(Clone, Default, PartialEq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Part {
    /// From the allocations outwards.
    pub reversed: bool,
    /// The metric by which branches are large or small.
    pub metric: String,
    /// The metrics whose numbers are wanted; none: all.
    pub columns: Vec<String>,
    /// Only stacks through this function: what it calls, or who calls it.
    pub function: Option<String>,
    /// What the first branches are, if not frames.
    pub by: Option<By>,
    /// The one of these that leads to the branch from which on the tree is wanted, by its name.
    pub label: Option<String>,
    /// The frames that lead to the branch from which on the tree is wanted, by their ids.
    pub path: Vec<u32>,
    /// The same in a tree of before and after: whose frames (0: before, 1: after), and their ids.
    pub path_of_both: Vec<(usize, u32)>,
    /// The share that a branch must have to be seen, 0 to 1, of that from which on the tree is wanted.
    pub least: f64,
}

/// By what [`What::Groups`] adds up.
#[derive(Clone, Copy, Default, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Threads.
    #[default]
    Thread,
    /// Process images.
    Process,
}

impl From<Group> for GroupBy {
    fn from(group: Group) -> GroupBy {
        match group {
            Group::Thread => GroupBy::Thread,
            Group::Process => GroupBy::Process,
        }
    }
}

impl Ask {
    /// Whether wrappers of malloc are shown, as `memtoll report` has it.
    pub(crate) fn shows_wrappers(&self) -> bool {
        self.wrappers || self.unfold
    }

    /// What is selected, whatever is asked of it.
    pub(crate) fn selection(&self) -> Ask {
        Ask {
            what: What::default(),
            group: Group::default(),
            tree: Part::default(),
            base: None,
            file: String::new(),
            type_name: String::new(),
            memory: Memory::default(),
            borders: Borders::default(),
            ..self.clone()
        }
    }
}
