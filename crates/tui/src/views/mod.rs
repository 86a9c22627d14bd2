//! The views.

mod advice;
mod before_after;
mod compare;
mod flame;
mod lines;
mod overview;
mod recording;
mod snapshots;
mod thread_sums;
mod threads;
mod tree;

pub use compare::CompareView;
pub use flame::FlameView;
pub use lines::LinesView;
pub use overview::OverviewView;
pub use recording::RecordingView;
pub use snapshots::SnapshotsView;
pub use threads::ThreadsView;
pub use tree::TreeView;

use crate::answers::Answers;
use crate::colors::SOFT;
use crate::comparison::Compared;
use crate::draw::Pane;
use crate::fitted_text::wrapped;
use crate::question::{Question, Reply};
use crate::state::State;
use memtoll_advise::Advice;
use memtoll_analysis::balance::Balance;
use memtoll_model::Recording;
use memtoll_query::{Activity, Answer, Shown as Found};
use memtoll_text::visible;

/// What views are drawn from.
#[derive(Clone, Copy)]
pub struct Shown<'a, 'r> {
    pub recording: &'r Recording,
    /// Its file's name.
    pub file: &'a str,
    /// What is looked at.
    pub state: &'a State,
    /// Whether there is a recording before this one.
    pub has_before: bool,
    /// What is known.
    pub answers: &'a Answers<'r>,
}

/// A reply, as far as it is known.
pub enum Known<'a, 'r> {
    /// It will come.
    NotYet,
    /// There is none: why.
    Nothing(String),
    /// Live bytes over time.
    Activity(&'a Activity),
    /// Another answer.
    Answer(&'a Answer<'r>, Option<&'a Balance>),
    /// What changed.
    Compared(&'a Compared),
    /// What to change.
    Advice(&'a Advice),
}

impl<'a, 'r> Shown<'a, 'r> {
    /// The reply to a question.
    pub fn known(&self, question: &Question) -> Known<'a, 'r> {
        match self.answers.get(question) {
            None => Known::NotYet,
            Some(Err(why)) => Known::Nothing(visible(&why.to_string())),
            Some(Ok(Reply::Compared(compared))) => Known::Compared(compared),
            Some(Ok(Reply::Advice(advice))) => Known::Advice(advice),
            Some(Ok(Reply::Answer(answer, balance))) => match &answer.shown {
                Found::Activity(activity) => Known::Activity(activity),
                _ => Known::Answer(answer, balance.as_deref()),
            },
        }
    }

    /// The answer to a question. If there is none yet, the pane says so.
    pub fn answer(&self, question: &Question, pane: &mut Pane) -> Option<(&'a Answer<'r>, Option<&'a Balance>)> {
        match self.known(question) {
            Known::Answer(answer, balance) => return Some((answer, balance)),
            Known::Nothing(why) => say(pane, &why),
            _ => say(pane, "adding up …"),
        }
        None
    }

    /// When the recording ends, ns.
    pub fn ended_ns(&self) -> u64 {
        (self.recording.about.clock.seconds(self.recording.ended()) * 1e9) as u64
    }

    /// Whether a text has what is searched.
    pub fn finds(&self, text: &str) -> bool {
        !self.state.search.is_empty() && text.to_lowercase().contains(&self.state.search.to_lowercase())
    }
}

/// Says something instead of what is not there.
pub fn say(pane: &mut Pane, text: &str) {
    for (y, line) in wrapped(text, pane.width()).iter().enumerate() {
        pane.put(0, y, pane.width(), line, SOFT);
    }
}
