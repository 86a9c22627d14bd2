//! Recordings with their sums, and what they say of a scope.

use crate::budget::{Budget, Entry, Scope, What};
use crate::metric::{Kind, Metric};
use crate::nearest;
use crate::unknown::Unknown;
use memtoll_advise::{Finding, Wish, advise};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::Facts;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::regions::{Region, RegionRun, regions};
use memtoll_analysis::sites::{GroupBy, Row, rows};
use memtoll_analysis::stacks::{Stacks, Texts, View};
use memtoll_analysis::sums::{Sums, sums};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_analysis::wrappers::without_wrappers;
use memtoll_model::{FrameId, Recording, StackId};
use memtoll_query::query::When;
use memtoll_query::{Impossible, Query, Session};
use memtoll_tally::Selection;
use memtoll_trace::ids::Units;
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// A recording with what is known of it.
pub struct Measured {
    pub recording: Recording,
    /// What its file is called.
    pub name: String,
    pub sums: Sums,
    /// What things cost in it.
    pub tariff: Tariff,
    /// Whether it is known what lies in memory at the end.
    looks: bool,
    processor: Option<Estimate>,
    findings: OnceCell<Vec<Finding>>,
    regions: OnceCell<(Vec<Region>, Vec<String>)>,
    sites: OnceCell<Vec<Row>>,
}

/// What a recording says of a limit.
#[derive(Clone, Debug)]
pub struct Value {
    /// How much.
    pub estimate: Estimate,
    /// A statement that a reader needs to judge it.
    pub note: Option<String>,
}

/// Whether a name fits a pattern in which `*` stands for anything.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = pattern.contains('*').then(|| parts.next_back().unwrap_or("")) else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The same of a function, which may be named with its parameters or without.
pub fn fits_function(pattern: &str, function: &str) -> bool {
    fits(pattern, function) || fits(pattern, qualified_name(function))
}

impl Measured {
    /// Adds a recording up.
    pub fn new(recording: Recording, name: String) -> Measured {
        let sums = sums(&recording, Selection::default());
        let tariff = Tariff::of(&recording);
        let processor = program(&recording, &sums);
        Measured {
            recording,
            name,
            sums,
            tariff,
            looks: false,
            processor,
            findings: OnceCell::new(),
            regions: OnceCell::new(),
            sites: OnceCell::new(),
        }
    }

    /// With the figures that a budget limits. Limits on pages at the end make it read all events.
    pub fn of_budget(recording: Recording, name: String, budget: &Budget) -> Result<Measured, Impossible> {
        let measured = Measured::new(recording, name);
        if budget.is_of_pages() { measured.with_pages() } else { Ok(measured) }
    }

    fn with_pages(self) -> Result<Measured, Impossible> {
        let (sums, _) = Session::new(&self.recording).sums(&Query { pages: true, ..Query::default() })?;
        let tariff = self.tariff.of_sums(&sums);
        Ok(Measured { sums, tariff, looks: true, sites: OnceCell::new(), ..self })
    }

    /// What metrics of the whole run are computed from.
    pub fn facts_of_run(&self) -> Facts<'_> {
        Facts::of(&self.recording, &self.sums, &self.tariff)
    }

    /// What is missing in it: a budget cannot be held against it then.
    pub fn damage(&self) -> Option<&String> {
        let all = [&self.recording.damage, &self.sums.damage, &self.recording.missing];
        all.into_iter().flatten().next()
    }

    /// What memtoll advise finds.
    pub fn findings(&self) -> &[Finding] {
        let find = || {
            let mut stacks = without_wrappers(&self.recording, &self.sums);
            advise(&self.recording, &self.sums, &mut stacks, &Wish::default()).findings
        };
        self.findings.get_or_init(find)
    }

    pub fn regions(&self) -> &[Region] {
        &self.regions.get_or_init(|| regions(&self.recording, Units::ZERO, Units::MAX, &ThreadFilter::default())).0
    }

    /// All call sites. Wrappers of malloc are folded into their callers, as in the report: they broke no limit.
    pub fn sites(&self) -> &[Row] {
        let sites = || rows(&mut without_wrappers(&self.recording, &self.sums), &self.sums, GroupBy::Site);
        self.sites.get_or_init(sites)
    }

    /// How much the recording has of what an entry limits; else why that is unknown.
    pub fn value(&self, entry: &Entry) -> Result<Value, Unknown> {
        let metric = match entry.what {
            What::Findings => {
                let number = self.findings().iter().filter(|finding| entry.is_about(finding.rule)).count();
                return Ok(Value { estimate: Estimate::exact(number as f64), note: None });
            }
            What::Metric(metric) => metric,
        };
        match entry.scope.kind {
            Kind::Run | Kind::Test => evaluate(metric, &self.facts_of_run()),
            Kind::Function | Kind::Type => {
                let (metrics, sites) = self.matching(&entry.scope);
                let mut value = self.of(metric, &metrics, self.processor)?;
                if sites == 0 {
                    value.note = Some(self.no_match(entry)?);
                }
                Ok(value)
            }
            Kind::Mark => {
                let sums = self.between(&entry.scope)?;
                let processor = program(&self.recording, &sums);
                evaluate(metric, &Facts::of_sites(&sums.total, &self.tariff.of_sums(&sums), processor))
            }
            Kind::Process => {
                let sums = self.process(&entry.scope)?;
                evaluate(metric, &Facts::of(&self.recording, &sums, &self.tariff.of_sums(&sums)))
            }
            Kind::Region => {
                let (number, run) = self.worst_run(&entry.scope, metric)?;
                let mut value = self.of(metric, &run.metrics, None)?;
                let at = self.tariff.ns(run.begin as f64) / 1e9;
                value.note = Some(format!("in run {number}, at {}", memtoll_text::format::seconds(at)));
                Ok(value)
            }
        }
    }

    fn of(&self, metric: Metric, metrics: &Priced, processor: Option<Estimate>) -> Result<Value, Unknown> {
        evaluate(metric, &Facts::of_sites(metrics, &self.tariff, processor))
    }

    pub fn of_function(&self, name: &str, metric: Metric) -> f64 {
        let scope = Scope { kind: Kind::Function, name: name.to_owned(), with_callees: false, after: 0 };
        self.of(metric, &self.matching(&scope).0, self.processor).map_or(0.0, |value| value.estimate.value)
    }

    /// The sums of a function's or a type's call sites, and how many these are.
    fn matching(&self, scope: &Scope) -> (Priced, usize) {
        let mut all = Priced::default();
        let mut number = 0;
        self.each_matching(scope, |_, metrics| {
            all.add(metrics);
            number += 1;
        });
        (all, number)
    }

    /// That no call site is one of a function or type. Where it may allocate, that is an error: a name that changed would
    /// keep any limit.
    fn no_match(&self, entry: &Entry) -> Result<String, Unknown> {
        let scope = &entry.scope;
        let frames = &self.recording.frames;
        let functions = || frames.ids().map(|id| qualified_name(Texts::of(frames, id).function));
        let is_there = scope.kind == Kind::Function && functions().any(|function| fits_function(&scope.name, function));
        if is_there || entry.limit.is_nothing() {
            return Ok(format!("no call site of a {}", scope.shown()));
        }
        let nearest = match scope.kind {
            Kind::Function => nearest::hint(&scope.name, functions()),
            _ => {
                let types: FxHashSet<String> = self.sites().iter().filter_map(|site| site.type_name.clone()).collect();
                nearest::hint(&scope.name, types.iter().map(String::as_str))
            }
        };
        Err(Unknown::NoMatch { of: scope.shown(), nearest })
    }

    /// Calls `take` with each stack of a scope, which is a function or a type, and its sums. A wrapper of malloc allocates
    /// for its caller, as in the report; who names the wrapper means it all the same.
    fn each_matching(&self, scope: &Scope, mut take: impl FnMut(StackId, &Priced)) {
        let mut stacks = Stacks::new(&self.recording, &View::default());
        let mut callers = without_wrappers(&self.recording, &self.sums);
        let function = |frame: FrameId| Texts::of(&self.recording.frames, frame).function;
        let leads = |stacks: &mut Stacks, node| {
            let path = stacks.of(node).path;
            stacks.first(path).is_some_and(|frame| fits_function(&scope.name, function(frame)))
        };
        for site in &self.sums.sites {
            let stack = stacks.of(site.node);
            let is_meant = match scope.kind {
                Kind::Type => stacks.type_of(&stack).is_some_and(|kind| fits(&scope.name, stacks.type_name(kind))),
                _ if scope.with_callees => {
                    stacks.frames(stack.path).into_iter().any(|frame| fits_function(&scope.name, function(frame)))
                }
                _ => leads(&mut callers, site.node) || leads(&mut stacks, site.node),
            };
            if is_meant {
                take(site.node, &site.metrics());
            }
        }
    }

    fn between(&self, scope: &Scope) -> Result<Sums, Unknown> {
        let (from, to) = scope.name.split_once("..").unwrap_or((&scope.name, &scope.name));
        let when = When::Marks { from: from.to_owned(), to: to.to_owned() };
        Ok(self.ask(Query { when, ..Query::default() })?)
    }

    fn process(&self, scope: &Scope) -> Result<Sums, Unknown> {
        self.ask(Query { processes: vec![scope.name.clone()], ..Query::default() }).map_err(|_| {
            let programs = self.recording.images.iter().map(memtoll_analysis::names::program);
            let programs: FxHashSet<String> = programs.map(|name| name.to_string()).collect();
            let nearest = nearest::hint(&scope.name, programs.iter().map(String::as_str));
            Unknown::NoProcess { name: scope.name.clone(), nearest }
        })
    }

    /// The sums of what a query selects. Only shares of pinned memory depend on lines, and so on wrappers.
    fn ask(&self, query: Query) -> Result<Sums, Impossible> {
        let query = Query { wrappers: !self.looks, pages: self.looks, ..query };
        Session::new(&self.recording).sums(&query).map(|(sums, _)| sums)
    }

    /// The run of a region that has most of a metric, and its number, from 1.
    fn worst_run(&self, scope: &Scope, metric: Metric) -> Result<(usize, &RegionRun), Unknown> {
        let there = || match self.regions() {
            [] => "it has none; set them with memtoll.h".to_owned(),
            all => format!("it has: {}", all.iter().map(|region| region.name.as_str()).collect::<Vec<_>>().join(", ")),
        };
        let region = self.regions().iter().find(|region| region.name == scope.name);
        let region = region.ok_or_else(|| Unknown::NoRegion { name: scope.name.clone(), there: there() })?;
        let value = |run: &RegionRun| {
            let value = self.of(metric, &run.metrics, None);
            value.map_or(f64::MIN, |value| value.estimate.value)
        };
        let runs = region.runs.iter().enumerate().skip(scope.after);
        // The first one of those that are alike.
        let worst = runs.rev().max_by(|(_, a), (_, b)| value(a).total_cmp(&value(b)));
        let (index, run) = worst.ok_or_else(|| {
            let often = memtoll_text::format::often(region.runs.len() as u64);
            Unknown::TooFewRuns { name: scope.name.clone(), often, after: scope.after }
        })?;
        Ok((index + 1, run))
    }

    /// The call sites of what an entry limits.
    pub fn sites_of(&self, entry: &Entry) -> Vec<Row> {
        let stacks = || without_wrappers(&self.recording, &self.sums);
        let grouped = |sums: &Sums| rows(&mut stacks(), sums, GroupBy::Site);
        match (entry.scope.kind, entry.what) {
            (Kind::Run | Kind::Test, _) | (_, What::Findings) => self.sites().to_vec(),
            (Kind::Function | Kind::Type, _) => {
                let mut nodes = FxHashSet::default();
                self.each_matching(&entry.scope, |node, _| {
                    nodes.insert(node);
                });
                memtoll_analysis::sites::rows_where(&mut stacks(), &self.sums, GroupBy::Site, |site| {
                    nodes.contains(&site.node)
                })
            }
            (Kind::Mark, _) => self.between(&entry.scope).map_or_else(|_| Vec::new(), |sums| grouped(&sums)),
            (Kind::Process, _) => self.process(&entry.scope).map_or_else(|_| Vec::new(), |sums| grouped(&sums)),
            (Kind::Region, What::Metric(metric)) => match self.worst_run(&entry.scope, metric) {
                Ok((_, run)) => {
                    let span = Selection { from: Units(run.begin), to: Units(run.end), ..Selection::default() };
                    grouped(&sums(&self.recording, span))
                }
                Err(_) => Vec::new(),
            },
        }
    }

    pub fn value_of_run(&self, run: &RegionRun, metric: Metric) -> f64 {
        self.of(metric, &run.metrics, None).map_or(0.0, |value| value.estimate.value)
    }

    /// How much a call site has of a metric.
    pub fn share_of(&self, row: &Row, metric: Metric) -> f64 {
        self.of(metric, &row.metrics, self.processor).map_or(0.0, |value| value.estimate.value)
    }
}

fn evaluate(metric: Metric, facts: &Facts) -> Result<Value, Unknown> {
    let estimate = metric.value(facts).map_err(Unknown::Metric)?;
    Ok(Value { estimate, note: None })
}

/// CPU time of the program, ns.
fn program(recording: &Recording, sums: &Sums) -> Option<Estimate> {
    Balance::of_all(recording, sums).program()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, expected) in [
            ("parse", "parse", true),
            ("parse", "parse2", false),
            ("Parser::*", "Parser::read", true),
            ("*::read", "Parser::read", true),
            ("P*::r*d", "Parser::read", true),
            ("P*x*d", "Parser::read", false),
            ("*", "", true),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        assert!(fits_function("Parser::read", "int Parser::read(char const*)"));
    }
}
