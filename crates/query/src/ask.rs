//! From a question to its answer: the only way.

use crate::activity::Activity;
use crate::answer::{About, Answer, Basis, Shown, Span, Table};
use crate::choices;
use crate::figures::Figures;
use crate::findings::Finding;
use crate::grown::Grown;
use crate::impossible::Impossible;
use crate::lanes::Lanes;
use crate::left_out::LeftOut;
use crate::notes;
use crate::patterns::Pattern;
use crate::query::{Query, View};
use crate::regions::Region;
use crate::resident::Resident;
use crate::rows::Row;
use crate::run_details::{self, Details};
use crate::schema_version::SCHEMA_VERSION;
use crate::selection::Selected;
use crate::session::Session;
use crate::timeline::Timeline;
use crate::totals::Totals;
use crate::tree::Tree;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::patterns::patterns;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::resident_curve::{self, Intervals};
use memtoll_analysis::sites::{self, GroupBy, rows, sort, together};
use memtoll_analysis::stacks;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::titles::Titles;
use memtoll_analysis::{findings, growth, lanes, regions, timeline};
use memtoll_model::Recording;
use memtoll_tally::{Selection, Split};
use memtoll_text::format;
use memtoll_trace::ids::Units;
use std::sync::{Arc, OnceLock};

/// Answers a question about a recording.
pub fn ask<'r>(recording: &'r Recording, query: &Query) -> Result<Answer<'r>, Impossible> {
    let session = Session::new(recording);
    let mut answer = session.ask(query)?;
    answer.basis.stacks = session.into_stacks(&answer.basis.view);
    Ok(answer)
}

impl<'r> Session<'r> {
    /// Answers a question about the recording.
    pub fn ask(&self, query: &Query) -> Result<Answer<'r>, Impossible> {
        answer(self, query)
    }

    /// The sums of what a query selects, whatever it shows of them, and how stacks are shown.
    pub fn sums(&self, query: &Query) -> Result<(Sums, stacks::View), Impossible> {
        let selected = Selected::of(self, query)?;
        let sums = selected.sums(self);
        selected.check(self, &sums)?;
        Ok((sums, selected.view))
    }

    /// How a query shows stacks.
    pub fn view(&self, query: &Query) -> Result<stacks::View, Impossible> {
        Ok(Selected::of(self, query)?.view)
    }
}

fn answer<'r>(session: &Session<'r>, query: &Query) -> Result<Answer<'r>, Impossible> {
    let recording = session.recording();
    let selected = Selected::of(session, query)?;
    let tariff = Tariff::of(recording);
    let counts = |index| selected.thread_filter.of(index).is_some();
    let mut answer = Answer {
        schema_version: SCHEMA_VERSION,
        about: about(recording, &selected.selection, &tariff),
        totals: None,
        metric: None,
        shown: Shown::Totals {},
        findings: None,
        details: None,
        wrappers: None,
        alike: OnceLock::new(),
        notes: recording.notes_in(counts).cloned().collect(),
        missing: recording.damage.iter().chain(recording.missing_in(counts)).cloned().collect(),
        basis: Basis {
            recording,
            selection: selected.selection,
            thread_filter: selected.thread_filter.clone(),
            sums: None,
            view: selected.view.clone(),
            looks: selected.looks.clone(),
            sites: None,
            stacks: None,
            pages: None,
            tariff,
        },
    };
    let Selection { from, to, .. } = selected.selection;
    match &query.view {
        View::Lanes { intervals } => {
            let found = lanes::lanes(recording, from.0, to.0, *intervals, &selected.thread_filter);
            answer.misses(&found.damage);
            answer.shown = Shown::Lanes(Lanes::new(recording, found, &tariff));
        }
        View::Activity { intervals } => {
            let found = timeline::timeline(recording, from.0, to.0, *intervals, &selected.thread_filter);
            answer.misses(&found.damage);
            let intervals = Intervals { start: found.start, width: found.width, count: found.intervals.len() };
            let resident = resident_curve::in_intervals(recording, intervals, &selected.thread_filter);
            answer.shown = Shown::Activity(Activity::new(&found, resident, &tariff));
        }
        View::Regions => {
            let (found, damage) = regions::regions(recording, from, to, &selected.thread_filter);
            answer.misses(&damage);
            answer.shown = Shown::Regions { regions: found.into_iter().map(|of| Region::new(of, &tariff)).collect() };
        }
        View::Resident { at, cells } => {
            let mut stacks = session.stacks(&selected.view);
            let cells = Some(*cells).filter(|most| *most > 0);
            let found = Resident::new(recording, &mut stacks, &selected.thread_filter, (at, cells), &tariff)?;
            answer.shown = Shown::Resident { resident: Box::new(found) };
        }
        View::Grown => {
            let mut stacks = session.stacks(&selected.view);
            let reading = growth::Reading::Events;
            let counts = |index| selected.thread_filter.of(index).is_some();
            match growth::growing(&mut stacks, counts, (from, to), &tariff, reading) {
                Ok(found) => {
                    let grown = found.into_iter().map(|found| Grown::new(recording, found)).collect();
                    answer.shown = Shown::Grown { grown };
                }
                Err(why) => return Err(Impossible::NoEvents { why: why.to_string() }),
            }
        }
        View::Recorder => answer.shown = Shown::Recorder { recorder: run_details::recorder(recording) },
        View::List { of } => answer.shown = Shown::List(choices::items(recording, &selected.thread_filter, *of)?),
        View::Totals | View::Table { .. } | View::Tree(_) | View::Timeline => {
            answer.add_up(session, query, &selected)?;
        }
    }
    Ok(answer)
}

impl<'r> Answer<'r> {
    /// Answers from sums.
    fn add_up(&mut self, session: &Session<'r>, query: &Query, selected: &Selected) -> Result<(), Impossible> {
        let recording = session.recording();
        let sums = selected.sums(session);
        selected.check(session, &sums)?;
        self.basis.tariff = self.basis.tariff.of_sums(&sums);
        let tariff = self.basis.tariff;
        self.misses(&sums.damage);
        // To look at all frames takes a while, and totals need none.
        let mut known = None;
        let mut worth = None;
        let make = || session.stacks(&selected.view);
        let metric = query.metric();
        self.shown = match &query.view {
            View::Table { group, limit } => {
                self.metric = Some(metric);
                let stacks = known.get_or_insert_with(make);
                let found = rows(stacks, &sums, *group);
                if query.findings && *group == GroupBy::Site {
                    worth = Some(findings::findings_of(&sums, &found, stacks));
                }
                let matching = selected.view.selects().then(|| Figures::new(&together(&found), &tariff));
                let mut table = table(recording, found, (*group, metric), *limit, &tariff);
                table.matching = matching;
                // No view shows patterns of a thread's or a size's stacks.
                if query.patterns && group.split() == Split::None {
                    let rows: Vec<sites::Row> = table.sites.iter().map(|row| row.row.clone()).collect();
                    let found = patterns(known.get_or_insert_with(make), &sums, &rows);
                    for (row, pattern) in table.sites.iter_mut().zip(&found.rows) {
                        row.pattern = Some(Pattern::new(pattern, &row.row.metrics, &tariff));
                    }
                    self.misses(&found.damage);
                }
                Shown::Table(table)
            }
            View::Tree(tree) => {
                self.metric = Some(metric);
                let found = Tree::new(recording, &sums, known.get_or_insert_with(make), tree, metric, &tariff);
                Shown::Tree(Box::new(found.map_err(|why| match why {
                    Impossible::NoFunction { name, .. } => {
                        let [there_are, _] = selected.largest(recording);
                        Impossible::NoFunction { name, there_are }
                    }
                    other => other,
                })?))
            }
            View::Timeline => Shown::Timeline { timeline: Timeline::new(&sums, &tariff) },
            _ => {
                self.metric = Some(metric);
                Shown::Totals {}
            }
        };
        self.notes = notes::notes(recording, &sums);
        self.notes.extend(selected.folded.as_ref().map(|folded| notes::folded(folded, &sums)));
        self.wrappers = selected.folded.clone();
        self.totals = Some(Totals::new(recording, &sums, &tariff));
        if query.findings {
            let (found, pages) = worth.unwrap_or_else(|| {
                let stacks = known.get_or_insert_with(make);
                if sums.selection.split != Split::None {
                    return (Vec::new(), None);
                }
                let sites = self.basis.sites.insert(rows(stacks, &sums, GroupBy::Site));
                findings::findings_of(&sums, sites, stacks)
            });
            self.basis.pages = pages.map(Arc::new);
            self.findings = Some(found.into_iter().map(|found| Finding::new(recording, found)).collect());
        }
        if query.details {
            let (details, damage) = Details::new(recording, &sums, &tariff);
            self.misses(&damage);
            self.details = Some(details);
        }
        self.basis.sums = Some(sums);
        Ok(())
    }

    /// Adds statements about what is missing, each once.
    fn misses(&mut self, damage: &[String]) {
        for statement in damage {
            if !self.missing.contains(statement) {
                self.missing.push(statement.clone());
            }
        }
    }

    /// What its metrics are called.
    pub fn titles(&self) -> Titles {
        self.totals.as_ref().map_or_else(Titles::default, |totals| totals.titles)
    }

    /// Whether some of the file cannot be read.
    pub fn is_damaged(&self) -> bool {
        self.missing.len() > self.basis.recording.missing.len()
    }
}

fn about<'r>(recording: &'r Recording, selection: &Selection, tariff: &Tariff) -> About<'r> {
    let ns = |units: u64| tariff.ns(units as f64) as u64;
    let is_part = selection.from > Units::ZERO || selection.to < Units::MAX;
    let to_ns = (selection.to < Units::MAX).then(|| ns(selection.to.0));
    About {
        command: &recording.about.command,
        machine: &recording.about.machine,
        rank: recording.about.rank,
        malloc_settings: &recording.about.malloc_settings,
        started: format::date(recording.about.started),
        seconds: recording.seconds(),
        span: is_part.then(|| Span { from_ns: ns(selection.from.0), to_ns }),
    }
}

fn table<'r>(
    recording: &'r Recording,
    mut found: Vec<sites::Row>,
    (group, metric): (GroupBy, Metric),
    limit: Option<usize>,
    tariff: &Tariff,
) -> Table<'r> {
    found.retain(|row| row.metrics != Priced::default());
    sort(&mut found, &recording.frames, metric);
    let rest: Vec<sites::Row> = match limit {
        Some(limit) if limit < found.len() => found.split_off(limit),
        _ => Vec::new(),
    };
    let left_out =
        (!rest.is_empty()).then(|| LeftOut { number: rest.len(), figures: Figures::new(&together(&rest), tariff) });
    let sites = found.into_iter().map(|row| Row::new(recording, group, tariff, row)).collect();
    Table { sites, matching: None, left_out, group, rest }
}
