//! Which stacks are shown, and which of their frames.

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
    pub fold: Option<Regex>,

    /// Show functions that allocate for others, such as xmalloc or g_malloc, instead of their callers
    #[arg(long)]
    pub wrappers: bool,
}
