//! A metric over time, divided among the functions or types that have most of it.

use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{StackedGroup, StackedPack};
use crate::recordings::{Recordings, cuts, part_ns};
use memtoll_analysis::alike::Alike;
use memtoll_analysis::metric::{About, Metric};
use memtoll_analysis::one_function::OneFunction;
use memtoll_analysis::sites::{GroupBy, Row};
use memtoll_analysis::stacked_timeline::{Amount, Asked, Grouped, stacked};
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::timeline::Grid;
use memtoll_query::{Query, Shown, View};
use rustc_hash::FxHashMap;

/// Groups at the most, without the others.
const MOST_GROUPS: usize = 250;
/// Blocks of events that are read without a wait.
const MOST_BLOCKS: usize = 32;
/// Parts of the time that a screen shows at the least.
const FEWEST_PARTS: usize = 128;

/// Intervals of equal length.
struct Cells {
    start_ns: f64,
    interval_ns: f64,
    /// The times between them, with the begin of the first one and the end of the last one, units.
    cuts: Vec<u64>,
}

impl Recordings<'_> {
    /// The rows of a query's table over time, and behind them the others together. `most`: intervals at the most; `through`: only of
    /// call stacks with this function.
    pub(crate) fn stacked(&self, query: &Query, most: usize, through: Option<&str>) -> Result<Pack, NoAnswer> {
        let View::Table { group, limit } = query.view else { return Err(NoAnswer::Lacks("table")) };
        let metric = query.metric();
        let Some(amount) = Amount::of(metric) else {
            let why = format!("The {} has no parts that add up over time.", metric.about().title);
            let nothing = StackedPack {
                start_ns: 0.0,
                interval_ns: 1.0,
                is_live: false,
                groups: Vec::new(),
                why,
                damage: Vec::new(),
            };
            return Ok(Pack::new(&nothing));
        };
        // Who has most of what is live is who has most at the peak of the time that is asked for.
        let ranked = if amount == Amount::Live { Metric::Peak } else { metric };
        let limit = Some(limit.unwrap_or(MOST_GROUPS).min(MOST_GROUPS));
        let view = View::Table { group, limit };
        let answer = self.ask(&Query { view, metric: Some(ranked), findings: false, ..query.clone() })?;
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let basis = answer.basis;
        let selection = basis.selection;
        let cells = self.cells((selection.from.0, selection.to.0.min(self.recording().ended())), most);
        let is_known = metric.is_known(basis.tariff.sees());
        let why = if is_known { String::new() } else { unknown(metric.about()) };
        let mut pack = StackedPack {
            start_ns: cells.start_ns,
            interval_ns: cells.interval_ns,
            is_live: amount == Amount::Live,
            groups: Vec::new(),
            why,
            damage: answer.missing.clone(),
        };
        if !is_known {
            return Ok(Pack::new(&pack));
        }
        let named: Vec<&Row> = table.sites.iter().map(|row| &row.row).collect();
        let rest = named.len();
        let numbers: FxHashMap<_, _> = named
            .iter()
            .enumerate()
            .flat_map(|(number, row)| row.nodes.iter().map(move |node| (*node, number)))
            .collect();
        let mut stacks = self.stacks(&basis.view);
        let frames = &self.recording().frames;
        let through = through.map(OneFunction::from);
        let groups = Grouped::new(self.recording(), rest + 1, |node| {
            let stack = stacks.of(node);
            let passes = |of: OneFunction| stacks.frames(stack.path).into_iter().any(|frame| of.is(frames, frame));
            let counts = stack.matches && through.is_none_or(passes);
            counts.then(|| numbers.get(&node).copied().unwrap_or(rest))
        });
        let (cuts, sliced) = (&cells.cuts[..], self.session().sliced());
        let thread_filter = &basis.thread_filter;
        let asked = Asked { metric, amount, selection, thread_filter, cuts, groups: &groups, sliced };
        let found = stacked(self.recording(), &asked);
        let functions = named.iter().filter_map(|row| row.frame);
        let alike = Alike::among(functions.map(|frame| frames.text(frames.frame(frame).function)));
        pack.groups = named.iter().map(|row| self.group(row, group, &alike)).collect();
        if table.left_out.is_some() || found.groups[rest].iter().any(|value| *value > 0) {
            let others = table.rest.len();
            pack.groups.push(together(String::new(), Some(others)));
        }
        pack.damage.extend(found.damage);
        let mut written = Pack::new(&pack);
        for (number, values) in found.groups.iter().enumerate().take(pack.groups.len()) {
            let values: Vec<f64> = values.iter().map(|value| *value as f64).collect();
            written.member("groups", &number.to_string(), &values);
            let variances = &found.variances[number];
            if variances.iter().any(|variance| *variance > 0.0) {
                written.member("variances", &number.to_string(), variances);
            }
        }
        Ok(written)
    }

    /// Intervals between two times, units: `most` of them or, where that means reading many events, those of the slices.
    fn cells(&self, (from, to): (u64, u64), most: usize) -> Cells {
        let recording = self.recording();
        let is_many =
            |index| recording.chapters(index).is_some_and(|chapters| chapters.blocks_between(from, to) > MOST_BLOCKS);
        if self.session().sliced().is_some() && (0..recording.images.len()).any(is_many) {
            let cuts: Vec<u64> =
                [0].into_iter().chain(cuts(recording)).chain([recording.ended().saturating_add(1)]).collect();
            let begin = cuts.partition_point(|cut| *cut <= from).saturating_sub(1);
            let end = cuts.partition_point(|cut| *cut <= to).min(cuts.len() - 1);
            if end.saturating_sub(begin) >= FEWEST_PARTS {
                let interval_ns = part_ns(recording);
                return Cells { start_ns: begin as f64 * interval_ns, interval_ns, cuts: cuts[begin..=end].to_vec() };
            }
        }
        let grid = Grid::of(from, to, most);
        let ns = |units: u64| self.tariff.ns(units as f64);
        Cells { start_ns: ns(grid.start()), interval_ns: ns(1 << grid.width_log2), cuts: grid.cuts() }
    }

    fn group(&self, row: &Row, group: GroupBy, alike: &Alike) -> StackedGroup {
        let frames = &self.recording().frames;
        match row.frame {
            Some(frame) if group == GroupBy::Function => {
                let texts = Texts::of(frames, frame);
                let [full, module] = [texts.function, texts.shown_module].map(str::to_owned);
                StackedGroup { name: alike.name(&full), full, module, others: None }
            }
            _ => together(row.label.clone(), None),
        }
    }
}

/// What has no function.
fn together(name: String, others: Option<usize>) -> StackedGroup {
    StackedGroup { name, full: String::new(), module: String::new(), others }
}

/// Why a metric is not known.
fn unknown(about: &About) -> String {
    format!("The {} over time is not known: {}.", about.title, about.seen.why_not())
}
