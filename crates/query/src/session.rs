//! A recording that is asked again and again: what all its answers need is found once.

use memtoll_analysis::finer_chapters::Sliced;
use memtoll_analysis::looks::Looks;
use memtoll_analysis::stacks::{Cuts, Names, Stacks, View};
use memtoll_analysis::sums::{Sums, sums};
use memtoll_analysis::wrappers::Folded;
use memtoll_model::{Recording, reading};
use memtoll_tally::Selection;
use memtoll_trace::snapshot::Snapshot;
use regex::Regex;
use std::cell::{RefCell, RefMut};
use std::sync::{Arc, OnceLock};

/// An open recording. [`Session::ask`] answers queries about it.
pub struct Session<'r> {
    recording: &'r Recording,
    sliced: Option<&'r Sliced>,
    /// Its place in [`Together::recordings`].
    at: usize,
    together: Arc<Together<'r>>,
    /// The stacks of the last view: most questions are about the same.
    stacks: RefCell<Option<(View, Stacks<'r>)>>,
    /// What lies in memory, by the lines of the last view that was asked for it.
    looks: RefCell<Option<(View, Arc<Looks>)>>,
}

/// Recordings that are compared: a wrapper of malloc in one of them is folded away in all, because its callers are the same
/// lines.
struct Together<'r> {
    recordings: Vec<&'r Recording>,
    wrappers: OnceLock<Wrappers>,
}

/// The wrappers of malloc. They are those of whole recordings, so that each part of one is shown in the same way.
struct Wrappers {
    /// Those of each recording.
    folded: Vec<Option<Folded>>,
    /// All of them.
    names: Option<Names>,
}

impl<'r> Session<'r> {
    pub fn new(recording: &'r Recording) -> Session<'r> {
        Session::of(Arc::new(Together { recordings: vec![recording], wrappers: OnceLock::new() }), 0, recording)
    }

    /// Of recordings that are compared, in their order.
    pub fn of_all(recordings: impl IntoIterator<Item = &'r Recording>) -> Vec<Session<'r>> {
        let recordings: Vec<&Recording> = recordings.into_iter().collect();
        let together = Arc::new(Together { recordings, wrappers: OnceLock::new() });
        let session = |(at, recording): (usize, &&'r Recording)| Session::of(together.clone(), at, recording);
        together.recordings.iter().enumerate().map(session).collect()
    }

    fn of(together: Arc<Together<'r>>, at: usize, recording: &'r Recording) -> Session<'r> {
        Session { recording, sliced: None, at, together, stacks: RefCell::default(), looks: RefCell::default() }
    }

    /// With slices of its time, which make answers about spans faster.
    pub fn with_slices(self, sliced: &'r Sliced) -> Session<'r> {
        Session { sliced: Some(sliced), ..self }
    }

    /// The same for another thread: both know what one of them finds.
    pub fn again(&self) -> Session<'r> {
        Session { sliced: self.sliced, ..Session::of(self.together.clone(), self.at, self.recording) }
    }

    pub fn recording(&self) -> &'r Recording {
        self.recording
    }

    /// Slices of its time, if there are some.
    pub fn sliced(&self) -> Option<&'r Sliced> {
        self.sliced
    }

    /// The wrappers of malloc in this recording, if it has some, whether they are shown or not.
    pub fn wrappers(&self) -> Option<&Folded> {
        self.folded().0
    }

    /// The same, with the expression that folds them. The first call adds up the whole recording to find them, and returns these
    /// sums, so that its caller need not add up again.
    pub(crate) fn folded(&self) -> (Option<&Folded>, Option<&Names>, Option<Sums>) {
        let mut whole = None;
        let wrappers = self.together.wrappers.get_or_init(|| {
            // Later questions use them, too, so the reading cannot be cancelled.
            reading::during(None, || {
                let find = |recording: &&'r Recording| {
                    let sums = sums(recording, Selection::default());
                    let mut stacks = Stacks::new(recording, &View::default());
                    let folded = Folded::of(&mut stacks, &sums);
                    if std::ptr::eq(*recording, self.recording) {
                        let wrappers = folded.as_ref().map(|folded| Names::from(folded.regex.clone()));
                        wrappers.iter().for_each(|names| stacks.fold_wrappers(names));
                        self.stacks.replace(Some((View { wrappers, ..View::default() }, stacks)));
                        whole = Some(sums);
                    }
                    folded
                };
                let folded: Vec<Option<Folded>> = self.together.recordings.iter().map(find).collect();
                let regex = Folded::regex_of_all(folded.iter().flatten().map(|folded| &folded.regex));
                Wrappers { folded, names: regex.map(Names::from) }
            })
        });
        (wrappers.folded.get(self.at).and_then(Option::as_ref), wrappers.names.as_ref(), whole)
    }

    /// What lies in memory at a look at the pages of an image; `None`: when processes end. The first call for a view reads all events.
    pub(crate) fn looks(&self, view: &View, at: Option<&(usize, Snapshot)>) -> Arc<Looks> {
        let mut known = self.looks.borrow_mut();
        let is_known = |looks: &Looks| match at {
            None => looks.time().is_none(),
            Some((index, snapshot)) => looks.time() == Some(snapshot.time) && looks.of(*index).is_some(),
        };
        if let Some((_, looks)) = known.as_ref().filter(|(of, looks)| is_same(of, view) && is_known(looks)) {
            return looks.clone();
        }
        let mut stacks = self.stacks(view);
        let looks = Arc::new(match at {
            None => Looks::at_end(&mut stacks),
            Some((index, snapshot)) => Looks::at(&mut stacks, *index, snapshot),
        });
        *known = Some((view.clone(), looks.clone()));
        looks
    }

    /// Keeps what lies in memory, by the lines of a view, so that no question reads the events for it.
    pub fn know_looks(&self, view: View, looks: Looks) {
        self.looks.replace(Some((view, Arc::new(looks))));
    }

    /// The stacks as a view shows them. They stay borrowed as long as the result lives.
    pub fn stacks(&self, view: &View) -> RefMut<'_, Stacks<'r>> {
        let mut known = self.stacks.borrow_mut();
        if known.as_ref().is_some_and(|(of, _)| !is_same(of, view)) {
            *known = None;
        }
        let make = || (view.clone(), Stacks::new(self.recording, view));
        RefMut::map(known, |known| &mut known.get_or_insert_with(make).1)
    }

    /// The same, of which no further question needs any, if they are known.
    pub(crate) fn into_stacks(self, view: &View) -> Option<Stacks<'r>> {
        self.stacks.into_inner().filter(|(of, _)| is_same(of, view)).map(|(_, stacks)| stacks)
    }
}

fn is_same(a: &View, b: &View) -> bool {
    let texts = |View { fold, wrappers, filter, cuts: Cuts { drop, focus, collapse }, .. }: &View| {
        let names = [fold, wrappers, drop, focus, collapse].map(|of| of.as_ref().map(Names::to_string));
        (names, filter.as_ref().map(Regex::to_string))
    };
    a.unfold == b.unfold && texts(a) == texts(b)
}
