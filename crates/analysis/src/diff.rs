//! What changed between two recordings, by function and by call path.

use crate::library::qualified_name;
use crate::sites::{GroupBy, Row, rows};
use crate::stacks::{Stacks, Texts, View};
use crate::sums::Sums;
use memtoll_model::{Frames, Recording};
use memtoll_trace::summary::Metrics;
use std::collections::BTreeMap;

/// A function or a call path in both recordings.
#[derive(Clone, Debug)]
pub struct Change {
    /// The function, or the functions of the path from the allocation outwards.
    pub name: Vec<String>,
    /// Where the first function stands, in the newer recording if it is there: the file, of a path also the line.
    pub place: Option<String>,
    /// Sums before; `None` if it was not there.
    pub before: Option<Metrics>,
    /// Sums after; `None` if it is gone.
    pub after: Option<Metrics>,
}

impl Change {
    /// The difference of a metric.
    pub fn difference(&self, metric: impl Fn(&Metrics) -> u64) -> i64 {
        let value = |metrics: &Option<Metrics>| metrics.as_ref().map_or(0, &metric) as i64;
        value(&self.after) - value(&self.before)
    }
}

/// One side of a comparison.
pub struct Side<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// Its sums.
    pub sums: &'a Sums,
}

/// Compares by function.
pub fn by_function(before: &Side, after: &Side, view: &View) -> Vec<Change> {
    compare(before, after, view, GroupBy::Function)
}

/// Compares by call path.
pub fn by_path(before: &Side, after: &Side, view: &View) -> Vec<Change> {
    compare(before, after, view, GroupBy::Path)
}

fn compare(before: &Side, after: &Side, view: &View, group: GroupBy) -> Vec<Change> {
    let mut changes: BTreeMap<Vec<String>, Change> = BTreeMap::new();
    for (side, is_after) in [(before, false), (after, true)] {
        let frames = &side.recording.frames;
        for row in rows(&mut Stacks::new(side.recording, view), side.sums, group) {
            let name = name_of(&row, frames);
            let entry = changes.entry(name.clone());
            let change = entry.or_insert(Change { name, place: None, before: None, after: None });
            change.place = row.frame.and_then(|frame| place(&Texts::of(frames, frame), group)).or(change.place.take());
            let metrics = if is_after { &mut change.after } else { &mut change.before };
            metrics.get_or_insert_default().add(&row.metrics);
        }
    }
    changes.into_values().filter(|change| change.before != change.after).collect()
}

/// Lines and template arguments change with every edit; names do not.
fn name_of(row: &Row, frames: &Frames) -> Vec<String> {
    let name = |id: &u32| qualified_name(Texts::of(frames, *id).function).to_owned();
    match (&row.path[..], row.frame) {
        ([], Some(frame)) => vec![name(&frame)],
        ([], None) => vec![row.label.clone()],
        (path, _) => path.iter().map(name).collect(),
    }
}

/// A function has many lines; a path's first frame has one.
fn place(texts: &Texts, group: GroupBy) -> Option<String> {
    let file = texts.file?;
    Some(if group == GroupBy::Path { format!("{file}:{}", texts.line?) } else { file.to_owned() })
}

/// Sorts changes by the size of their difference, largest first.
pub fn sort(changes: &mut [Change], metric: impl Fn(&Metrics) -> u64 + Copy) {
    changes.sort_by(|a, b| {
        let size = |change: &Change| {
            (change.difference(metric).unsigned_abs(), change.difference(|m| m.bytes_allocated).unsigned_abs())
        };
        size(b).cmp(&size(a)).then_with(|| a.name.cmp(&b.name))
    });
}
