//! The open recordings: the one that is shown, and those that it is compared with.

use crate::no_answer::NoAnswer;
use crate::packs::Wrappers;
use crate::settings::Settings;
use memtoll_analysis::finer_chapters::Sliced;
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_query::{Answer, Query, Session, notes};
use std::cell::RefMut;

/// What a recording is compared with; nothing if there are no recordings before a change.
#[derive(Clone, Copy, Default)]
pub struct Compared<'a> {
    /// Recordings before a change.
    pub before: &'a [Recording],
    /// Recordings after it, beside the one that is shown.
    pub after: &'a [Recording],
}

/// Parts into which the time of a recording is cut: a selection by mouse begins and ends between two of them. A power of
/// two, so that the front end calculates the same instants.
pub(crate) const PARTS: u32 = 512;

/// The instants between which a mouse selects, as a recording's slices want them.
pub fn cuts(recording: &Recording) -> Vec<u64> {
    let (clock, part) = (&recording.about.clock, part_ns(recording));
    (1..PARTS).map(|number| clock.units((f64::from(number) * part).round() / 1e9)).collect()
}

/// Length of a part, ns.
pub(crate) fn part_ns(recording: &Recording) -> f64 {
    Tariff::of(recording).ns(recording.ended().max(1) as f64) / f64::from(PARTS)
}

/// The open recordings, and how they are shown.
pub struct Recordings<'a> {
    /// Those before a change, and those after it, of which the first is shown.
    pub(crate) sides: [Vec<Session<'a>>; 2],
    pub(crate) settings: Settings,
    pub(crate) tariff: Tariff,
}

impl<'a> Recordings<'a> {
    pub fn new(recording: &'a Recording, compared: Compared<'a>) -> Recordings<'a> {
        let after = std::iter::once(recording).chain(compared.after);
        let mut before = Session::of_all(compared.before.iter().chain(after));
        let after = before.split_off(compared.before.len());
        Recordings { sides: [before, after], settings: Settings::default(), tariff: Tariff::of(recording) }
    }

    /// With other settings.
    pub fn with(self, settings: &Settings) -> Recordings<'a> {
        Recordings { settings: settings.clone(), ..self }
    }

    /// With slices of the time of the one that is shown, cut at [`cuts`].
    pub fn with_slices(self, sliced: &'a Sliced) -> Recordings<'a> {
        let [before, after] = self.sides;
        let after = after.into_iter().enumerate();
        let after = after.map(|(at, session)| if at == 0 { session.with_slices(sliced) } else { session });
        Recordings { sides: [before, after.collect()], ..self }
    }

    /// The same for another thread.
    pub fn again(&self) -> Recordings<'a> {
        let sides = self.sides.each_ref().map(|side| side.iter().map(Session::again).collect());
        Recordings { sides, settings: self.settings.clone(), tariff: self.tariff }
    }

    /// The one that is shown as if there were no others, for another thread.
    pub(crate) fn alone(&self) -> Recordings<'a> {
        match &self.sides {
            [before, after] if before.is_empty() && after.len() == 1 => self.again(),
            _ => Recordings::new(self.recording(), Compared::default()),
        }
    }

    /// Of those before a change, the first one is shown instead.
    pub(crate) fn before(&self) -> Option<Recordings<'a>> {
        let first = self.sides[0].first()?.again();
        let tariff = Tariff::of(first.recording());
        Some(Recordings { sides: [Vec::new(), vec![first]], settings: self.settings.clone(), tariff })
    }

    pub(crate) fn session(&self) -> &Session<'a> {
        &self.sides[1][0]
    }

    /// The recording that is shown.
    pub(crate) fn recording(&self) -> &'a Recording {
        self.session().recording()
    }

    /// When it ends, ns.
    pub(crate) fn ended_ns(&self) -> f64 {
        self.tariff.ns(self.recording().ended() as f64)
    }

    /// The last instant before a time, ns: where one span begins, the other one has ended.
    pub(crate) fn last_before(&self, ns: f64) -> f64 {
        let clock = &self.recording().about.clock;
        (clock.units(ns.floor() / 1e9).saturating_sub(1) as f64 + 0.5) / clock.units_per_second * 1e9
    }

    /// Fails if a file is shorter than when it was opened: what is gone would be missing without a word.
    pub(crate) fn check_files(&self) -> Result<(), NoAnswer> {
        let all = self.sides.iter().flatten().map(Session::recording);
        let cut = all.filter_map(|recording| Some((recording.cut_to()?, recording.file_bytes()))).next();
        cut.map_or(Ok(()), |(now, was)| Err(NoAnswer::CutShort { now, was }))
    }

    /// What the one that is shown says to a query, or why it says nothing.
    pub(crate) fn ask(&self, query: &Query) -> Result<Answer<'a>, NoAnswer> {
        Ok(self.session().ask(query)?)
    }

    pub(crate) fn stacks(&self, view: &View) -> RefMut<'_, Stacks<'a>> {
        self.session().stacks(view)
    }

    /// The wrappers of malloc, if there are any, and the sentence that says that they are folded away, if they are.
    pub(crate) fn wrappers(&self, query: &Query, sums: &Sums) -> Option<Wrappers> {
        let is_shown = query.wrappers || query.unfold;
        self.session().wrappers().map(|folded| Wrappers {
            functions: folded.functions.clone(),
            folded: (!is_shown).then(|| notes::callers_lead(folded, sums)),
        })
    }
}
