//! Why a limit could not be checked.

use memtoll_query::Impossible;

/// A statement for the user.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The metric is not known of what was recorded.
    #[error("{0}")]
    Metric(&'static str),
    /// No call site is one of a function or type. It may allocate: a name that changed would keep any limit.
    #[error("no call site of a {of}{nearest}; correct the name, or allow it nothing (0)")]
    NoMatch {
        /// The function or type, for people.
        of: String,
        /// A hint at a name that is there.
        nearest: String,
    },
    /// No process has this name.
    #[error("the recording has no process \"{name}\"{nearest}")]
    NoProcess {
        /// As the budget calls it.
        name: String,
        /// A hint at a name that is there.
        nearest: String,
    },
    /// No region has this name.
    #[error("the recording has no region \"{name}\"; {there}")]
    NoRegion {
        /// As the budget calls it.
        name: String,
        /// The regions that there are, for people.
        there: String,
    },
    /// All runs of a region are among those that do not count.
    #[error("region {name} ran {often}; {after} do not count")]
    TooFewRuns {
        /// The region.
        name: String,
        /// How often it ran, for people.
        often: String,
        /// How many runs do not count.
        after: usize,
    },
    /// The recording has nothing between these marks.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// Something is missing in a recording, which may be anything.
    #[error("{0}")]
    Damaged(String),
    /// The limit is relative.
    #[error("the limit is relative, and there is no baseline: give one with --baseline")]
    NoBaseline,
    /// It is the baseline that is not known.
    #[error("in the baseline: {0}")]
    Baseline(Box<Unknown>),
    /// It is one of several runs that is not known.
    #[error("{run}: {why}")]
    OfRun {
        /// The run's recording.
        run: String,
        why: Box<Unknown>,
    },
    /// Values that were added up elsewhere are not known.
    #[error(transparent)]
    Elsewhere(Box<dyn std::error::Error + Send + Sync>),
}
