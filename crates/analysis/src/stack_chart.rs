//! What a thread's call stacks have of a metric, in the order of time.
//!
//! Time is cut into columns. A column shows the call path that has most of it: from the outermost frame inwards, the call that has most
//! of what its caller has, as long as it has more than the caller has itself. A frame goes on
//! where the next column that has any shows it below the same callers: the thread may have left it in between, which no call tells.

use crate::chapters::chapters_of;
use crate::finer_chapters::{OfImage, Sliced};
use crate::metric::Metric;
use crate::parallel;
use crate::priced::Priced;
use crate::processor::ImageOrThread;
use crate::settled_sites::settled;
use crate::stacks::{Path, Stacks};
use crate::tariff::Tariff;
use crate::timeline::{Grid, cell_of, cells_of};
use memtoll_model::{Chapters, FrameId, Image, Recording, StackId, TextId};
use memtoll_tally::span::{Groups, Slice, group_of, sums_of_chapter};
use memtoll_tally::{Part, Select, Selection, Split, Threads};
use memtoll_trace::costs::Cost;
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::metrics::Metrics;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Blocks of events that are read, if there are columns whose sums are known.
const MOST_BLOCKS: usize = 16;
/// Such columns, at the least: fewer do not show what happened when.
const FEWEST: usize = 64;

/// What is asked.
pub struct Asked<'a> {
    pub metric: Metric,
    /// What the metric's numbers are worth.
    pub tariff: &'a Tariff,
    /// Its times do not matter: all columns count.
    pub selection: Selection,
    /// Whose calls they are; without a thread, the whole process's.
    pub of: ImageOrThread,
    /// The times between columns, in ascending order, with the begin of the first one and the end of the last one, units: [`columns`].
    pub cuts: &'a [u64],
    /// Whether the lines of a function are frames of their own.
    pub by_line: bool,
    /// Slices of the recording, if there are some: where columns begin and end at their cuts, no events are read.
    pub sliced: Option<&'a Sliced>,
    /// What more bars have than the metric's value: what it is made of, and what says how far it is off. Numbers that add up,
    /// always as many.
    pub numbers: &'a (dyn Fn(&Priced) -> Vec<f64> + Sync),
}

/// A frame that one column shows after another.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Its caller's index; `None`: the outermost frame.
    pub caller: Option<usize>,
    pub frame: FrameId,
    /// Its first column, and the first one behind it.
    pub columns: (usize, usize),
    /// What all call stacks with this frame and these callers have of the metric in these columns, in its unit.
    pub value: f64,
    /// [`Asked::numbers`]. Columns have a call site's numbers as they have its value.
    pub numbers: Vec<f64>,
}

/// Rows of as many numbers each.
#[derive(Default)]
struct Table {
    width: usize,
    all: Vec<f64>,
}

impl Table {
    fn resize(&mut self, rows: usize) {
        self.all.resize(rows * self.width, 0.0);
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.all[row * self.width..][..self.width]
    }

    fn add(&mut self, row: usize, numbers: impl Iterator<Item = f64>) {
        self.all[row * self.width..][..self.width].iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }

    fn add_row(&mut self, row: usize, other: usize) {
        for at in 0..self.width {
            self.all[row * self.width + at] += self.all[other * self.width + at];
        }
    }

    fn clear(&mut self, row: usize) {
        self.all[row * self.width..][..self.width].fill(0.0);
    }
}

/// The stacks of a thread in the order of time.
#[derive(Default, PartialEq, Debug)]
pub struct StackChart {
    /// What the thread has of the metric in each column.
    pub columns: Vec<f64>,
    /// And as a whole: [`Asked::numbers`].
    pub numbers: Vec<f64>,
    /// Callers come before what they call.
    pub bars: Vec<Bar>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// Draws up the chart of a metric that happens ([`crate::stacked_timeline::Amount::During`]).
pub fn stack_chart(recording: &Recording, stacks: &mut Stacks, asked: &Asked) -> StackChart {
    let Some(columns) = asked.cuts.len().checked_sub(1).filter(|columns| *columns > 0) else {
        return StackChart::default();
    };
    let (Shares { amounts, numbers }, damage) = amounts(recording, asked);
    let image = &recording.images[asked.of.image];
    let mut drawing = Drawing::new(image, stacks, asked.by_line, columns, &numbers);
    for column in amounts.chunk_by(|one, other| one.column == other.column) {
        drawing.column(column);
    }
    let Drawing { columns, total, bars, .. } = drawing;
    StackChart { columns, numbers: total, bars, damage }
}

/// The borders of columns between two times, both included, units: of `most` (at least 1) equal columns or, where that means reading
/// many events, of columns whose sums are known: slices or whole chapters.
pub fn columns(
    recording: &Recording,
    of: ImageOrThread,
    (from, to): (u64, u64),
    most: usize,
    sliced: Option<&Sliced>,
) -> Vec<u64> {
    let chapters = chapters_of(recording, of.image);
    let blocks = chapters.as_ref().map_or(0, |chapters| chapters.blocks_between(from, to));
    let slices = sliced.filter(|_| blocks > MOST_BLOCKS).and_then(|sliced| sliced.between(from, to, recording.ended()));
    if let Some(cuts) = slices.filter(|cuts| cuts.len() > FEWEST) {
        return cuts;
    }
    let inside = |(first, last): &&(u64, u64)| *last >= from && *first <= to;
    let met: Vec<u64> = chapters.iter().flat_map(Chapters::times).filter(inside).map(|(first, _)| *first).collect();
    let mut cuts = match blocks > MOST_BLOCKS && met.len() >= FEWEST {
        true => met.iter().step_by(met.len().div_ceil(most.max(1))).copied().chain([to]).collect(),
        false => Grid::of(from, to, most).cuts(),
    };
    let last = cuts.len() - 1;
    (cuts[0], cuts[last]) = (from, to.saturating_add(1));
    cuts.dedup();
    cuts
}

/// What a call site has in a column.
#[derive(Clone, Copy)]
struct Amount {
    column: usize,
    site: Option<NodeId>,
    value: f64,
    /// Which share that is of what its site has: all columns have 1.
    share: f64,
    /// Where its site's numbers stand.
    place: usize,
}

/// Amounts, in the order of columns, and what each site has as a whole ([`Asked::numbers`]).
struct Shares {
    amounts: Vec<Amount>,
    numbers: Vec<Vec<f64>>,
}

/// What is found in some chapters.
#[derive(Default)]
struct Found {
    amounts: Vec<Amount>,
    /// The sums of each site, of which its amounts are shares.
    sums: Vec<(Option<NodeId>, Metrics)>,
    /// By site, where its sums stand, and one more; 0: nowhere. There are hundreds of thousands of amounts.
    places: Vec<u32>,
}

impl Found {
    fn add(&mut self, site: Option<NodeId>, metrics: &Metrics) {
        let index = NodeId::index_of(site);
        if self.places.len() <= index {
            self.places.resize((index + 1).next_power_of_two(), 0);
        }
        if self.places[index] == 0 {
            self.sums.push((site, Metrics::default()));
            self.places[index] = self.sums.len() as u32;
        }
        self.sums[self.places[index] as usize - 1].1.add(metrics);
    }

    fn merge(&mut self, other: Found) {
        self.amounts.extend(other.amounts);
        other.sums.iter().for_each(|(site, metrics)| self.add(*site, metrics));
    }
}

/// The threads that count. Sums of a whole process are at hand without those of its threads.
fn threads(recording: &Recording, of: ImageOrThread) -> Threads {
    match of.thread {
        Some(thread) if recording.images[of.image].threads.len() > 1 => Threads::Only([thread].into()),
        _ => Threads::All,
    }
}

/// In the order of columns, and statements about what is missing.
fn amounts(recording: &Recording, asked: &Asked) -> (Shares, Vec<String>) {
    let chapters = chapters_of(recording, asked.of.image);
    let mut damage = Vec::new();
    let cuts = asked.cuts;
    let (from, to) = (Units(cuts[0]), Units(cuts[cuts.len() - 1] - 1));
    let threads = threads(recording, asked.of);
    let part = Part::of(Selection { from, to, split: Split::None, ..asked.selection }, threads);
    let is_sliced = |sliced: &&Sliced| part.is_of_slices() && sliced.is_cut_between(cuts, recording.ended());
    let sliced = asked.sliced.filter(is_sliced);
    let settled = settled(recording, asked.of.image, asked.selection.charge, asked.tariff);
    let price = |site: Option<NodeId>, metrics: &Metrics| match settled.and_then(|settled| settled.get(site)) {
        Some(of_whole) => asked.tariff.price_part(metrics, of_whole),
        None => asked.tariff.price_alone(metrics),
    };
    let take = |found: &mut Found, column: usize, site: Option<NodeId>, metrics: &Metrics| {
        found.add(site, metrics);
        let value = asked.metric.value(&price(site, metrics)) as f64;
        if value > 0.0 {
            found.amounts.push(Amount { column, site, value, share: 0.0, place: 0 });
        }
    };
    let all = Groups { count: 0, of: NodeId::index_of };
    let slices = |found: &mut Found, slices: Vec<Slice>| {
        for slice in slices {
            let Some(column) = cell_of(cuts, slice.times.0) else { continue };
            let sites = slice.sites.iter().map(|(node, metrics)| (NodeId::new(group_of(*node) as u32), metrics));
            sites.for_each(|(node, metrics)| take(found, column, node, metrics));
        }
    };
    let read = |found: &mut Found, number: usize, chapters: &Chapters| {
        let of_image = &OfImage::plain(chapters);
        let (first, last) = chapters.times()[number];
        let column = cell_of(cuts, first).filter(|column| last < cuts[column + 1]);
        let sums = column.map(|_| sums_of_chapter(of_image, number, &part)).transpose()?.flatten();
        match column.zip(sums) {
            Some((column, sums)) => {
                sums.each(|node, _, metrics| take(found, column, node, metrics));
            }
            None => match sliced.and_then(|sliced| sliced.of(asked.of.image, number)) {
                Some(known) => {
                    for slice in &known.all {
                        let Some(column) = cell_of(cuts, slice.times.0) else { continue };
                        slice.sites.each_stack(&part, |node, sum| take(found, column, node, sum));
                    }
                }
                None => slices(found, all.cut_chapter(of_image, number, &part, &[], cuts)?),
            },
        }
        Ok(())
    };
    let from_chapters = chapters.as_ref().and_then(|chapters| {
        let times = chapters.times();
        let begin = times.partition_point(|(_, last)| *last < from.0);
        let end = begin + times[begin..].partition_point(|(first, _)| *first <= to.0);
        // If chapters are damaged, read all events.
        parallel::fold(end - begin, |found: &mut Found, at| read(found, begin + at, chapters), Found::merge).ok()
    });
    let mut found = from_chapters.unwrap_or_else(|| {
        let mut found = Found::default();
        match all.cut_events(&part, cuts, |take| recording.for_each_events(asked.of.image, take)) {
            Ok(cut) => slices(&mut found, cut),
            Err(why) => damage.push(why.to_string()),
        }
        found
    });
    let mut costs: FxHashMap<(usize, NodeId), Metrics> = FxHashMap::default();
    let paid = recording.for_each_cost_between(asked.of.image, from, to, |cost: &Cost| {
        let Some(node) = part.charged(cost) else { return };
        for (column, from, to) in cells_of(cuts, cost) {
            cost.add_to(from, to, costs.entry((column, node)).or_default());
        }
    });
    damage.extend(paid.err().map(|why| why.to_string()));
    costs.iter().for_each(|((column, site), metrics)| take(&mut found, *column, Some(*site), metrics));
    let worth = |site: Option<NodeId>, sums: &Metrics| {
        let priced = price(site, sums);
        (asked.metric.value(&priced) as f64, (asked.numbers)(&priced))
    };
    (shares(found, worth), damage)
}

/// The amounts, in the order of columns, so that those of a site add up to what its sums are `worth`: calls and what was paid inside
/// them are priced apart here. Which processor has found what does not change the order.
fn shares(
    Found { mut amounts, sums, places }: Found,
    worth: impl Fn(Option<NodeId>, &Metrics) -> (f64, Vec<f64>),
) -> Shares {
    let place = |site: Option<NodeId>| places[NodeId::index_of(site)] as usize - 1;
    let mut parts = vec![0.0; sums.len()];
    amounts.iter().for_each(|amount| parts[place(amount.site)] += amount.value);
    let (worth, numbers): (Vec<f64>, _) = sums.iter().map(|(site, metrics)| worth(*site, metrics)).unzip();
    amounts.sort_unstable_by(|one, other| {
        let key = |of: &Amount| (of.column, of.site);
        key(one).cmp(&key(other)).then(one.value.total_cmp(&other.value))
    });
    for amount in &mut amounts {
        amount.place = place(amount.site);
        amount.share = amount.value / parts[amount.place];
        amount.value = amount.share * worth[amount.place];
    }
    Shares { amounts, numbers }
}

/// Bars, as far as they are drawn.
struct Drawing<'a, 's> {
    image: &'a Image,
    stacks: &'a mut Stacks<'s>,
    by_line: bool,
    /// By stack, if it was met: its path; `Some(None)`: the stack does not count. There are hundreds of thousands of amounts.
    paths: Vec<Option<Option<Path>>>,
    /// A function's frame that stands for all its lines.
    functions: FxHashMap<(TextId, TextId), FrameId>,
    /// By path, if it was met: the one of such frames.
    of_functions: Vec<Option<Path>>,
    /// By site: [`Shares::numbers`].
    numbers: &'a [Vec<f64>],
    /// Of the column, what is below each path, with its numbers, what is its own, and whether it has any: zero between columns.
    below: Vec<f64>,
    beside: Table,
    own: Vec<f64>,
    is_met: Vec<bool>,
    /// And which of the paths that it calls has most; of those that have as much, the one with the smallest number.
    heaviest: Vec<Option<Path>>,
    columns: Vec<f64>,
    /// The numbers of all columns.
    total: Vec<f64>,
    bars: Vec<Bar>,
    /// The bars of the last column, from the outermost frame inwards, with their paths.
    open: Vec<(Path, usize)>,
}

impl<'a, 's> Drawing<'a, 's> {
    fn new(
        image: &'a Image,
        stacks: &'a mut Stacks<'s>,
        by_line: bool,
        columns: usize,
        numbers: &'a [Vec<f64>],
    ) -> Self {
        let recording = stacks.recording();
        Drawing {
            image,
            stacks,
            by_line,
            paths: vec![None; recording.stacks.len()],
            functions: FxHashMap::default(),
            of_functions: Vec::new(),
            numbers,
            below: Vec::new(),
            beside: Table { width: numbers.first().map_or(0, Vec::len), all: Vec::new() },
            own: Vec::new(),
            is_met: Vec::new(),
            heaviest: Vec::new(),
            columns: vec![0.0; columns],
            total: vec![0.0; numbers.first().map_or(0, Vec::len)],
            bars: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Draws a column, whose amounts are not empty.
    fn column(&mut self, amounts: &[Amount]) {
        let number = amounts[0].column;
        let mut ends = Vec::new();
        for amount in amounts {
            let Some(path) = self.path_of(self.image.node(amount.site)) else { continue };
            self.columns[number] += amount.value;
            ends.push((path, amount));
        }
        let paths = self.stacks.paths();
        self.below.resize(paths, 0.0);
        self.beside.resize(paths);
        self.own.resize(paths, 0.0);
        self.is_met.resize(paths, false);
        self.heaviest.resize(paths, None);
        let mut met = Vec::new();
        for (path, amount) in ends {
            self.own[path.number()] += amount.value;
            self.below[path.number()] += amount.value;
            let numbers = || self.numbers[amount.place].iter().map(|number| number * amount.share);
            self.total.iter_mut().zip(numbers()).for_each(|(sum, number)| *sum += number);
            self.beside.add(path.number(), numbers());
            let mut next = Some(path);
            // Whose callers are met is met, too.
            while let Some(at) = next.filter(|at| !std::mem::replace(&mut self.is_met[at.number()], true)) {
                met.push(at);
                next = self.stacks.split(at).map(|(caller, _)| caller);
            }
        }
        // Callers have smaller numbers than what they call.
        met.sort_unstable_by_key(|path| Reverse(path.number()));
        for path in &met {
            let Some((caller, _)) = self.stacks.split(*path) else { continue };
            let has = self.below[path.number()];
            self.below[caller.number()] += has;
            self.beside.add_row(caller.number(), path.number());
            let heaviest = &mut self.heaviest[caller.number()];
            if heaviest.is_none_or(|known| self.below[known.number()] <= has) {
                *heaviest = Some(*path);
            }
        }
        self.extend(number, &self.heaviest());
        for path in met {
            let at = path.number();
            (self.below[at], self.own[at], self.is_met[at]) = (0.0, 0.0, false);
            self.beside.clear(at);
            self.heaviest[at] = None;
        }
    }

    /// The path that has most, from the outermost frame inwards: see above.
    fn heaviest(&self) -> Vec<Path> {
        let most_of = |at: &Path| self.heaviest.get(at.number()).copied().flatten();
        let goes_on = |at: &Path| most_of(at).filter(|next| self.below[next.number()] > self.own[at.number()]);
        std::iter::successors(goes_on(&Path::EMPTY), goes_on).collect()
    }

    /// Adds a column's frames to bars of the one before it, as far as they are the same, and makes new ones.
    fn extend(&mut self, column: usize, shown: &[Path]) {
        let is_same = |(open, path): &(&(Path, usize), &Path)| open.0 == **path;
        let same = self.open.iter().zip(shown).take_while(is_same).count();
        self.open.truncate(same);
        for &(path, bar) in &self.open {
            let Bar { columns, value, numbers, .. } = &mut self.bars[bar];
            columns.1 = column + 1;
            *value += self.below[path.number()];
            numbers.iter_mut().zip(self.beside.row(path.number())).for_each(|(sum, number)| *sum += number);
        }
        for &path in &shown[same..] {
            let Some((_, frame)) = self.stacks.split(path) else { continue };
            let caller = self.open.last().map(|(_, bar)| *bar);
            self.open.push((path, self.bars.len()));
            let (value, numbers) = (self.below[path.number()], self.beside.row(path.number()).to_vec());
            self.bars.push(Bar { caller, frame, columns: (column, column + 1), value, numbers });
        }
    }

    fn path_of(&mut self, stack: StackId) -> Option<Path> {
        if let Some(known) = self.paths[stack.index()] {
            return known;
        }
        let of = self.stacks.of(stack);
        let path = of.matches.then(|| if self.by_line { of.path } else { self.of_functions(of.path) });
        self.paths[stack.index()] = Some(path);
        path
    }

    fn of_functions(&mut self, path: Path) -> Path {
        let (mut of, mut next, mut unknown) = (Path::EMPTY, path, Vec::new());
        while let Some((callers, frame)) = self.stacks.split(next) {
            if let Some(known) = self.of_functions.get(next.number()).copied().flatten() {
                of = known;
                break;
            }
            unknown.push((next, frame));
            next = callers;
        }
        for (path, frame) in unknown.into_iter().rev() {
            let about = self.stacks.recording().frames.frame(frame);
            let frame = *self.functions.entry((about.function, about.module)).or_insert(frame);
            of = self.stacks.path_within(of, frame);
            self.of_functions.resize(self.of_functions.len().max(self.stacks.paths()), None);
            self.of_functions[path.number()] = Some(of);
        }
        of
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::View;
    use crate::sums::sums_of;
    use crate::testing::golden;
    use crate::thread_filter::ThreadFilter;

    /// What columns have together is what the process has, in any span; a bar has no more than its caller, and no less than nothing.
    #[test]
    fn columns_add_up_to_the_sums_of_the_process() {
        const METRICS: [Metric; 6] =
            [Metric::Allocations, Metric::Bytes, Metric::Frees, Metric::Temporary, Metric::Cost, Metric::Faults];
        let mut bars = 0;
        for name in ["tiny", "costs", "forks", "killed"] {
            let recording = golden(name);
            let mut stacks = Stacks::new(&recording, &View::default());
            let end = recording.ended();
            for (image, span) in (0..recording.images.len())
                .flat_map(|image| [(image, (0, end)), (image, (end / 3, end / 2)), (image, (end / 2, end))])
            {
                let filter = ThreadFilter::images(&recording, |index| index == image);
                for metric in METRICS {
                    let selection = Selection { from: Units(span.0), to: Units(span.1), ..Selection::default() };
                    let (cuts, tariff) = (
                        &columns(&recording, ImageOrThread { image, thread: None }, span, 64, None),
                        &Tariff::of(&recording),
                    );
                    let asked = Asked {
                        metric,
                        tariff,
                        selection,
                        of: ImageOrThread { image, thread: None },
                        cuts,
                        by_line: false,
                        sliced: None,
                        numbers: &|of| vec![of.fault_time_ns.0 as f64, of.allocations() as f64],
                    };
                    let sums = sums_of(&recording, asked.selection, filter.clone());
                    let expected: u64 = sums.sites.iter().map(|site| metric.value(&site.metrics())).sum();
                    let chart = stack_chart(&recording, &mut stacks, &asked);
                    let found: f64 = chart.columns.iter().sum();
                    assert!(
                        (found - expected as f64).abs() < 0.5,
                        "{name} {image} {metric:?} in {span:?}: {found}, {expected}"
                    );
                    assert_eq!(chart.damage, Vec::<String>::new());
                    for bar in &chart.bars {
                        let all = match bar.caller {
                            Some(caller) => chart.bars[caller].value,
                            None => chart.columns[bar.columns.0..bar.columns.1].iter().sum(),
                        };
                        assert!(bar.value > 0.0 && bar.value <= all * (1.0 + 1e-9), "{name}: {bar:?} of {all}");
                        if metric == Metric::Allocations {
                            assert!((bar.numbers[1] - bar.value).abs() <= 1e-6 * bar.value, "{name}: {bar:?}");
                        }
                    }
                    bars += chart.bars.len();
                }
            }
        }
        assert!(bars > 100, "{bars}");
    }

    #[test]
    fn columns_are_within_the_span() {
        let of = ImageOrThread { image: 0, thread: None };
        let found = columns(&golden("tiny"), of, (100, 199), 10, None);
        assert_eq!((found[0], *found.last().unwrap(), found.len()), (100, 200, 8));
    }
}
