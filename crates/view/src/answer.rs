//! What the front end asks, and what it gets: sums, call sites, the call tree and findings of a selection, as a pack.

use crate::about::about;
use crate::metrics::{self, COUNT, Values};
use crate::pack::Pack;
use crate::patterns;
use crate::timeline;
use crate::tree::{Tree, largest, write_values};
use memtoll_advise::{Wish, advise};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::lanes::lanes;
use memtoll_analysis::patterns::patterns;
use memtoll_analysis::sites::{GroupBy, Row, rows};
use memtoll_analysis::stacks::{Stacks, Texts, View};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::{Branch, Direction, call_tree};
use memtoll_model::Recording;
use memtoll_query::query::{self, When};
use memtoll_query::{Answer, Query, names};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde_json::{Value, json};

/// Nodes of a call tree that a browser gets.
pub const MOST_NODES: usize = 30_000;
/// Call sites that it gets; the others are one.
pub const MOST_SITES: usize = 5_000;

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
    /// Functions and libraries that are folded away.
    pub fold: String,
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Whether costs are charged to whom paid them.
    pub paid: bool,
    /// How rows are grouped.
    pub group: Group,
}

/// What an [`Ask`] asks for.
#[derive(Clone, Copy, Default, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// What the recording is, and its time line.
    About,
    /// Sums, call sites, call tree and findings.
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

/// Answers questions about one recording.
pub struct Engine<'a> {
    recording: &'a Recording,
    tariff: Tariff,
    /// The stacks of the last view: most questions are about the same.
    stacks: Option<((bool, String, String), Stacks<'a>)>,
}

/// Sums of a selection, and its call tree.
pub(crate) struct Found {
    pub(crate) sums: Sums,
    pub(crate) rows: Vec<Row>,
    pub(crate) root: Branch,
    findings: Value,
}

impl<'a> Engine<'a> {
    /// Of a recording.
    pub fn new(recording: &'a Recording) -> Engine<'a> {
        Engine { recording, tariff: Tariff::of(recording), stacks: None }
    }

    /// The recording.
    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// What things cost in it.
    pub fn tariff(&self) -> &Tariff {
        &self.tariff
    }

    /// When the recording ends, ns.
    pub(crate) fn ended_ns(&self) -> f64 {
        self.tariff.ns(self.recording.ended() as f64)
    }

    /// The last instant before a time, ns: where one span begins, the other one has ended.
    pub(crate) fn before(&self, ns: f64) -> f64 {
        let clock = &self.recording.about.clock;
        (clock.units(ns.floor() / 1e9).saturating_sub(1) as f64 + 0.5) / clock.units_per_second * 1e9
    }

    /// The answer, or why there is none.
    pub fn answer(&mut self, ask: &Ask) -> Result<Pack, String> {
        match ask.what {
            What::About => Ok(self.about()),
            What::Profile => self.profile(ask),
            What::Groups => self.groups(ask),
            What::Patterns => self.patterns(ask),
            What::Advice => self.advice(),
            What::Lanes => self.lanes(ask),
        }
    }

    /// What the recording is, its time line, and the table of metrics.
    pub fn about(&self) -> Pack {
        let mut pack = Pack::new();
        pack.set("about", about(self.recording));
        pack.set("metrics", metrics::describe(&self.tariff));
        timeline::write(self.recording, &mut pack);
        pack
    }

    fn stacks(&mut self, ask: &Ask) -> Result<&mut Stacks<'a>, String> {
        let key = (ask.unfold, ask.fold.clone(), ask.filter.clone());
        if self.stacks.as_ref().is_none_or(|(known, _)| *known != key) {
            let pattern = |text: &str, what: &str| match text {
                "" => Ok(None),
                text => {
                    Regex::new(text).map(Some).map_err(|error| format!("the {what} is no regular expression: {error}"))
                }
            };
            let view =
                View { unfold: ask.unfold, fold: pattern(&ask.fold, "fold")?, filter: pattern(&ask.filter, "filter")? };
            self.stacks = Some((key, Stacks::new(self.recording, &view)));
        }
        self.stacks.as_mut().map(|(_, stacks)| stacks).ok_or_else(|| "no stacks".to_owned())
    }

    /// The answer of the one way to ask: what is selected, its sums and findings.
    fn ask(&self, ask: &Ask, findings: bool, view: query::View) -> Result<Answer<'a>, String> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let ns = |ns: Option<f64>| ns.map(|ns| ns.max(0.0) as u64);
        let when = match (ns(ask.from_ns), ns(ask.to_ns)) {
            (None, None) => When::All,
            (from_ns, to_ns) => When::Span { from_ns, to_ns },
        };
        let query = Query {
            when,
            processes: ask.processes.clone(),
            threads: ask.threads.clone(),
            filter: text(&ask.filter),
            fold: text(&ask.fold),
            unfold: ask.unfold,
            paid: ask.paid,
            findings,
            ..Query::of(view)
        };
        memtoll_query::ask(self.recording, &query).map_err(|why| why.to_string())
    }

    pub(crate) fn find(&mut self, ask: &Ask) -> Result<Found, String> {
        let answer = self.ask(ask, true, query::View::Totals)?;
        let findings =
            serde_json::to_value(&answer.findings).map_err(|error| format!("cannot write findings: {error}"))?;
        let sums = answer.basis.sums.ok_or("the answer has no sums")?;
        let stacks = self.stacks(ask)?;
        let rows = rows(stacks, &sums, GroupBy::Site);
        let root = call_tree(stacks, &sums, Direction::Callees);
        Ok(Found { sums, rows, root, findings })
    }

    fn profile(&mut self, ask: &Ask) -> Result<Pack, String> {
        let found = self.find(ask)?;
        let tree = Tree::of(&found.root, MOST_NODES);
        let sites = self.sites(found.rows.iter(), MOST_SITES);
        let mut pack = Pack::new();
        self.describe(&found, &mut pack);
        self.write(&mut pack, &tree, &found.rows, &sites);
        Ok(pack)
    }

    /// What is not a column: totals, the balance, findings.
    pub(crate) fn describe(&self, found: &Found, pack: &mut Pack) {
        pack.set("totals", self.totals(found));
        pack.set("balance", self.balance(&found.sums));
        pack.set("findings", found.findings.clone());
        pack.set("damage", json!(found.sums.damage));
    }

    /// All sums together: the number of each metric, and the interval of those that have one.
    fn totals(&self, found: &Found) -> Value {
        let total = &found.sums.total;
        let tariff = &self.tariff;
        let numbers = metrics::values(total);
        let interval = |estimate: Estimate| json!([estimate.low, estimate.high]);
        let values: serde_json::Map<String, Value> =
            metrics::names().zip(numbers).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        json!({
            "values": values,
            "intervals": {
                "cost": interval(tariff.estimates(total).total()),
                "allocator": interval(tariff.allocator(total)),
                "fault-time": interval(tariff.faults_of(total.fault_ns as f64)),
                "mapping": interval(tariff.mapping(total)),
            },
            "processes": found.sums.counted().count(),
        })
    }

    /// Where the processor time went, ns each; null: not known. Parts and rest are `processor_ns` together.
    fn balance(&self, sums: &Sums) -> Value {
        let balance = Balance::of_all(self.recording, sums);
        let part = |estimate: Estimate| json!({ "ns": estimate.value, "low": estimate.low, "high": estimate.high });
        let share = |factor: f64| part(balance.charged_faults.scaled(factor));
        let zeroing = match balance.costs.faults {
            faults if faults > 0.0 => (balance.costs.zeroing / faults).clamp(0.0, 1.0),
            _ => 0.0,
        };
        let rest = balance.rest().or_else(|| {
            let processor = balance.processor?;
            Some(Estimate::exact(processor).minus(balance.explained()))
        });
        json!({
            "processor_ns": balance.processor,
            "plain": balance.plain.map(part),
            "allocator": part(balance.allocator),
            "faults": share(1.0 - zeroing),
            "zeroing": share(zeroing),
            "mapping": part(balance.mapping),
            "other_faults": part(balance.other_faults),
            "recorder": balance.recorder.map(part),
            "rest": rest.map(part),
            "waiting_ns": self.tariff.sees().switches.then_some(balance.costs.waiting),
            "reading_ns": self.tariff.sees().switches.then_some(balance.costs.reading),
            "sees_faults": self.tariff.sees().faults,
        })
    }

    /// The numbers of the call sites that are shown one by one, and of the others together, if there are any.
    pub(crate) fn sites<'r>(&self, rows: impl Iterator<Item = &'r Row>, most: usize) -> Sites {
        let all: Vec<Values> = rows.map(|row| metrics::values(&row.metrics)).collect();
        let shown = largest(&all, most);
        let is_shown: FxHashSet<usize> = shown.iter().copied().collect();
        let mut others = [0; COUNT];
        for (_, values) in all.iter().enumerate().filter(|(index, _)| !is_shown.contains(index)) {
            others.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let count = all.len() - shown.len();
        let mut values: Vec<Values> = shown.iter().map(|&index| all[index]).collect();
        values.extend((count > 0).then_some(others));
        Sites { shown, values, others: count }
    }

    /// The columns of call sites and of the tree, with the names of their frames.
    pub(crate) fn write(&self, pack: &mut Pack, tree: &Tree, rows: &[Row], sites: &Sites) {
        let mut frames = FrameTable::default();
        tree.write(pack, |frame| frames.number(frame));
        let shown = || sites.shown.iter().map(|&index| &rows[index]);
        let mut types: Vec<&str> = shown().filter_map(|row| row.type_name.as_deref()).collect();
        types.sort_unstable();
        types.dedup();
        let column = |of: &mut dyn FnMut(&Row) -> f64| {
            let others = std::iter::repeat_n(0.0, usize::from(sites.others > 0));
            shown().map(of).chain(others).collect::<Vec<f64>>()
        };
        let type_of = |row: &Row| row.type_name.as_deref().and_then(|name| types.binary_search(&name).ok());
        pack.column("sites.frame", &column(&mut |row| row.frame.map_or(0.0, |id| f64::from(frames.number(id)) + 1.0)));
        pack.column("sites.type", &column(&mut |row| type_of(row).map_or(0.0, |number| number as f64 + 1.0)));
        pack.column("sites.inlined", &column(&mut |row| row.inlined.len() as f64));
        let inlined =
            shown().flat_map(|row| &row.inlined).map(|&id| f64::from(frames.number(id))).collect::<Vec<f64>>();
        pack.column("sites.inlined_frames", &inlined);
        pack.column("sites.element", &column(&mut |row| row.element.map_or(0.0, |element| element.size as f64)));
        let elements = |row: &Row| memtoll_analysis::elements::elements(row).map_or(0.0, |elements| elements as f64);
        pack.column("sites.elements", &column(&mut |row| elements(row)));
        write_values(pack, "sites", &sites.values);
        pack.set("types", json!(types));
        pack.set("site_others", json!(sites.others));
        frames.write(self.recording, pack);
    }

    fn patterns(&mut self, ask: &Ask) -> Result<Pack, String> {
        let found = self.find(ask)?;
        let sites = self.sites(found.rows.iter(), MOST_SITES);
        self.patterns_of(ask, &found, &sites)
    }

    /// How the call sites of a profile use memory, in the order in which it shows them.
    pub(crate) fn patterns_of(&mut self, ask: &Ask, found: &Found, sites: &Sites) -> Result<Pack, String> {
        let patterns = patterns(self.stacks(ask)?, &found.sums, &found.rows);
        let mut pack = Pack::new();
        pack.set("damage", json!(patterns.damage));
        patterns::write(&mut pack, &patterns.rows, sites, &self.tariff);
        Ok(pack)
    }

    /// What to change, of the whole run: savings are predicted for runs.
    pub(crate) fn advice(&mut self) -> Result<Pack, String> {
        let recording = self.recording;
        let sums = self.ask(&Ask::default(), false, query::View::Totals)?.basis.sums.ok_or("the answer has no sums")?;
        let advice = advise(recording, &sums, self.stacks(&Ask::default())?, &Wish::default());
        let mut pack = Pack::new();
        pack.set("advice", serde_json::to_value(&advice).map_err(|error| format!("cannot write the advice: {error}"))?);
        Ok(pack)
    }

    fn groups(&mut self, ask: &Ask) -> Result<Pack, String> {
        let group = GroupBy::from(ask.group);
        let answer = self.ask(ask, false, query::View::Table { group, limit: Some(0) })?;
        let sums = answer.basis.sums.ok_or("the answer has no sums")?;
        let rows = rows(self.stacks(ask)?, &sums, group);
        let mut pack = Pack::new();
        let sites = self.sites(rows.iter(), MOST_SITES);
        let labels: Vec<&str> = sites.shown.iter().map(|&index| rows[index].label.as_str()).collect();
        pack.set("labels", json!(labels));
        pack.set("site_others", json!(sites.others));
        pack.set("damage", json!(sums.damage));
        write_values(&mut pack, "groups", &sites.values);
        Ok(pack)
    }

    fn lanes(&mut self, ask: &Ask) -> Result<Pack, String> {
        const INTERVALS: usize = 500;
        /// More threads have no room on a screen.
        const MOST: usize = 2000;
        let basis = self.ask(ask, false, query::View::List { of: query::List::Marks })?.basis;
        let found = lanes(self.recording, basis.selection.from, basis.selection.to, INTERVALS, &basis.runners);
        let mut pack = Pack::new();
        let threads = found.lanes.iter().take(MOST).map(|lane| {
            let image = &self.recording.images[lane.image];
            let thread = image.thread(lane.thread);
            let name = thread.and_then(|thread| memtoll_analysis::runners::thread_name(image, thread));
            json!({ "pid": image.about.pid, "tid": thread.map(|thread| thread.tid), "name": name })
        });
        pack.set("lanes", threads.collect::<Vec<_>>());
        pack.set("count", found.lanes.len());
        pack.set("start_ns", self.tariff.ns(found.start as f64));
        pack.set("interval_ns", self.tariff.ns(found.width));
        pack.set("sees_switches", self.tariff.sees().switches);
        pack.set("damage", json!(found.damage));
        // In thousandths: a screen shows no more.
        let mut column = |name: &str, of: fn(&memtoll_analysis::lanes::Lane) -> &Vec<f64>| {
            let values = found.lanes.iter().take(MOST).flat_map(of).map(|share| (share * 1000.0).round());
            pack.column(name, &values.collect::<Vec<f64>>());
        };
        column("lanes.alive", |lane| &lane.alive);
        column("lanes.allocator", |lane| &lane.allocator);
        column("lanes.waiting", |lane| &lane.waiting);
        column("lanes.off", |lane| &lane.off);
        Ok(pack)
    }
}

/// Call sites that are shown.
pub(crate) struct Sites {
    /// Their indices among all rows.
    pub(crate) shown: Vec<usize>,
    /// Their numbers, and those of all others together, if there are others.
    pub(crate) values: Vec<Values>,
    /// How many others there are.
    pub(crate) others: usize,
}

/// Numbers frames in the order in which they are met.
#[derive(Default)]
struct FrameTable {
    ids: Vec<u32>,
    numbers: FxHashMap<u32, u32>,
}

impl FrameTable {
    fn number(&mut self, id: u32) -> u32 {
        *self.numbers.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() as u32 - 1
        })
    }

    /// Names and places: texts once, and columns of their numbers; 0: none.
    fn write(&self, recording: &Recording, pack: &mut Pack) {
        let frames = &recording.frames;
        let mut texts: Vec<String> = vec![String::new()];
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut text = |text: String| {
            *known.entry(text).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() - 1
            }) as f64
        };
        let (mut function, mut full, mut file, mut line, mut module) = (vec![], vec![], vec![], vec![], vec![]);
        for &id in &self.ids {
            let of = Texts::of(frames, id);
            function.push(text(names::function(frames, id)));
            full.push(text(of.function.to_owned()));
            file.push(of.file.map_or(0.0, |file| text(file.to_owned())));
            line.push(of.line.map_or(0.0, f64::from));
            module.push(text(of.shown_module.to_owned()));
        }
        pack.column("frames.function", &function);
        pack.column("frames.full", &full);
        pack.column("frames.file", &file);
        pack.column("frames.line", &line);
        pack.column("frames.module", &module);
        pack.set("texts", json!(texts));
    }
}
