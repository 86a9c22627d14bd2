//! A metric over time, divided among the functions or types that have most of it.

use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{StackedGroup, StackedPack};
use crate::recordings::Recordings;
use memtoll_analysis::metric::{About, Metric};
use memtoll_analysis::names;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacked_timeline::{Amount, Asked, Grouped, stacked};
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::timeline::Grid;
use memtoll_query::{Query, Shown, View};
use rustc_hash::FxHashMap;

/// Groups at the most, without the others.
const MOST_GROUPS: usize = 250;

impl Recordings<'_> {
    /// The rows of a query's table over time, and behind them the others together. `most`: intervals at the most.
    pub(crate) fn stacked(&self, query: &Query, most: usize) -> Result<Pack, NoAnswer> {
        let View::Table { group, limit } = query.view else { return Err(NoAnswer::Lacks("table")) };
        let metric = query.metric();
        let amount = Amount::of(metric);
        // Who has most of what is live is who has most at the peak of the time that is asked for.
        let ranked = if amount == Some(Amount::Live) { Metric::Peak } else { metric };
        let limit = Some(limit.unwrap_or(MOST_GROUPS).min(MOST_GROUPS));
        let view = View::Table { group, limit };
        let answer = self.ask(&Query { view, metric: Some(ranked), findings: false, ..query.clone() })?;
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let basis = answer.basis;
        let selection = basis.selection;
        let grid = Grid::of(selection.from.0, selection.to.0.min(self.recording().ended()), most);
        let why = match amount {
            None => format!("The {} has no parts that add up over time.", metric.about().title),
            Some(_) if metric.is_known(basis.tariff.sees()) => String::new(),
            Some(_) => unknown(metric.about()),
        };
        let mut pack = StackedPack {
            start_ns: self.tariff.ns(grid.start() as f64),
            interval_ns: self.tariff.ns((1_u64 << grid.width_log2) as f64),
            is_live: amount == Some(Amount::Live),
            groups: Vec::new(),
            why,
            damage: answer.missing.clone(),
        };
        let Some(amount) = amount.filter(|_| pack.why.is_empty()) else { return Ok(Pack::new(&pack)) };
        let named: Vec<&Row> = table.sites.iter().map(|row| &row.row).collect();
        let rest = named.len();
        let numbers: FxHashMap<_, _> = named
            .iter()
            .enumerate()
            .flat_map(|(number, row)| row.nodes.iter().map(move |node| (*node, number)))
            .collect();
        let mut stacks = self.stacks(&basis.view);
        let groups = Grouped::new(self.recording(), rest + 1, |stack| {
            numbers.get(&stack).copied().or_else(|| stacks.of(stack).matches.then_some(rest))
        });
        let thread_filter = &basis.thread_filter;
        let found =
            stacked(self.recording(), &Asked { metric, amount, selection, thread_filter, grid, groups: &groups });
        pack.groups = named.iter().map(|row| self.group(row, group)).collect();
        if table.left_out.is_some() || found.groups[rest].iter().any(|value| *value > 0) {
            let others = table.rest.len();
            pack.groups.push(StackedGroup { name: String::new(), full: String::new(), others: Some(others) });
        }
        pack.damage.extend(found.damage);
        let mut written = Pack::new(&pack);
        for (number, values) in found.groups.iter().enumerate().take(pack.groups.len()) {
            let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            written.member("groups", &number.to_string(), &values);
        }
        Ok(written)
    }

    fn group(&self, row: &Row, group: GroupBy) -> StackedGroup {
        let frames = &self.recording().frames;
        match row.frame {
            Some(frame) if group == GroupBy::Function => StackedGroup {
                name: names::function(frames, frame),
                full: Texts::of(frames, frame).function.to_owned(),
                others: None,
            },
            _ => StackedGroup { name: row.label.clone(), full: String::new(), others: None },
        }
    }
}

/// Why a metric is not known.
fn unknown(about: &About) -> String {
    format!("The {} over time is not known: {}.", about.title, about.seen.why_not())
}
