//! Questions that have no answer, with what there was to choose from.

use memtoll_model::Recording;
use serde::Serialize;

/// Names in an error, at most; `--list` has all.
const MOST_NAMES: usize = 5;

/// Why a question has no answer. The text says what there is to choose from.
#[derive(Clone, PartialEq, Debug, Serialize, thiserror::Error)]
#[serde(tag = "impossible", rename_all = "kebab-case")]
pub enum Impossible {
    /// No process or thread has this name.
    #[error("no {what} is called \"{name}\": there are {}; --list {list} shows all", some(there_are))]
    NoMatch {
        /// `process` or `thread`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        there_are: Vec<String>,
        list: &'static str,
    },
    /// The recording ends earlier. Seconds.
    #[error(
        "the recording ends after {}: expected an earlier time than {}{}",
        seconds(*ends), seconds(*asked), if *has_marks { "; --list marks shows marks and regions" } else { "" }
    )]
    TooLate {
        /// When the recording ends.
        ends: f64,
        asked: f64,
        has_marks: bool,
    },
    /// There is no such mark.
    #[error("the recording has no mark \"{name}\"{}; {}", after.as_ref().map_or(String::new(), |after| format!(" after \"{after}\"")), marks(there_are))]
    NoMark {
        /// What was asked for.
        name: String,
        after: Option<String>,
        /// The marks that there are.
        there_are: Vec<String>,
    },
    /// The end is before the beginning.
    #[error("the time span ends before it begins: expected --from to be earlier than --to")]
    Backwards,
    /// No block can be that large and that small.
    #[error("no block can match: expected --min-size to be at most --max-size")]
    Sizes,
    /// No block has such a size.
    #[error("no block matches --min-size and --max-size: the largest has {}", memtoll_text::format::bytes(*largest))]
    NoBlock {
        /// The largest block, bytes.
        largest: u64,
    },
    /// No stack matches the filter.
    #[error(
        "no call stack matches \"{filter}\"{}: functions that allocate most are {}, in {}; --list modules shows all files",
        option.map_or(String::new(), |option| format!("; {option} {filter} would match")),
        functions.join(", "), modules.join(", ")
    )]
    NoStack {
        /// What was asked for.
        filter: String,
        /// The option that would match.
        option: Option<&'static str>,
        /// Functions that allocate most.
        functions: Vec<String>,
        /// Modules that allocate most.
        modules: Vec<String>,
    },
    /// No stack is left.
    #[error(
        "no call stack is left with {}",
        [("--filter", filter), ("--focus", focus), ("--drop", drop)]
            .into_iter()
            .filter_map(|(option, pattern)| Some(format!("{option} \"{}\"", pattern.as_ref()?)))
            .collect::<Vec<_>>()
            .join(" and ")
    )]
    NoStackLeft {
        /// The filter.
        filter: Option<String>,
        /// What call stacks must not have.
        drop: Option<String>,
        /// What they must have.
        focus: Option<String>,
    },
    /// A regular expression is none.
    #[error("{option} \"{pattern}\" is not a regular expression: {why}")]
    Pattern {
        option: &'static str,
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Events cannot be read.
    #[error("what grows is not known: {why}")]
    NoEvents {
        /// What is wrong.
        why: String,
    },
    /// No look at a process's pages.
    #[error("the recording does not tell who holds the resident set: {why}")]
    NoPages {
        /// What is missing.
        why: String,
    },
    /// The pages were not looked at then.
    #[error("memtoll did not look at the pages {when}: expected --at {}; --list looks shows all", choice(there_are))]
    NoLook {
        /// As in `at mark "x"`.
        when: String,
        /// What `--at` calls the looks that there are.
        there_are: Vec<String>,
    },
    /// There is no such node of the tree.
    #[error("the tree has no node {key}: ask for its parent again")]
    NoNode {
        /// What was asked for.
        key: String,
    },
    /// No function that is shown has this name.
    #[error("no call stack has the function \"{name}\": functions that allocate most are {}", there_are.join(", "))]
    NoFunction {
        /// What was asked for.
        name: String,
        /// Functions that allocate most.
        there_are: Vec<String>,
    },
}

/// What scripts and viewers get instead of an answer: the choices as lists, and the sentence.
#[derive(Serialize)]
struct Refusal<'a> {
    schema_version: u32,
    #[serde(flatten)]
    why: &'a Impossible,
    text: String,
}

impl Impossible {
    /// A recording has no mark of this name, or none later than the mark `after`.
    pub(crate) fn no_mark(recording: &Recording, name: &str, after: Option<&str>) -> Impossible {
        let all = recording.images.iter().flat_map(|image| &image.marks);
        let mut there_are: Vec<String> = all.map(|mark| mark.name.clone()).collect();
        there_are.sort_unstable();
        there_are.dedup();
        Impossible::NoMark { name: name.to_owned(), after: after.map(str::to_owned), there_are }
    }

    /// As JSON: `impossible` says which, `text` is the sentence, and the choices are lists.
    pub fn json(&self) -> serde_json::Result<String> {
        let refusal =
            Refusal { schema_version: crate::schema_version::SCHEMA_VERSION, why: self, text: self.to_string() };
        Ok(serde_json::to_string_pretty(&refusal)? + "\n")
    }

    /// Whether the question itself is wrong, whatever the recording holds.
    pub fn is_wrong(&self) -> bool {
        match self {
            Impossible::Backwards | Impossible::Sizes | Impossible::Pattern { .. } | Impossible::NoMark { .. } => true,
            Impossible::NoMatch { .. }
            | Impossible::TooLate { .. }
            | Impossible::NoBlock { .. }
            | Impossible::NoStack { .. }
            | Impossible::NoStackLeft { .. }
            | Impossible::NoPages { .. }
            | Impossible::NoLook { .. }
            | Impossible::NoEvents { .. }
            | Impossible::NoNode { .. }
            | Impossible::NoFunction { .. } => false,
        }
    }
}

fn seconds(value: f64) -> String {
    memtoll_text::format::seconds(value)
}

fn marks(names: &[String]) -> String {
    match names {
        [] => "it has none; set them with memtoll.h".to_owned(),
        names => format!("it has: {}", names.join(", ")),
    }
}

/// Some of the names as alternatives.
fn choice(names: &[String]) -> String {
    match names.get(..MOST_NAMES.min(names.len())) {
        Some([names @ .., last]) if !names.is_empty() => format!("{} or {last}", names.join(", ")),
        names => names.unwrap_or_default().concat(),
    }
}

/// Some of the names, and how many more there are.
fn some(names: &[String]) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.dedup();
    let more = names.len().saturating_sub(MOST_NAMES);
    names.truncate(MOST_NAMES);
    match more {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
