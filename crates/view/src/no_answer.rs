//! Why a question has no answer, in the words of the page: it has fields and keys where the command line has options.

use crate::ask::Page;
use memtoll_query::{Impossible, View};
use memtoll_text::format;

/// Letters of a filter or a name that a sentence repeats.
const MOST_LETTERS: usize = 80;

/// A statement for the user.
#[derive(Debug, thiserror::Error)]
pub enum NoAnswer {
    /// The query says so.
    #[error("{}", words(.0))]
    Impossible(Box<Impossible>),
    /// The file is shorter than when it was opened.
    #[error(
        "The file of the recording was cut off while it was open: it has {} now, and had {}. Copy it again, and start memtoll view anew.",
        format::counted(*now, "byte"), format::counted(*was, "byte")
    )]
    CutShort {
        /// Bytes.
        now: u64,
        was: u64,
    },
    /// The user has cancelled it.
    #[error("Cancelled. Back shows what was there before.")]
    Cancelled,
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

impl NoAnswer {
    /// Whether the question is a good one, and nothing is what it asks for.
    pub fn is_nothing(&self) -> bool {
        matches!(self, NoAnswer::Impossible(why) if matches!(**why, Impossible::NoStack { .. } | Impossible::NoStackLeft { .. }))
    }
}

impl From<Impossible> for NoAnswer {
    fn from(why: Impossible) -> NoAnswer {
        NoAnswer::Impossible(Box::new(why))
    }
}

fn words(why: &Impossible) -> String {
    match why {
        Impossible::NoMatch { what, name, .. } => {
            format!("No {what} of this recording is called \"{}\". Choose one in the header.", short(name))
        }
        Impossible::TooLate { ends, asked, .. } => format!(
            "The recording ends after {}: this selection begins at {}. Press Esc for the whole run.",
            format::seconds(*ends),
            format::seconds(*asked)
        ),
        Impossible::NoMark { name, .. } => format!("The recording has no mark \"{}\".", short(name)),
        Impossible::Backwards => "The selection ends before it begins. Press Esc for the whole run.".to_owned(),
        Impossible::Sizes | Impossible::NoBlock { .. } => "No block has such a size.".to_owned(),
        Impossible::NoStack { filter, functions, modules, .. } => format!(
            "No call stack matches the filter \"{}\" in this selection. Functions that allocate most are {}, in {}.",
            short(filter),
            functions.join(", "),
            modules.join(", ")
        ),
        Impossible::NoStackLeft { .. } => {
            "No call stack of this selection is left. The header shows what leaves them out; a click undoes it."
                .to_owned()
        }
        Impossible::Pattern { option, pattern, why } => {
            let what = if *option == "--filter" { "filter" } else { "list of cuts" };
            format!("The {what} \"{}\" is not a regular expression: {}.", short(pattern), reason(why))
        }
        Impossible::NoEvents { why } => format!("What grows is not known: {why}."),
        Impossible::NoPages { why } => format!("The recording does not tell who holds the resident set: {why}."),
        Impossible::NoLook { when, .. } => format!("memtoll did not look at the pages {when}. Choose another look."),
        Impossible::NoNode { .. } => "There is no such call path in this selection.".to_owned(),
        Impossible::NoFunction { name, there_are } => format!(
            "No call stack of this selection has the function \"{}\". Functions that allocate most are {}.",
            short(name),
            there_are.join(", ")
        ),
    }
}

/// The beginning of a long text.
fn short(text: &str) -> String {
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What is wrong with a regular expression, without the picture of the place.
fn reason(why: &str) -> &str {
    why.rsplit("error: ").next().unwrap_or(why).trim().trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ask, Compared, Engine, Recordings};
    use memtoll_analysis::sites::GroupBy;
    use memtoll_model::Recording;
    use memtoll_query::Query;
    use memtoll_query::query::When;
    use std::path::Path;

    fn refused(query: Query) -> String {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/costs.memtoll");
        let recording = Recording::open(&golden).unwrap();
        let ask = Ask {
            query: Query { view: View::Table { group: GroupBy::Site, limit: None }, ..query },
            page: Page::Shown,
        };
        let answer = Engine::new(Recordings::new(&recording, Compared::default())).answer(&ask);
        answer.err().expect("no answer").to_string()
    }

    #[test]
    fn refusals_name_no_option_of_the_command_line() {
        let filter = |text: &str| Query { filter: Some(text.to_owned()), ..Query::default() };
        let all = [
            (filter("zzz"), "No call stack matches the filter \"zzz\" in this selection. "),
            (filter("("), "The filter \"(\" is not a regular expression: unclosed group."),
            (
                Query { processes: vec!["none".to_owned()], ..Query::default() },
                "No process of this recording is called \"none\".",
            ),
            (
                Query { threads: vec!["none".to_owned()], ..Query::default() },
                "No thread of this recording is called \"none\".",
            ),
            (
                Query { when: When::Span { from_ns: Some(1 << 60), to_ns: None }, ..Query::default() },
                "The recording ends after ",
            ),
        ];
        for (query, expected) in all {
            let asked = format!("{query:?}");
            let text = refused(query);
            assert!(text.starts_with(expected) && !text.contains("--"), "{asked}: {text}");
        }
        let long = refused(filter(&"x".repeat(5000)));
        assert!(long.contains(&format!("\"{}…\"", "x".repeat(MOST_LETTERS))) && long.len() < 500, "{long}");
    }
}
