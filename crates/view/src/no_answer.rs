//! Why a question has no answer.

use crate::ask::Page;
use memtoll_query::{Impossible, View};

/// A statement for the user.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The query says so.
    #[error(transparent)]
    Impossible(Box<Impossible>),
    /// No page shows such a view.
    #[error("no page {page:?} shows a view {view:?}")]
    NoPage {
        page: Page,
        /// The view of its query.
        view: Box<View>,
    },
    /// The query's answer has not what the page is made of.
    #[error("the answer has no {0}")]
    Lacks(&'static str),
    /// No column has this metric.
    #[error("no column has the metric {0}")]
    NoColumn(&'static str),
    /// The level of a tree that is asked for is below no node.
    #[error("There is no such call path in this selection.")]
    NoCallPath,
    /// An allocator of the program hides frees.
    #[error("What is live is not known: an allocator inside the program hides frees from memtoll.")]
    HiddenFrees,
    /// The source file is none of the recording's.
    #[error("The recording names no such file.")]
    NoFile,
    /// There are not two sides.
    #[error("There is nothing to compare with: expected memtoll view BEFORE AFTER, or a second span of time.")]
    OneSide,
    /// What was found cannot be written as JSON.
    #[error("cannot write {what}: {error}")]
    Json {
        /// What was found.
        what: &'static str,
        /// Why.
        error: serde_json::Error,
    },
}

impl From<Impossible> for NoAnswer {
    fn from(why: Impossible) -> NoAnswer {
        NoAnswer::Impossible(Box::new(why))
    }
}
