//! Which stacks are shown, and which of their frames.

use memtoll_analysis::stacks::Names;
use memtoll_query::Query;
use regex::Regex;

/// Options of all commands that show stacks.
#[derive(clap::Args)]
pub struct StackArguments {
    /// Show only stacks in which a function, a file or a module matches
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,

    /// Show library frames too (std::, operator new, alloc::, boost, libc)
    #[arg(long)]
    pub unfold: bool,

    /// Fold away functions or whole libraries whose name matches, such as libsqlite3
    #[arg(long, value_name = "REGEX")]
    pub fold: Option<Names>,

    /// Leave out stacks in which the name of a function or library matches
    #[arg(long, value_name = "REGEX")]
    pub drop: Option<Names>,

    /// Show only stacks in which the name of a function or library matches, from there on
    #[arg(long, value_name = "REGEX")]
    pub focus: Option<Names>,

    /// Collapse recursion: show a matching function once per call path; of a matching library, the function called first
    #[arg(long, value_name = "REGEX")]
    pub collapse: Option<Names>,

    /// Show functions that allocate for others, such as xmalloc or g_malloc, instead of their callers
    #[arg(long)]
    pub wrappers: bool,
}

impl StackArguments {
    /// The question that asks for these stacks.
    pub fn query(&self) -> Query {
        let text = |names: &Option<Names>| names.as_ref().map(Names::to_string);
        Query {
            filter: self.filter.as_ref().map(Regex::to_string),
            fold: text(&self.fold),
            drop: text(&self.drop),
            focus: text(&self.focus),
            collapse: text(&self.collapse),
            unfold: self.unfold,
            wrappers: self.wrappers,
            ..Query::default()
        }
    }
}
