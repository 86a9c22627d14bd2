//! `memtoll fleet check`

use super::parse::parse_label;
use super::{Asked, failed};
use crate::check::code_of;
use crate::exit::{self, Code};
use crate::output::Printing;
use clap::ValueHint;
use memtoll_check::budget::Budget;
use memtoll_check::verdict::overall;
use memtoll_fleet::Error;
use memtoll_fleet::selection::Selection;
use std::path::PathBuf;

/// Check the runs of a store against a memory budget
///
/// Limits are for the mean run; how much runs differ decides what is noise.
#[derive(clap::Args)]
pub struct Check {
    #[command(flatten)]
    asked: Asked,

    /// The budget; memtoll budget writes a first one
    #[arg(long, value_name = "FILE", default_value = "memtoll.toml", value_hint = ValueHint::FilePath)]
    budget: PathBuf,

    /// Compare with the runs that have this label, which replaces the same label in --where, such as version=1.4 (repeatable:
    /// all must fit)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_label)]
    baseline: Vec<(String, String)>,

    /// Show the limits that are kept, too
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    printing: Printing<CheckFormat>,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum CheckFormat {
    Text,
    Json,
    /// A test case for each limit, as CI servers read them
    Junit,
}

impl Check {
    pub fn run(&self) -> Code {
        let budget = match Budget::read(&self.budget) {
            Ok(budget) => budget.split().1, // a store knows nothing of single tests
            Err(error) => return exit::fail(error, Code::Usage),
        };
        let selection = self.asked.selection();
        let is_replaced = |name: &str| self.baseline.iter().any(|(other, _)| other == name);
        let kept = self.asked.r#where.iter().filter(|(name, _)| !is_replaced(name)).cloned();
        let labels = kept.chain(self.baseline.clone()).collect();
        let baseline = Selection { labels, sample: selection.sample, ..Selection::default() };
        let baseline = (!self.baseline.is_empty()).then_some(&baseline);
        let judged = self
            .asked
            .open()
            .and_then(|mut store| memtoll_fleet::check::check(store.as_mut(), &budget, &selection, baseline));
        let all = match judged {
            Ok(all) => all,
            Err(error @ Error::Question(_)) => return exit::fail(error, Code::NotKnown),
            Err(error) => return failed(&error),
        };
        let (screen, name) = (self.printing.screen(), self.budget.display().to_string());
        let text = match self.printing.format {
            CheckFormat::Text => Ok(memtoll_check::text::render(&all, &name, self.verbose, screen.width)),
            CheckFormat::Json => memtoll_check::json::render(&all).map_err(|error| error.to_string()),
            CheckFormat::Junit => memtoll_check::junit::render(&all, &name).map_err(|error| error.to_string()),
        };
        let printed = match text {
            Ok(text) => screen.print(&text),
            Err(error) => return exit::fail(error, Code::Failed),
        };
        code_of(overall(&all)).or(printed)
    }
}
