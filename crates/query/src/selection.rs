//! Which part of a recording a query selects.

use crate::impossible::Impossible;
use crate::query::{Query, View as Shown, When};
use crate::resident::choose;
use crate::session::Session;
use memtoll_analysis::looks::Looks;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::sites::{GroupBy, rows, sort};
use memtoll_analysis::stacks::{Cuts, Names, Stacks, View};
use memtoll_analysis::sums::{Known, Sums, sums, sums_knowing, sums_that_match};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::{NoMatch, ThreadFilter, process_id, program, thread_name};
use memtoll_analysis::wrappers::Folded;
use memtoll_model::Recording;
use memtoll_tally::{Charge, Selection, Split};
use memtoll_trace::ids::{Bytes, Units};
use memtoll_trace::meta::MarkKind;
use regex::Regex;
use std::cell::RefCell;
use std::str::FromStr;
use std::sync::Arc;

/// Functions and modules that an error names where a filter matches nothing.
const MOST_NAMES: usize = 5;

/// What a query selects of a recording.
pub(crate) struct Selected {
    pub selection: Selection,
    pub thread_filter: ThreadFilter,
    pub view: View,
    /// The wrappers of malloc that the view folds away.
    pub folded: Option<Folded>,
    /// What lies in memory, if it was asked for.
    pub looks: Option<Arc<Looks>>,
    /// The sums of the whole recording, where the wrappers were looked for, until they are taken.
    whole: RefCell<Option<Sums>>,
}

/// Whether any part of a query's answer depends on stacks.
fn needs_stacks(query: &Query) -> bool {
    matches!(query.view, Shown::Totals | Shown::Table { .. } | Shown::Tree(_) | Shown::Resident { .. } | Shown::Grown)
}

impl Selected {
    /// Finds times, processes and threads. Nothing is added up yet.
    pub fn of(session: &Session, query: &Query) -> Result<Selected, Impossible> {
        let recording = session.recording();
        let mut selection = selection(recording, query)?;
        let mut thread_filter = ThreadFilter::select(recording, &query.processes, &query.threads)
            .map_err(|who| no_match(recording, who))?;
        let look = query.look().map(|at| choose(recording, &thread_filter, &at, &Tariff::of(recording))).transpose()?;
        let look = look.map(|chosen| (chosen.image, chosen.snapshot));
        if let Some((index, snapshot)) = &look {
            (selection.to, selection.instant) = (snapshot.time, true);
            if recording.images.len() > 1 {
                thread_filter = thread_filter.only(recording, *index);
            }
        }
        let asked = if selection.instant { selection.to } else { selection.from };
        if asked > Units(recording.ended()) {
            let clock = &recording.about.clock;
            let (ends, asked) = (clock.seconds(recording.ended()), clock.seconds(asked.0));
            let has_marks = recording.images.iter().any(|image| !image.marks.is_empty());
            return Err(Impossible::TooLate { ends, asked, has_marks });
        }
        let (fold, filter) = (parsed("--fold", &query.fold)?, parsed("--filter", &query.filter)?);
        let cuts = Cuts {
            drop: parsed("--drop", &query.drop)?,
            focus: parsed("--focus", &query.focus)?,
            collapse: parsed("--collapse", &query.collapse)?,
        };
        let shows_wrappers = query.wrappers || query.unfold || !needs_stacks(query);
        let (folded, wrappers, whole) = if shows_wrappers { (None, None, None) } else { session.folded() };
        let view = View { unfold: query.unfold, fold, wrappers: wrappers.cloned(), filter, cuts };
        let looks = query.is_of_pages().then(|| session.looks(&view, look.as_ref()));
        Ok(Selected { selection, thread_filter, view, folded: folded.cloned(), looks, whole: RefCell::new(whole) })
    }

    /// Adds up what is selected.
    pub fn sums(&self, session: &Session) -> Sums {
        let recording = session.recording();
        let is_whole = self.selection == Selection::default() && self.thread_filter.are_all();
        if let Some(whole) = self.whole.take().filter(|_| is_whole && self.looks.is_none()) {
            return whole;
        }
        let known = Known { sliced: session.sliced(), looks: self.looks.as_deref() };
        match self.selection.split {
            Split::None => sums_knowing(recording, known, self.selection, self.thread_filter.clone()),
            _ => {
                let stacks = session.stacks(&self.view);
                sums_that_match(recording, known, self.selection, self.thread_filter.clone(), &stacks)
            }
        }
    }

    /// Whether anything is left of what was selected, if there was something.
    pub fn check(&self, session: &Session, sums: &Sums) -> Result<(), Impossible> {
        let recording = session.recording();
        let total = &sums.total;
        let is_empty = [total.allocations(), total.frees, total.live_blocks] == [0; 3];
        if !self.selection.is_of_all_sizes() && is_empty {
            let largest = memtoll_analysis::sums::sums(recording, Selection::default()).total.largest_bytes;
            return Err(Impossible::NoBlock { largest: largest.0 });
        }
        if !self.view.selects() {
            return Ok(());
        }
        let stacks = session.stacks(&self.view);
        // Where sums are split, those of stacks that do not match are left out already.
        let is_any = match self.selection.split {
            Split::None => sums.sites.iter().any(|site| stacks.counts(site.node)),
            _ => !sums.sites.is_empty(),
        };
        if is_any {
            return Ok(());
        }
        let text = |names: &Option<Names>| names.as_ref().map(Names::to_string);
        let View { filter, cuts: Cuts { drop, focus, .. }, .. } = &self.view;
        let Some(filter) = filter.as_ref().filter(|_| drop.is_none() && focus.is_none()) else {
            return Err(Impossible::NoStackLeft {
                filter: filter.as_ref().map(Regex::to_string),
                drop: text(drop),
                focus: text(focus),
            });
        };
        let [functions, modules] = self.largest(recording);
        let called = |[processes, threads]: [&[String]; 2]| ThreadFilter::select(recording, processes, threads).is_ok();
        let names = [filter.as_str().to_owned()];
        let option = match () {
            () if called([&names, &[]]) => Some("--process"),
            () if called([&[], &names]) => Some("--thread"),
            () => None,
        };
        Err(Impossible::NoStack { filter: filter.as_str().to_owned(), option, functions, modules })
    }

    /// The functions and modules that allocate most in the whole recording.
    pub fn largest(&self, recording: &Recording) -> [Vec<String>; 2] {
        let whole = sums(recording, Selection::default());
        let plain = View { filter: None, cuts: Cuts::default(), ..self.view.clone() };
        let mut stacks = Stacks::new(recording, &plain);
        let mut top = |group: GroupBy| {
            let mut rows = rows(&mut stacks, &whole, group);
            sort(&mut rows, &recording.frames, Metric::Allocations);
            rows.retain(|row| row.metrics.allocations() > 0);
            rows.into_iter().take(MOST_NAMES).collect::<Vec<_>>()
        };
        let functions = top(GroupBy::Function);
        let functions = functions.iter().filter_map(|row| Some(names::function(&recording.frames, row.frame?)));
        let modules = top(GroupBy::Module);
        let modules = modules.iter().map(|row| names::last_part(&row.label).to_owned());
        [functions.collect(), modules.collect()]
    }
}

fn selection(recording: &Recording, query: &Query) -> Result<Selection, Impossible> {
    let clock = &recording.about.clock;
    let units = |ns: u64| Units(clock.units(ns as f64 / 1e9));
    let mut selection = Selection::default();
    match &query.when {
        When::All => {}
        When::Span { from_ns, to_ns } => {
            selection.from = from_ns.map_or(Units::ZERO, units);
            // What lasts until the end has what is left at the end.
            selection.to = to_ns.map(units).filter(|to| to.0 < recording.ended()).unwrap_or(Units::MAX);
        }
        When::Marks { from, to } => {
            let (from, to) = between(recording, from, to)?;
            (selection.from, selection.to) = (Units(from), Units(to));
        }
        When::At { ns } => (selection.to, selection.instant) = (units(*ns), true),
        // Where the look is, the snapshots tell.
        When::Look { .. } => {}
    }
    if selection.from > selection.to {
        return Err(Impossible::Backwards);
    }
    selection.min_size = query.min_size.map_or(Bytes::ZERO, Bytes);
    selection.max_size = query.max_size.map_or(Bytes::MAX, Bytes);
    if selection.min_size > selection.max_size {
        return Err(Impossible::Sizes);
    }
    if query.paid {
        selection.charge = Charge::Payment;
    }
    if let Shown::Table { group, .. } = query.view {
        selection.split = group.split();
    }
    Ok(selection)
}

/// The time between two marks, units. A region's begin and end have the same name.
fn between(recording: &Recording, from: &str, to: &str) -> Result<(u64, u64), Impossible> {
    let all = || recording.images.iter().flat_map(|image| &image.marks);
    let missing = |name: &str, after: Option<&str>| Impossible::no_mark(recording, name, after);
    let start = all().filter(|mark| mark.name == from && mark.kind != MarkKind::End).map(|mark| mark.time).min();
    let start = start.ok_or_else(|| missing(from, None))?;
    let later = all().filter(|mark| mark.name == to && mark.kind != MarkKind::Begin && mark.time >= start);
    let end = later.map(|mark| mark.time).min();
    Ok((start, end.ok_or_else(|| missing(to, Some(from)))?))
}

fn no_match(recording: &Recording, who: NoMatch) -> Impossible {
    let images = recording.images.iter();
    let (what, name, list, there_are) = match who {
        NoMatch::Process(name) => {
            let processes =
                images.enumerate().map(|(index, image)| format!("{} {}", program(image), process_id(recording, index)));
            ("process", name, "processes", processes.collect())
        }
        NoMatch::Thread(name) => {
            let threads = images.flat_map(|image| image.threads.iter().map(move |thread| (image, thread)));
            let threads = threads
                .map(|(image, thread)| format!("{} {}", thread_name(image, thread).unwrap_or("(no name)"), thread.tid));
            ("thread", name, "threads", threads.collect())
        }
    };
    Impossible::NoMatch { what, name, there_are, list }
}

/// The expressions of an option's text.
fn parsed<T: FromStr<Err = regex::Error>>(
    option: &'static str,
    text: &Option<String>,
) -> Result<Option<T>, Impossible> {
    let wrong =
        |text: &String, why: regex::Error| Impossible::Pattern { option, pattern: text.clone(), why: why.to_string() };
    text.as_ref().map(|text| text.parse().map_err(|why| wrong(text, why))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_beyond_the_end_lasts_until_the_end() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/costs.memtoll");
        let recording = Recording::open(std::path::Path::new(golden)).unwrap();
        let end = recording.about.clock.seconds(recording.ended()) * 1e9;
        let to = |ns: f64| {
            let when = When::Span { from_ns: Some(1), to_ns: Some(ns as u64) };
            selection(&recording, &Query { when, ..Query::default() }).unwrap().to
        };
        assert_eq!([to(end + 1e3), to(end * 2.0)], [Units::MAX; 2]);
        assert!(to(end / 2.0).0 < recording.ended());
    }
}
