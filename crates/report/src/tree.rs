//! Call trees as indented text.

use crate::numbers::Numbers;
use crate::section::BOLD;
use crate::{caveats, empty_result, head};
use memtoll_analysis::alike::Alike;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::{Branch, By, Direction, Dropped};
use memtoll_model::Recording;
use memtoll_query::query::TreeQuery;
use memtoll_query::{Answer, Basis, Shown};
use memtoll_text::format;
use memtoll_text::wrap;

/// The tree of an answer to this question, below a line that says what is counted.
pub fn render(answer: &Answer, asked: &TreeQuery, width: Option<usize>) -> String {
    let Basis { recording, sums: Some(sums), .. } = &answer.basis else { return String::new() };
    let (Shown::Tree(tree), Some(sort)) = (&answer.shown, answer.metric) else { return String::new() };
    let (root, direction, min_percent) = (&tree.root, asked.direction, asked.min_percent);
    let total = sort.value(&root.metrics);
    let tariff = answer.basis.tariff;
    if total == 0 || (Numbers { of: &root.metrics, tariff: &tariff }).hides(sort) {
        return empty_result::of(recording, sums, sort);
    }
    let least = ((total as f64 * min_percent / 100.0) as u64).max(1);
    let text = heading(recording, sums, Numbers { of: &root.metrics, tariff: &tariff }, asked, sort, width);
    let alike = answer.alike();
    let mut shown =
        Lines { recording, alike, tariff: &tariff, direction, sort, total: &root.metrics, least, width, text };
    shown.below(root, None);
    if root.has_dropped() {
        let left_out = format!("Branches of less than {min_percent} % are left out; --min-percent 0 shows them");
        shown.text += &format::wrapped("", &left_out, width);
    }
    shown.text + &caveats::folded(answer, width)
}

/// `Callers: 1,500,000 allocations from the allocations outwards; 38.3 % of all match the filter`.
fn heading(
    recording: &Recording,
    sums: &Sums,
    root: Numbers,
    asked: &TreeQuery,
    sort: Metric,
    width: Option<usize>,
) -> String {
    let value = if sort.is_estimated() { root.in_row(sort) } else { root.with_error(sort) };
    let counted = |thing: &str| root.things(sort, thing);
    let what = match sort {
        Metric::Allocations => counted("allocation"),
        Metric::Bytes => format!("{value} asked for"),
        Metric::Peak if sums.are_of_several() => format!("{value} live at the processes' own peaks"),
        Metric::Peak => format!("{value} in blocks at their peak"),
        Metric::Live => format!("{value} {}", head::stays(recording, sums)),
        Metric::Temporary => counted("temporary block"),
        Metric::Lifetime => "mean lifetimes".to_owned(),
        Metric::Cost => format!("{value} of costs"),
        Metric::Faults => counted("page fault"),
        Metric::Mapping => format!("{value} of work on mappings"),
        Metric::Waiting => format!("{value} of waiting"),
        other => format!("{}: {value}", other.about().title),
    };
    let order = match asked.direction {
        Direction::Callees => "Call tree, from main to the allocations",
        Direction::Callers => "Callers, from the allocations outwards",
    };
    let by = match asked.by {
        None => "",
        Some(By::Module) => ", by module",
        Some(By::Type) => ", by type",
    };
    let (matching, all) = (sort.value(root.of), sort.value(&sums.total));
    let filtered = match sort {
        Metric::Lifetime => String::new(),
        _ if matching >= all => String::new(),
        _ => format!(" in stacks that match, {} of all", root.share(sort, &sums.total)),
    };
    let text = format::wrapped("", &format!("{order}{by}: {what}{filtered}"), width);
    text.lines().map(|line| format!("{BOLD}{line}{BOLD:#}\n")).collect()
}

/// A tree that is being written.
struct Lines<'a> {
    recording: &'a Recording,
    alike: &'a Alike,
    tariff: &'a Tariff,
    direction: Direction,
    sort: Metric,
    total: &'a Priced,
    /// Smaller values are not shown.
    least: u64,
    width: Option<usize>,
    text: String,
}

impl Lines<'_> {
    fn line(&mut self, of: &Priced, fork: &str, name: &str) {
        let of = Numbers { of, tariff: self.tariff };
        let number = of.in_row(self.sort);
        let share = match self.sort {
            Metric::Lifetime => String::new(),
            by => of.share(by, self.total),
        };
        let numbers = format!("{number:>12} {share:>8}  ");
        let fork = within(fork, self.width);
        let columns = numbers.chars().count() + fork.chars().count();
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(columns));
        for (index, line) in wrap::lines(name, room).iter().enumerate() {
            let (numbers, fork) = match index {
                0 => (numbers.clone(), fork.clone()),
                // The forks that pass by go on beside a name's further lines.
                _ => (" ".repeat(numbers.chars().count()), fork.replace('├', "│").replace('└', " ")),
            };
            self.text.push_str(&format!("{numbers}{fork}{line}\n"));
        }
    }

    /// The branches below one, and what they leave of its sums. `stem`: the forks that pass by; the root has none.
    fn below(&mut self, at: &Branch, stem: Option<&str>) {
        let rest = self.rest(at);
        // A row of only children stays on one level: depth is for forks.
        let lines = at.children.len() + rest.len();
        let forks = |index: usize| match (stem, index + 1 == lines) {
            (None, _) => (String::new(), String::new()),
            (Some(stem), _) if lines == 1 => (stem.to_owned(), format!("{stem}  ")),
            (Some(stem), true) => (format!("{stem}  "), format!("{stem}└ ")),
            (Some(stem), false) => (format!("{stem}│ "), format!("{stem}├ ")),
        };
        for (index, child) in at.children.iter().enumerate() {
            let name = match (child.frame, &child.label) {
                (Some(frame), _) => names::function_and_place_among(&self.recording.frames, frame, self.alike),
                (None, Some(label)) => label.clone(),
                (None, None) => continue,
            };
            let (next_stem, fork) = forks(index);
            self.line(&child.metrics, &fork, &name);
            self.below(child, Some(&next_stem));
        }
        for (index, (left, name)) in rest.iter().enumerate() {
            self.line(left, &forks(at.children.len() + index).1, name);
        }
    }

    /// What the branches that are shown leave of a branch, so that nothing is missing.
    fn rest(&self, at: &Branch) -> Vec<(Priced, String)> {
        let value = |metrics: &Priced| self.sort.value(metrics);
        let Dropped { branches: smaller, metrics: dropped } = at.dropped();
        let of_branches = at.children.iter().map(|child| &child.metrics).chain([&dropped]);
        let mut rest = Vec::new();
        let has_branches = !at.children.is_empty() || smaller > 0;
        let itself = of_branches.fold(at.metrics, |left, branch| left.without(branch));
        if has_branches && value(&itself) >= self.least {
            let name = match (self.direction, at.frame) {
                (_, None) => "(no stack)",
                (Direction::Callees, _) => "(itself)",
                (Direction::Callers, _) => "(no caller is shown)",
            };
            rest.push((itself, name.to_owned()));
        }
        if smaller > 0 && value(&dropped) >= self.least {
            let branches = format::plural(smaller as u64, "branch", "branches");
            rest.push((dropped, format!("… {} smaller {branches}", format::count(smaller as u64))));
        }
        // Means do not add up.
        rest.retain(|_| self.sort != Metric::Lifetime);
        rest
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
