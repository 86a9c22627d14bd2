//! The looks at the pages of processes that a recording has.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::thread_filter::{ThreadFilter, process_id};
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_trace::snapshot::{Cause, Snapshot};
use memtoll_trace::unreadable::Unreadable;
use serde::Serialize;

/// Why pages were looked at.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Why {
    /// `peak`, `end`, `mark`, `asked` or `size`.
    pub cause: &'static str,
    /// The mark that asked for it.
    pub mark: Option<MarkOfLook>,
    /// The size that the resident set had passed, bytes.
    pub passed: Option<u64>,
}

/// A mark, and when it was set.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MarkOfLook {
    pub name: String,
    pub at_ns: u64,
}

impl Why {
    pub(crate) fn new(cause: &Cause, ns: impl Fn(u64) -> u64) -> Why {
        let (mark, passed) = match cause {
            Cause::Mark { name, time } => (Some(MarkOfLook { name: name.clone(), at_ns: ns(time.0) }), None),
            Cause::Size(bytes) => (None, Some(*bytes)),
            Cause::Peak | Cause::End | Cause::Asked => (None, None),
        };
        Why { cause: cause.name(), mark, passed }
    }
}

/// A look at a process's pages.
#[derive(Serialize)]
pub struct Look {
    pub pid: u32,
    /// What selects its process and no other.
    #[serde(skip)]
    pub process_id: String,
    pub at_ns: u64,
    #[serde(flatten)]
    pub why: Why,
    /// All pages in memory, bytes.
    pub rss: u64,
    /// Whether its name says which one it is: the highest one, the first one at a mark.
    #[serde(skip)]
    pub has_name: bool,
}

impl Look {
    /// What `--at` calls it: its name, or its time if others have the same one.
    pub fn at(&self) -> String {
        if self.has_name { self.name() } else { format!("{:.3}s", self.at_ns as f64 / 1e9) }
    }

    /// What it is called beside its time: the mark, the size, or the cause.
    pub fn name(&self) -> String {
        match (self.why.cause, &self.why.mark, self.why.passed) {
            (_, Some(mark), _) => mark.name.clone(),
            (_, _, Some(bytes)) => format::size(bytes),
            (cause, ..) => cause.to_owned(),
        }
    }
}

/// All looks at the processes that count, by time. `ns`: nanoseconds of a time.
pub(crate) fn looks(
    recording: &Recording,
    filter: &ThreadFilter,
    ns: impl Fn(u64) -> u64,
) -> Result<Vec<Look>, Unreadable> {
    let mut all = Vec::new();
    for index in (0..recording.images.len()).filter(|index| filter.of(*index).is_some()) {
        let snapshots = recording.snapshots(index)?;
        let highest = snapshots.iter().map(Snapshot::resident_bytes).max();
        let mut names: Vec<&Cause> = Vec::new();
        for snapshot in &snapshots {
            let rss = snapshot.resident_bytes();
            let has_name = match &snapshot.cause {
                Cause::Peak => Some(rss) == highest,
                Cause::Mark { name, .. } => {
                    !names.iter().any(|known| matches!(known, Cause::Mark { name: known, .. } if known == name))
                }
                Cause::Asked => false,
                Cause::End | Cause::Size(_) => true,
            };
            names.extend(has_name.then_some(&snapshot.cause));
            all.push(Look {
                pid: recording.images[index].about.pid,
                process_id: process_id(recording, index),
                at_ns: ns(snapshot.time.0),
                why: Why::new(&snapshot.cause, &ns),
                rss,
                has_name,
            });
        }
    }
    all.sort_by_key(|look| look.at_ns);
    Ok(all)
}
