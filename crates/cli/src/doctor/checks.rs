//! A table of checks, and what they found. None of them changes anything.

use serde::Serialize;

/// How a check came out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Ok,
    /// Nothing is missing, but the user may want to know.
    Note,
    /// Reports will lack something, or nothing can be recorded.
    Missing,
}

/// A check with its result.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub check: &'static str,
    /// How it came out.
    pub status: Status,
    /// What was found, and what that means.
    pub found: String,
    /// What would help: a command, or a change of the build.
    pub remedy: Option<String>,
}

/// A [`Finding`] that does not know yet what it is of.
pub struct Outcome {
    pub status: Status,
    pub found: String,
    pub remedy: Option<String>,
}

impl Outcome {
    pub fn ok(found: impl Into<String>) -> Outcome {
        Outcome { status: Status::Ok, found: found.into(), remedy: None }
    }

    pub fn note(found: impl Into<String>) -> Outcome {
        Outcome { status: Status::Note, ..Outcome::ok(found) }
    }

    pub fn missing(found: impl Into<String>) -> Outcome {
        Outcome { status: Status::Missing, ..Outcome::ok(found) }
    }

    pub fn helped_by(self, remedy: impl Into<String>) -> Outcome {
        Outcome { remedy: Some(remedy.into()), ..self }
    }
}

/// A check of `T`: what it looks at, and how. `None`: there is nothing to say.
pub type Check<T> = (&'static str, fn(&T) -> Option<Outcome>);

pub fn run<T>(checks: &[Check<T>], of: &T) -> Vec<Finding> {
    let finding = |(check, look): &Check<T>| {
        let Outcome { status, found, remedy } = look(of)?;
        Some(Finding { check, status, found, remedy })
    };
    checks.iter().filter_map(finding).collect()
}
