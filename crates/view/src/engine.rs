//! Answers questions about one recording.

use crate::about::about;
use crate::ask::{Ask, What};
use crate::compare::Compared;
use crate::layout;
use crate::memory;
use crate::metrics;
use crate::pack::Pack;
use crate::patterns;
use crate::profile::Sites;
use crate::settings::Settings;
use crate::source_file;
use crate::timeline;
use crate::tree::write_values;
use crate::wrappers::Wrappers;
use memtoll_advise::{Place, Root, Wish, advise, read_sources};
use memtoll_analysis::findings::findings_of;
use memtoll_analysis::patterns::patterns;
use memtoll_analysis::sites::{GroupBy, Row, rows};
use memtoll_analysis::sliced::Sliced;
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::{Branch, Direction, call_tree};
use memtoll_analysis::wrappers::without_wrappers;
use memtoll_model::Recording;
use memtoll_query::findings::Finding;
use memtoll_query::query::{self, When};
use memtoll_query::{Answer, Query};
use memtoll_tally::Selection;
use regex::Regex;
use serde_json::{Value, json};
use std::path::Path;

/// Call sites that a browser gets; the others are one.
pub const MOST_SITES: usize = 2_000;

/// Selections that are remembered: who looks at one from all sides asks for it again and again.
const REMEMBERED: usize = 3;

/// Parts into which the time of a recording is cut: a selection by mouse begins and ends between two of them. A power of
/// two, so that the front end calculates the same instants.
const PARTS: u32 = 512;

/// The instants between which a mouse selects, as a recording's slices want them.
pub fn cuts(recording: &Recording) -> Vec<u64> {
    let clock = &recording.about.clock;
    let end = Tariff::of(recording).ns(recording.ended().max(1) as f64);
    (1..PARTS).map(|part| clock.units((f64::from(part) * (end / f64::from(PARTS))).round() / 1e9)).collect()
}

/// Answers questions about one recording.
pub struct Engine<'a> {
    recording: &'a Recording,
    settings: Settings,
    compared: Compared<'a>,
    sliced: Option<&'a Sliced>,
    tariff: Tariff,
    pub(crate) wrappers: Wrappers,
    /// The stacks of the last view: most questions are about the same.
    stacks: Option<((bool, bool, String), Stacks<'a>)>,
    /// The last selections, the latest first.
    remembered: Vec<(Ask, Found)>,
    /// The live blocks that were asked for last.
    pub(crate) blocks: Option<memory::Remembered>,
    /// The type that was asked for last.
    pub(crate) looked_up: Option<layout::Remembered>,
}

/// Sums of a selection, and what was made of them.
pub(crate) struct Found {
    pub(crate) sums: Sums,
    pub(crate) rows: Vec<Row>,
    pub(crate) findings: Value,
    pub(crate) wrappers: Value,
}

impl<'a> Engine<'a> {
    /// Of a recording.
    pub fn new(recording: &'a Recording) -> Engine<'a> {
        let tariff = Tariff::of(recording);
        let settings = Settings::default();
        Engine {
            recording,
            settings,
            compared: Compared::default(),
            sliced: None,
            tariff,
            wrappers: Wrappers::default(),
            stacks: None,
            remembered: Vec::new(),
            blocks: None,
            looked_up: None,
        }
    }

    /// With other settings.
    pub fn with(self, settings: &Settings) -> Engine<'a> {
        Engine { settings: settings.clone(), ..self }
    }

    /// With the wrappers of an engine of the same recordings, or of one that this one's recording is compared with.
    pub(crate) fn folding_like(self, wrappers: &Wrappers) -> Engine<'a> {
        Engine { wrappers: wrappers.clone(), ..self }
    }

    /// What may be shown beside the recording, and how.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Of a recording that is cut at [`cuts`] meanwhile, and what it is compared with.
    pub fn with_slices(recording: &'a Recording, compared: Compared<'a>, sliced: &'a Sliced) -> Engine<'a> {
        Engine { sliced: Some(sliced), compared, ..Engine::new(recording) }
    }

    /// The recordings that it is compared with.
    pub(crate) fn compared(&self) -> Compared<'a> {
        self.compared
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
            What::Advice => self.advice(self.settings.sources),
            What::Lanes => self.lanes(ask),
            What::Activity => self.activity(ask),
            What::Compare => self.compare(ask),
            What::CompareTree => self.compare_trees(ask),
            What::Memory => self.memory(ask),
            What::Generations => self.generations(ask),
            What::Source => self.remember(ask, |engine, found| engine.source(found, ask)),
            What::Layout => self.remember(ask, |engine, found| engine.layout(found, ask)),
            What::Tree => self.remember(ask, |engine, found| engine.part_of_tree(found, ask)),
        }
    }

    /// What the recording is, its time line, and the table of metrics.
    pub fn about(&self) -> Pack {
        let mut pack = Pack::new();
        pack.set("about", about(self.recording));
        pack.set("metrics", metrics::describe(&self.tariff));
        timeline::write(self.recording, &mut pack);
        pack.set("parts", PARTS);
        pack.set("compares", !self.compared.before.is_empty());
        pack.set("sources", self.settings.sources);
        pack.set("editor", self.settings.editor.template());
        pack.set("live", self.settings.live);
        pack
    }

    /// How stacks are shown.
    pub(crate) fn view(&self, ask: &Ask) -> Result<View, String> {
        let filter = match ask.filter.as_str() {
            "" => None,
            text => Some(Regex::new(text).map_err(|error| format!("the filter is no regular expression: {error}"))?),
        };
        Ok(View { unfold: ask.unfold, fold: None, wrappers: self.folded(ask)?, filter })
    }

    pub(crate) fn stacks(&mut self, ask: &Ask) -> Result<&mut Stacks<'a>, String> {
        let key = (ask.unfold, ask.shows_wrappers(), ask.filter.clone());
        if self.stacks.as_ref().is_none_or(|(known, _)| *known != key) {
            self.stacks = Some((key, Stacks::new(self.recording, &self.view(ask)?)));
        }
        self.stacks.as_mut().map(|(_, stacks)| stacks).ok_or_else(|| "no stacks".to_owned())
    }

    /// The answer of the one way to ask: what is selected, and its sums.
    pub(crate) fn ask(&self, ask: &Ask, view: query::View) -> Result<Answer<'a>, String> {
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
            unfold: ask.unfold,
            // They are found once for all questions: `Engine::folded`.
            wrappers: true,
            paid: ask.paid,
            ..Query::of(view)
        };
        memtoll_query::ask_sliced(self.recording, &query, self.sliced).map_err(|why| why.to_string())
    }

    pub(crate) fn find(&mut self, ask: &Ask) -> Result<Found, String> {
        let basis = self.ask(ask, query::View::Totals)?.basis;
        let sums = basis.sums.ok_or("the answer has no sums")?;
        if basis.selection == Selection::default() && basis.runners.are_all() {
            self.find_wrappers(&sums);
        }
        let recording = self.recording;
        let stacks = self.stacks(ask)?;
        let rows = rows(stacks, &sums, GroupBy::Site);
        let found = findings_of(recording, &sums, &rows, stacks).into_iter();
        let found: Vec<Finding> = found.map(|found| Finding::new(recording, found)).collect();
        let findings = serde_json::to_value(&found).map_err(|error| format!("cannot write findings: {error}"))?;
        let wrappers = self.describe_wrappers(ask, &sums)?;
        Ok(Found { sums, rows, findings, wrappers })
    }

    /// What `make` makes of a selection, which is added up if it is not remembered.
    fn remember<T>(
        &mut self,
        ask: &Ask,
        make: impl FnOnce(&mut Self, &Found) -> Result<T, String>,
    ) -> Result<T, String> {
        let selection = ask.selection();
        let known = self.remembered.iter().position(|(known, _)| *known == selection);
        let found = match known {
            Some(known) => self.remembered.remove(known).1,
            None => self.find(ask)?,
        };
        let made = make(self, &found);
        self.remembered.insert(0, (selection, found));
        self.remembered.truncate(REMEMBERED);
        made
    }

    /// The whole call tree from the entries.
    pub(crate) fn call_tree(&mut self, ask: &Ask, found: &Found) -> Result<Branch, String> {
        Ok(call_tree(self.stacks(ask)?, &found.sums, Direction::Callees))
    }

    fn profile(&mut self, ask: &Ask) -> Result<Pack, String> {
        self.remember(ask, |engine, found| {
            let sites = engine.sites(found.rows.iter(), MOST_SITES);
            let mut pack = Pack::new();
            engine.describe(found, &mut pack);
            engine.write(&mut pack, None, &found.rows, &sites);
            Ok(pack)
        })
    }

    fn patterns(&mut self, ask: &Ask) -> Result<Pack, String> {
        self.remember(ask, |engine, found| {
            let sites = engine.sites(found.rows.iter(), MOST_SITES);
            engine.patterns_of(ask, found, &sites)
        })
    }

    /// How the call sites of a profile use memory, in the order in which it shows them.
    pub(crate) fn patterns_of(&mut self, ask: &Ask, found: &Found, sites: &Sites) -> Result<Pack, String> {
        let patterns = patterns(self.stacks(ask)?, &found.sums, &found.rows);
        let mut pack = Pack::new();
        pack.set("damage", json!(patterns.damage));
        patterns::write(&mut pack, &patterns.rows, sites, &self.tariff);
        Ok(pack)
    }

    /// What to change, of the whole run, as memtoll advise has it: savings are predicted for runs. Where sources may be read,
    /// snippets have their names.
    pub(crate) fn advice(&mut self, reads_sources: bool) -> Result<Pack, String> {
        let recording = self.recording;
        let sums = self.ask(&Ask::default(), query::View::Totals)?.basis.sums.ok_or("the answer has no sums")?;
        let mut advice = advise(recording, &sums, &mut without_wrappers(recording, &sums), &Wish::default());
        if reads_sources {
            let root = Root::of(recording, &advice.findings);
            // Only what is a source file is read, whatever the recording names.
            let may_read = |place: &Place| {
                let path = place.file.as_deref().map(|file| Path::new(&recording.about.directory).join(file));
                let path = path.as_deref().and_then(Path::to_str);
                path.is_some_and(|path| source_file::read(path, recording.about.started).is_ok())
            };
            read_sources(recording, &mut advice, &root, may_read);
        }
        let mut pack = Pack::new();
        pack.set("advice", serde_json::to_value(&advice).map_err(|error| format!("cannot write the advice: {error}"))?);
        Ok(pack)
    }

    fn groups(&mut self, ask: &Ask) -> Result<Pack, String> {
        let group = GroupBy::from(ask.group);
        let answer = self.ask(ask, query::View::Table { group, limit: Some(0) })?;
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
}
