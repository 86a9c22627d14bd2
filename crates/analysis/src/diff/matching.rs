//! Which call site after a change is which one before it.
//!
//! Lines move with every edit, so that call sites are the same if the report calls them the same, but for lines. Several
//! of one name are paired in the order of their lines. Functions of different loaded files are different ones, and so are overloads,
//! until one of them has no other partner: then its file was renamed, or its parameters have changed.

use super::{Found, Identity};
use std::collections::BTreeMap;

type Pair = (Option<Found>, Option<Found>);

/// What two call sites have in common: functions, their loaded files, and type.
type Key = (Vec<String>, Vec<String>, Option<String>);

/// All of both sides, each once.
pub fn pairs(before: Vec<Found>, after: Vec<Found>) -> Vec<Pair> {
    let (mut pairs, mut before, mut after) = (Vec::new(), before, after);
    for are_of_one_file in [true, false] {
        for has_parameters in [true, false] {
            // Compilers change their mind about what they inline; then the first function and the type remain.
            for are_all in [true, false] {
                let key = |identity: &Identity| {
                    let functions = if has_parameters { &identity.functions } else { &identity.names };
                    let most = if are_all { functions.len() } else { 1 };
                    let files = identity.files.iter().take(if are_of_one_file { most } else { 0 });
                    (functions[..most].to_vec(), files.cloned().collect(), identity.kind.clone())
                };
                let (more, left, right) = pass(before, after, key);
                pairs.extend(more);
                (before, after) = (left, right);
            }
        }
    }
    pairs.extend(before.into_iter().map(|found| (Some(found), None)));
    pairs.extend(after.into_iter().map(|found| (None, Some(found))));
    pairs
}

/// Pairs of equal keys, and what has no partner.
fn pass(before: Vec<Found>, after: Vec<Found>, key: impl Fn(&Identity) -> Key) -> (Vec<Pair>, Vec<Found>, Vec<Found>) {
    let mut groups: BTreeMap<Key, [Vec<Found>; 2]> = BTreeMap::new();
    for (side, list) in [before, after].into_iter().enumerate() {
        for found in list {
            groups.entry(key(&found.identity)).or_default()[side].push(found);
        }
    }
    let (mut pairs, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for [mut left, mut right] in groups.into_values() {
        left.sort_by(|a, b| a.identity.lines.cmp(&b.identity.lines));
        right.sort_by(|a, b| a.identity.lines.cmp(&b.identity.lines));
        let partners = align(&left, &right);
        let mut right: Vec<Option<Found>> = right.into_iter().map(Some).collect();
        for (found, partner) in left.into_iter().zip(partners) {
            match partner.and_then(|partner| right[partner].take()) {
                Some(partner) => pairs.push((Some(found), Some(partner))),
                None => before.push(found),
            }
        }
        after.extend(right.into_iter().flatten());
    }
    (pairs, before, after)
}

/// How unlike two call sites are, from 0 to 1.5.
fn unlikeness(before: &Found, after: &Found) -> f64 {
    let (a, b) = (before.allocations(), after.allocations());
    let counts = if a == b { 0.0 } else { (a - b).abs() / a.max(b) };
    let lines = if before.identity.lines == after.identity.lines { 0.0 } else { 0.5 };
    counts + lines
}

/// For each on the left, its partner on the right, in the same order: as many pairs as there can be, and those that are
/// least unlike.
fn align(left: &[Found], right: &[Found]) -> Vec<Option<usize>> {
    if left.len() == right.len() {
        return (0..left.len()).map(Some).collect();
    }
    if left.len() > right.len() {
        let mut partners = vec![None; left.len()];
        for (at, partner) in align(right, left).into_iter().enumerate() {
            if let Some(partner) = partner {
                partners[partner] = Some(at);
            }
        }
        return partners;
    }
    // least[i][j]: of pairs for the first i, among the first j, the least sum of unlikeness.
    let mut least = vec![vec![f64::INFINITY; right.len() + 1]; left.len() + 1];
    least[0].fill(0.0);
    for i in 1..=left.len() {
        for j in i..=right.len() {
            let paired = least[i - 1][j - 1] + unlikeness(&left[i - 1], &right[j - 1]);
            least[i][j] = paired.min(least[i][j - 1]);
        }
    }
    let mut partners = vec![None; left.len()];
    let (mut i, mut j) = (left.len(), right.len());
    while i > 0 {
        while least[i][j - 1] <= least[i][j] && j > i {
            j -= 1;
        }
        (i, j) = (i - 1, j - 1);
        partners[i] = Some(j);
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::qualified_name;
    use crate::priced::Priced;
    use crate::sites::Row;

    fn site(functions: &[&str], kind: &str, line: u32, allocations: u64) -> Found {
        let row = Row {
            frame: None,
            inlined: Vec::new(),
            path: Vec::new(),
            type_name: None,
            element: None,
            label: String::new(),
            of: None,
            ran_in: None,
            images: None,
            nodes: Vec::new(),
            metrics: Priced::default(),
        };
        let identity = Identity {
            functions: functions.iter().map(|function| (*function).to_owned()).collect(),
            names: functions.iter().map(|function| qualified_name(function).to_owned()).collect(),
            files: vec!["app".to_owned(); functions.len()],
            kind: Some(kind.to_owned()),
            lines: vec![Some(line)],
        };
        Found { identity, values: vec![Default::default()], errors: Default::default(), allocations, run: 0, row }
    }

    /// Lines of the pairs.
    fn lines(before: Vec<Found>, after: Vec<Found>) -> Vec<(Option<u32>, Option<u32>)> {
        let line = |found: Option<Found>| found.and_then(|found| found.identity.lines[0]);
        let mut lines: Vec<_> = pairs(before, after).into_iter().map(|(a, b)| (line(a), line(b))).collect();
        lines.sort();
        lines
    }

    #[test]
    fn lines_may_move() {
        let before = vec![site(&["f"], "A", 10, 5), site(&["f"], "A", 20, 900), site(&["g"], "A", 30, 1)];
        let after = vec![site(&["f"], "A", 14, 5), site(&["f"], "A", 24, 7), site(&["g"], "A", 33, 1)];
        assert_eq!(lines(before, after), [(Some(10), Some(14)), (Some(20), Some(24)), (Some(30), Some(33))]);
    }

    #[test]
    fn a_line_more_is_found_by_what_it_does() {
        let before = vec![site(&["f"], "A", 10, 5), site(&["f"], "A", 20, 900)];
        let after = vec![site(&["f"], "A", 11, 5), site(&["f"], "A", 15, 70), site(&["f"], "A", 21, 900)];
        assert_eq!(lines(before, after), [(None, Some(15)), (Some(10), Some(11)), (Some(20), Some(21))]);
        let before = vec![site(&["f"], "A", 10, 5), site(&["f"], "A", 15, 70), site(&["f"], "A", 20, 900)];
        let after = vec![site(&["f"], "A", 12, 900)];
        assert_eq!(lines(before, after), [(Some(10), None), (Some(15), None), (Some(20), Some(12))]);
    }

    #[test]
    fn overloads_are_different_functions() {
        // The overloads have changed places.
        let before = vec![site(&["f(int)"], "A", 10, 5), site(&["f(char)"], "A", 20, 900)];
        let after = vec![site(&["f(char)"], "A", 10, 900), site(&["f(int)"], "A", 20, 5)];
        assert_eq!(lines(before, after), [(Some(10), Some(20)), (Some(20), Some(10))]);
        // One is new, and the other may be inlined.
        let before = vec![site(&["f(int)", "main"], "A", 20, 5)];
        let after = vec![site(&["f(char)", "main"], "A", 10, 5), site(&["f(int)"], "A", 20, 5)];
        assert_eq!(lines(before, after), [(None, Some(10)), (Some(20), Some(20))]);
        // A function whose parameters change is the same.
        let before = vec![site(&["f(int)"], "A", 10, 5)];
        assert_eq!(lines(before, vec![site(&["f(long)"], "A", 12, 5)]), [(Some(10), Some(12))]);
    }

    #[test]
    fn functions_of_different_files_are_different_until_one_is_renamed() {
        let of = |file: &str, line, allocations| {
            let mut site = site(&["f"], "A", line, allocations);
            site.identity.files = vec![file.to_owned()];
            site
        };
        let before = || vec![of("a.so", 10, 5), of("b.so", 10, 900)];
        assert_eq!(lines(before(), vec![of("b.so", 12, 5)]), [(Some(10), None), (Some(10), Some(12))]);
        let of_b = pairs(before(), vec![of("b.so", 12, 5)]).into_iter().find(|(_, after)| after.is_some()).unwrap().0;
        assert_eq!(of_b.unwrap().allocations, 900);
        assert_eq!(lines(vec![of("old", 10, 5)], vec![of("new", 12, 5)]), [(Some(10), Some(12))]);
    }

    #[test]
    fn inlining_may_change_but_not_the_type() {
        let before = vec![site(&["f", "main"], "A", 10, 5), site(&["g"], "A", 20, 5)];
        let after = vec![site(&["f"], "A", 10, 5), site(&["g"], "B", 20, 5)];
        assert_eq!(lines(before, after), [(None, Some(20)), (Some(10), Some(10)), (Some(20), None)]);
    }
}
