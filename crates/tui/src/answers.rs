//! Replies that are known, and questions that the screen waits for.

use crate::question::{Question, Reply, reply};
use memtoll_model::Recording;
use memtoll_query::{Impossible, Session};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, PoisonError};

/// Replies that are kept: those of the last selections.
const MOST: usize = 24;

/// A reply, or why there is none.
pub type Outcome<'r> = Result<Reply<'r>, Impossible>;

/// The recording that is shown, and the one before it, if there is one.
#[derive(Clone, Copy)]
pub struct Opened<'r> {
    pub before: Option<&'r Recording>,
    pub recording: &'r Recording,
}

/// What is known.
#[derive(Default)]
pub struct Answers<'r> {
    known: VecDeque<(Question, Outcome<'r>)>,
    /// What was asked while the screen was drawn, and is not known.
    wanted: RefCell<Vec<Question>>,
}

impl<'r> Answers<'r> {
    /// The reply; nothing as long as it is not known. Then it will be asked for.
    pub fn get(&self, question: &Question) -> Option<&Outcome<'r>> {
        let found = self.known.iter().find(|(known, _)| known == question).map(|(_, outcome)| outcome);
        if found.is_none() && !self.wanted.borrow().contains(question) {
            self.wanted.borrow_mut().push(question.clone());
        }
        found
    }

    /// Takes the questions that were asked since the last time.
    pub fn take_wanted(&self) -> Vec<Question> {
        self.wanted.take()
    }

    /// Learns a reply; the oldest one is forgotten for it.
    pub fn learn(&mut self, question: Question, outcome: Outcome<'r>) {
        self.known.push_back((question, outcome));
        if self.known.len() > MOST {
            self.known.pop_front();
        }
    }
}

/// Where questions lie until another thread takes them.
#[derive(Default)]
pub struct QuestionQueue {
    queued: Mutex<Queued>,
    bell: Condvar,
}

#[derive(Default)]
struct Queued {
    waiting: Vec<Question>,
    /// What the other threads are at.
    taken: Vec<Question>,
}

impl QuestionQueue {
    /// These are waited for, and no others any more.
    pub fn put(&self, mut questions: Vec<Question>) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|question| !queued.taken.contains(question));
        queued.waiting = questions;
        self.bell.notify_all();
    }

    /// The next question, after this one was answered.
    fn take(&self, last: Option<&Question>) -> Question {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        queued.taken.retain(|question| Some(question) != last);
        loop {
            if !queued.waiting.is_empty() {
                let question = queued.waiting.remove(0);
                queued.taken.push(question.clone());
                return question;
            }
            queued = self.bell.wait(queued).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Replies to questions as long as the receiver is there.
    pub fn work<'r>(&self, Opened { before, recording }: Opened<'r>, to: &Sender<(Question, Outcome<'r>)>) {
        let sessions = Session::of_all(before.into_iter().chain([recording]));
        let [before @ .., session] = &sessions[..] else { return };
        let mut question = self.take(None);
        loop {
            let outcome = reply(before.first(), session, &question);
            if to.send((question.clone(), outcome)).is_err() {
                return;
            }
            question = self.take(Some(&question));
        }
    }
}
