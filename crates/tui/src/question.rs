//! What the screen asks: all of it is a [`Query`], but for the advice.

use crate::comparison::{Compared, Sides};
use memtoll_advise::{Advice, Root, Wish, advise, read_sources};
use memtoll_analysis::balance::Balance;
use memtoll_query::{Answer, Impossible, Query, Session};

/// A question about the recording.
#[derive(Clone, PartialEq, Debug)]
pub enum Question {
    /// The usual ones.
    Query(Box<Query>),
    /// What changed.
    Comparison(Box<Sides>),
    /// What to change. Of the whole run: savings are predicted for runs.
    Advice,
}

impl From<Query> for Question {
    fn from(query: Query) -> Question {
        Question::Query(Box::new(query))
    }
}

/// What is replied.
pub enum Reply<'r> {
    /// To a query, with where the CPU time went if that was added up.
    Answer(Box<Answer<'r>>, Option<Box<Balance>>),
    /// To a comparison.
    Compared(Box<Compared>),
    /// To the other question.
    Advice(Box<Advice>),
}

/// The reply, or why there is none. `before`: the recording before this one.
pub fn reply<'r>(
    before: Option<&Session<'r>>,
    session: &Session<'r>,
    question: &Question,
) -> Result<Reply<'r>, Impossible> {
    let recording = session.recording();
    match question {
        Question::Query(query) => {
            let mut answer = session.ask(query)?;
            // Sums are large, and nothing but the balance is made of them here.
            let balance = answer.basis.sums.take().map(|sums| Box::new(Balance::of_all(recording, &sums)));
            Ok(Reply::Answer(Box::new(answer), balance))
        }
        Question::Comparison(sides) => Ok(Reply::Compared(Box::new(Compared::of(sides, before, session)?))),
        Question::Advice => {
            let (sums, view) = session.sums(&Query::default())?;
            let mut advice = advise(recording, &sums, &mut session.stacks(&view), &Wish::default());
            let root = Root::of(recording, &advice.findings);
            read_sources(recording, &mut advice, &root, |_| true);
            Ok(Reply::Advice(Box::new(advice)))
        }
    }
}
