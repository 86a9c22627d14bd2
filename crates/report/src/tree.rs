//! Call trees as indented text.

use crate::{format, names, wrap};
use memtoll_analysis::sites::SortBy;
use memtoll_analysis::tree::Branch;
use memtoll_model::Recording;
use memtoll_trace::summary::Metrics;

/// The tree below `root`, as it is sorted and pruned.
pub fn render(recording: &Recording, root: &Branch, sort: SortBy, width: Option<usize>) -> String {
    let mut text = String::new();
    let total = sort.value(&root.metrics);
    for child in &root.children {
        branch(recording, child, sort, total, width, "", "", &mut text);
    }
    text
}

/// A metric's value as text.
pub fn value(metrics: &Metrics, sort: SortBy, recording: &Recording) -> String {
    let number = sort.value(metrics);
    match sort {
        SortBy::Allocations | SortBy::Temporary | SortBy::Faults => format::count(number),
        SortBy::Bytes | SortBy::Peak | SortBy::Live => format::bytes(number),
        _ => format::seconds(recording.about.clock.seconds(number)),
    }
}

/// Of forks that would leave no room for names, the inner ones.
fn within(forks: &str, width: Option<usize>) -> String {
    /// Columns of numbers and a short name.
    const OTHERS: usize = 23 + 24;
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(OTHERS).max(4));
    let depth = forks.chars().count();
    match depth > room {
        true => std::iter::once('…').chain(forks.chars().skip(depth + 1 - room)).collect(),
        false => forks.to_owned(),
    }
}

#[allow(clippy::too_many_arguments)]
fn branch(
    recording: &Recording,
    at: &Branch,
    sort: SortBy,
    total: u64,
    width: Option<usize>,
    stem: &str,
    fork: &str,
    text: &mut String,
) {
    let Some(frame) = at.frame else { return };
    let number = value(&at.metrics, sort, recording);
    let share = match sort {
        SortBy::Lifetime => String::new(),
        _ => format::percent(sort.value(&at.metrics), total),
    };
    let name = names::function_and_place(&recording.frames, frame);
    let numbers = format!("{number:>12} {share:>8}  ");
    let fork = within(fork, width);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(numbers.chars().count() + fork.chars().count()));
    for (index, line) in wrap::lines(&name, room).iter().enumerate() {
        let (numbers, fork) = match index {
            0 => (numbers.clone(), fork.clone()),
            // The forks that pass by go on beside a name's further lines.
            _ => (" ".repeat(numbers.chars().count()), fork.replace('├', "│").replace('└', " ")),
        };
        text.push_str(&format!("{numbers}{fork}{line}\n"));
    }
    // A row of only children stays on one level: depth is for forks.
    let single = at.children.len() == 1;
    for (index, child) in at.children.iter().enumerate() {
        let last = index + 1 == at.children.len();
        let (next_stem, next_fork) = match (single, last) {
            (true, _) => (stem.to_owned(), format!("{stem}  ")),
            (false, true) => (format!("{stem}  "), format!("{stem}└ ")),
            (false, false) => (format!("{stem}│ "), format!("{stem}├ ")),
        };
        branch(recording, child, sort, total, width, &next_stem, &next_fork, text);
    }
}
