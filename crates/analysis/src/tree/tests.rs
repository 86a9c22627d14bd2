use super::*;
use crate::library::qualified_name;
use crate::sites::{GroupBy, rows};
use crate::stacks::View;
use crate::sums::sums;
use crate::testing::golden;
use memtoll_model::{FrameId, Recording};
use memtoll_tally::Selection;
use memtoll_trace::ids::Units;
use std::collections::{BTreeMap, BTreeSet};

/// A stack from the root of a tree on, and its sums.
type Listed = (Vec<FrameId>, Priced);

fn recordings() -> Vec<Recording> {
    ["costs", "forks", "tiny"].map(golden).into()
}

/// The stacks of a part, in the plainest way.
fn listed(stacks: &mut Stacks, sums: &Sums, direction: Direction, function: Option<&str>) -> Vec<Listed> {
    let mut all = Vec::new();
    for site in &sums.sites {
        let stack = stacks.of(site.node);
        let mut path = stacks.frames(stack.path);
        if let Some(function) = function {
            let frames = &stacks.recording().frames;
            let is_it = |frame: &FrameId| qualified_name(frames.text(frames.frame(*frame).function)) == function;
            match (path.iter().rposition(is_it), direction) {
                (None, _) => continue,
                (Some(at), Direction::Callees) => path.truncate(at + 1),
                (Some(at), Direction::Callers) => drop(path.drain(..at)),
            }
        }
        if direction == Direction::Callees {
            path.reverse();
        }
        all.push((path, site.metrics()));
    }
    all
}

fn sum<'l>(of: impl Iterator<Item = &'l Listed>) -> Priced {
    of.fold(Priced::default(), |mut sum, (_, metrics)| {
        sum.add(metrics);
        sum
    })
}

/// Compares a branch and what is below it with the stacks whose first frames lead to it.
fn check(branch: &Branch, path: &mut Vec<FrameId>, all: &[Listed], names: &mut FrameNames, least: u64) {
    let same = |frame: FrameId, other: FrameId, names: &mut FrameNames| names.key(frame) == names.key(other);
    let mut through: Vec<Listed> = all.to_vec();
    through.retain(|(of, _)| of.len() >= path.len() && path.iter().zip(of).all(|(a, b)| same(*a, *b, names)));
    assert_eq!(branch.metrics, sum(through.iter()), "{path:?}");
    let nexts: Vec<FrameId> = through.iter().filter_map(|(of, _)| of.get(path.len()).copied()).collect();
    let names_of_next: BTreeSet<Key> = nexts.iter().map(|frame| names.key(*frame)).collect();
    if branch.has_more {
        assert!(branch.children.is_empty() && !nexts.is_empty());
        return;
    }
    let mut children = Priced::default();
    let mut small = Priced::default();
    for name in &names_of_next {
        let of_child =
            through.iter().filter(|(of, _)| of.get(path.len()).is_some_and(|frame| names.key(*frame) == *name));
        let metrics = sum(of_child);
        let is_there = branch.children.iter().any(|child| child.key == branch.key.with_key(*name));
        let value = metrics.new_blocks;
        assert_eq!(is_there, value >= least, "{path:?}: {value} of {least}");
        if is_there {
            children.add(&metrics);
        } else if value > 0 {
            small.add(&metrics);
        }
    }
    assert_eq!(branch.dropped().metrics, small);
    assert_eq!(branch.dropped().branches == 0, small == Priced::default());
    assert_eq!(sum(branch.children.iter().map(|child| (vec![], child.metrics)).collect::<Vec<_>>().iter()), children);
    for child in &branch.children {
        path.push(child.frame.unwrap());
        check(child, path, all, names, least);
        path.pop();
    }
}

fn functions(recording: &Recording) -> Vec<Option<String>> {
    let frames = &recording.frames;
    let name = |id: FrameId| qualified_name(frames.text(frames.frame(id).function)).to_owned();
    let all: BTreeSet<String> = frames.ids().map(name).collect();
    std::iter::once(None).chain(all.into_iter().map(Some)).collect()
}

#[test]
fn branches_have_the_sums_of_the_stacks_through_them() {
    let mut trees = 0;
    for recording in recordings() {
        let sums = sums(&recording, Selection::default());
        for unfold in [false, true] {
            let mut stacks = Stacks::new(&recording, &View { unfold, ..View::default() });
            for function in functions(&recording) {
                let function = function.as_deref();
                for direction in [Direction::Callees, Direction::Callers] {
                    let all = listed(&mut stacks, &sums, direction, function);
                    let part = Part { function, ..Part::whole(direction) };
                    let Some(root) = part_of_tree(&mut stacks, &sums, &part) else {
                        assert!(all.is_empty(), "{function:?}");
                        continue;
                    };
                    let mut names = FrameNames::new(&recording.frames, None);
                    check(&root, &mut Vec::new(), &all, &mut names, 0);
                    let value = |of: &Priced| of.new_blocks;
                    let limit = Some(Limit { value: &value, share: 0.2, most: usize::MAX });
                    let root = part_of_tree(&mut stacks, &sums, &Part { limit, ..part }).unwrap();
                    let least = ((root.metrics.new_blocks as f64 * 0.2) as u64).max(1);
                    check(&root, &mut Vec::new(), &all, &mut names, least);
                    trees += 1;
                }
            }
        }
    }
    assert!(trees > 50, "{trees}");
}

/// The branches level by level, as they are below their callers, and what is dropped of each.
fn level_by_level(root: &Branch) -> Vec<(Key, u64, u64)> {
    let mut open = vec![root];
    let mut at = 0;
    while let Some(branch) = open.get(at).copied() {
        open.extend(&branch.children);
        at += 1;
    }
    let mut found: Vec<_> =
        open.into_iter().map(|branch| (branch.key, branch.metrics.bytes.0, branch.dropped().metrics.bytes.0)).collect();
    found.sort_unstable();
    found
}

#[test]
fn single_numbers_add_up_to_those_of_all_sums() {
    let mut dropped = 0;
    for recording in recordings() {
        let sums = sums(&recording, Selection::default());
        let mut stacks = Stacks::new(&recording, &View { unfold: true, ..View::default() });
        let value = |of: &Priced| of.new_blocks;
        for direction in [Direction::Callees, Direction::Callers] {
            for (by, share) in [(None, 0.1), (Some(By::Module), 0.0), (Some(By::Type), 0.3)] {
                let limit = Some(Limit { value: &value, share, most: 40 });
                let part = Part { by, limit, ..Part::whole(direction) };
                let root = part_of_tree(&mut stacks, &sums, &part).unwrap();
                let both = |of: &Priced| [of.new_blocks as f64, of.bytes.0 as f64];
                let outline = outline(&mut stacks, &sums, &part, both).unwrap();
                let added = outline.add_up(2, |both| *both);
                let blocks = |sums: &[f64]| sums[0];
                assert_eq!(blocks(added.of_branch(0)), root.metrics.new_blocks as f64);
                let bytes = |sums: &[f64]| sums[1] as u64;
                let row = |(number, twig): (usize, &Twig)| {
                    (twig.key, bytes(added.of_branch(number)), bytes(added.of_dropped(number)))
                };
                let mut alone: Vec<_> = outline.branches().iter().enumerate().map(row).collect();
                alone.sort_unstable();
                assert_eq!(alone, level_by_level(&root));
                let labels = |number: usize| outline.branches()[number].label.clone();
                let of_root = outline.branches().iter().enumerate().skip(1).filter(|(_, twig)| twig.parent == 0);
                let of_root: Vec<_> = of_root.map(|(number, _)| labels(number)).collect();
                assert_eq!(of_root, root.children.iter().map(|child| child.label.clone()).collect::<Vec<_>>());
                dropped += alone.iter().filter(|(.., rest)| *rest > 0).count();
            }
        }
    }
    assert!(dropped > 5, "{dropped}");
}

fn deepest(root: &Branch) -> Vec<&Branch> {
    let mut path = vec![];
    let mut at = root;
    while let Some(child) = at.children.last() {
        path.push(child);
        at = child;
    }
    path
}

#[test]
fn a_part_is_the_same_as_in_the_whole() {
    for recording in recordings() {
        let sums = sums(&recording, Selection::default());
        let mut stacks = Stacks::new(&recording, &View { unfold: true, ..View::default() });
        for direction in [Direction::Callees, Direction::Callers] {
            let whole = call_tree(&mut stacks, &sums, direction);
            let path = deepest(&whole);
            assert!(path.len() > 2);
            let trail: Vec<Key> = path.iter().map(|branch| branch.key).collect();
            for level in 0..trail.len() {
                for below in [Below::Branch(trail[level]), Below::Trail(&trail[..=level])] {
                    let part = Part { below: Some(below), depth: Some(1), ..Part::whole(direction) };
                    let found = part_of_tree(&mut stacks, &sums, &part).unwrap();
                    let expected = path[level];
                    assert_eq!(
                        (found.key, found.frame, found.metrics),
                        (expected.key, expected.frame, expected.metrics)
                    );
                    let keys =
                        |of: &Branch| of.children.iter().map(|child| (child.key, child.metrics)).collect::<Vec<_>>();
                    assert_eq!(keys(&found), keys(expected));
                    for (child, whole) in found.children.iter().zip(&expected.children) {
                        assert_eq!((child.children.len(), child.has_more), (0, !whole.children.is_empty()));
                    }
                }
            }
            let nowhere = Key::EMPTY.with("no such branch");
            for below in [Below::Branch(nowhere), Below::Trail(&[nowhere])] {
                assert!(
                    part_of_tree(&mut stacks, &sums, &Part { below: Some(below), ..Part::whole(direction) }).is_none()
                );
            }
        }
    }
}

/// All branches below one, by the frames that lead there.
fn flattened(branch: &Branch, all: &mut Vec<(Vec<FrameId>, Priced)>, path: &mut Vec<FrameId>) {
    for child in &branch.children {
        path.push(child.frame.unwrap());
        all.push((path.clone(), child.metrics));
        flattened(child, all, path);
        path.pop();
    }
}

#[test]
fn trees_of_modules_and_types_are_the_tables_and_add_up_to_the_whole_tree() {
    let mut labels = BTreeSet::new();
    for recording in recordings() {
        let sums = sums(&recording, Selection::default());
        for (by, group) in [(By::Module, GroupBy::Module), (By::Type, GroupBy::Type)] {
            let mut stacks = Stacks::new(&recording, &View::default());
            let mut table: Vec<(String, Priced)> =
                rows(&mut stacks, &sums, group).into_iter().map(|row| (row.label, row.metrics)).collect();
            table.sort_by(|a, b| a.0.cmp(&b.0));
            labels.extend(table.iter().map(|(label, _)| label.clone()));
            for direction in [Direction::Callees, Direction::Callers] {
                let whole = call_tree(&mut stacks, &sums, direction);
                let part = Part { by: Some(by), ..Part::whole(direction) };
                let tree = part_of_tree(&mut stacks, &sums, &part).unwrap();
                assert_eq!(tree.metrics, whole.metrics);
                let mut found: Vec<(String, Priced)> =
                    tree.children.iter().map(|child| (child.label.clone().unwrap(), child.metrics)).collect();
                found.sort_by(|a, b| a.0.cmp(&b.0));
                assert_eq!(found, table, "{by:?} {direction:?}");
                let name = |path: Vec<FrameId>| -> Vec<Key> {
                    path.into_iter().map(|frame| Key::of_frame(&recording.frames, frame)).collect()
                };
                // All groups together have the branches of the tree without groups.
                let mut expected: BTreeMap<Vec<Key>, Priced> = BTreeMap::new();
                let mut all = Vec::new();
                flattened(&whole, &mut all, &mut Vec::new());
                expected.extend(all.into_iter().map(|(path, metrics)| (name(path), metrics)));
                let mut together: BTreeMap<Vec<Key>, Priced> = BTreeMap::new();
                for child in &tree.children {
                    assert!(child.frame.is_none());
                    let mut all = Vec::new();
                    flattened(child, &mut all, &mut Vec::new());
                    all.into_iter().for_each(|(path, metrics)| together.entry(name(path)).or_default().add(&metrics));
                    // Opened by its key, and by what it is called.
                    let trail = [Key::EMPTY.with_key(Key::EMPTY.with(child.label.as_deref().unwrap()))];
                    for below in [Below::Branch(child.key), Below::Trail(&trail)] {
                        let opened = part_of_tree(&mut stacks, &sums, &Part { below: Some(below), ..part }).unwrap();
                        assert_eq!((&opened.label, opened.metrics), (&child.label, child.metrics));
                        assert_eq!(opened.children.len(), child.children.len());
                    }
                }
                assert_eq!(together, expected, "{by:?} {direction:?}");
            }
        }
    }
    assert!(labels.len() > 3, "{labels:?}");
}

#[test]
fn the_largest_branches_are_there_if_not_all_can_be() {
    let recording = recordings().remove(0);
    let sums = sums(&recording, Selection::default());
    let mut stacks = Stacks::new(&recording, &View { unfold: true, ..View::default() });
    let value = |of: &Priced| of.new_blocks;
    let mut of = |most| {
        let limit = Some(Limit { value: &value, share: 0.0, most });
        part_of_tree(&mut stacks, &sums, &Part { limit, ..Part::whole(Direction::Callers) }).unwrap()
    };
    let all = of(usize::MAX);
    let mut sizes: Vec<u64> = all.children.iter().map(|child| child.metrics.new_blocks).collect();
    assert!(sizes.len() > 1 && sizes.is_sorted_by(|a, b| a >= b) && sizes.last() > Some(&0), "{sizes:?}");
    let few = of(1);
    let kept: Vec<u64> = few.children.iter().map(|child| child.metrics.new_blocks).collect();
    assert_eq!((kept.as_slice(), few.dropped().branches), (&sizes[..1], sizes.len() - 1));
    assert_eq!(few.dropped().metrics.new_blocks, sizes.drain(1..).sum::<u64>());
    assert_eq!(few.metrics, all.metrics);
    assert!(few.children.iter().all(|child| child.children.is_empty()));
    assert!(few.children.iter().any(|child| child.has_more));
}

/// A tree of which only some branches are grown is the whole one, with other branches as leaves that have the sums of what is
/// below them.
#[test]
fn branches_that_are_not_grown_are_leaves() {
    fn cut(branch: &Branch, grown: &FxHashSet<Key>, is_root: bool, leaves: &mut usize) -> Vec<(Key, Priced)> {
        let mut all = vec![(branch.key, branch.metrics)];
        if is_root || grown.contains(&branch.key) {
            all.extend(branch.children.iter().flat_map(|child| cut(child, grown, false, leaves)));
        } else {
            *leaves += usize::from(!branch.children.is_empty());
        }
        all
    }
    fn keys(branch: &Branch) -> Vec<Key> {
        std::iter::once(branch.key).chain(branch.children.iter().flat_map(keys)).collect()
    }
    let mut leaves = 0;
    for recording in recordings() {
        let sums = sums(&recording, Selection::default());
        for direction in [Direction::Callees, Direction::Callers] {
            let mut stacks = Stacks::new(&recording, &View { unfold: true, ..View::default() });
            let whole = call_tree(&mut stacks, &sums, direction);
            let grown: FxHashSet<Key> = keys(&whole).into_iter().step_by(2).collect();
            let part = Part { grown: Some(&grown), ..Part::whole(direction) };
            let part = part_of_tree(&mut stacks, &sums, &part).unwrap();
            let everything: FxHashSet<Key> = keys(&part).into_iter().collect();
            assert_eq!(cut(&part, &everything, true, &mut 0), cut(&whole, &grown, true, &mut leaves), "{direction:?}");
        }
    }
    assert!(leaves > 10, "{leaves}");
}

/// Branches by their keys, without those that have no sums.
fn by_key(branch: &Branch, all: &mut BTreeMap<Key, Priced>) {
    if branch.metrics != Priced::default() {
        assert!(all.insert(branch.key, branch.metrics).is_none());
    }
    branch.children.iter().for_each(|child| by_key(child, all));
}

#[test]
fn a_shape_adds_up_what_trees_have() {
    let (mut branches, mut taken_over) = (0, 0);
    for recording in recordings() {
        let whole = sums(&recording, Selection::default());
        let mut stacks = Stacks::new(&recording, &View::default());
        let tree = call_tree(&mut stacks, &whole, Direction::Callees);
        let mut keys = BTreeMap::new();
        by_key(&tree, &mut keys);
        let some = |left_out: usize| -> FxHashSet<Key> {
            let stay = keys.keys().enumerate().filter(|(at, _)| at % 4 != left_out).map(|(_, key)| *key);
            stay.chain([tree.key]).collect()
        };
        for grown in [None, Some(some(1)), Some(some(2)), Some(some(3))] {
            let shape = Shape::new(&mut stacks, &whole, grown.as_ref());
            let callers: Vec<usize> = shape.branches().map(|(caller, ..)| caller).collect();
            assert!(callers.iter().enumerate().skip(1).all(|(number, caller)| *caller < number));
            let key_of: Vec<Key> = shape.branches().map(|(.., key)| key).collect();
            for half in [0, recording.ended() / 2] {
                let selection = Selection { from: Units(half), ..Selection::default() };
                let part = sums(&recording, selection);
                let (mut found, mut all) = (BTreeMap::new(), vec![Priced::default(); key_of.len()]);
                shape.each(&part, |branch, sums, same| {
                    all[branch] = *sums;
                    if let Some(same) = same {
                        assert_eq!((callers[same], all[same]), (branch, *sums));
                        taken_over += 1;
                    }
                    if *sums != Priced::default() {
                        assert!(found.insert(key_of[branch], *sums).is_none());
                    }
                });
                assert_eq!(shape.root(&part), all[0]);
                let of_part = Part { grown: grown.as_ref(), ..Part::whole(Direction::Callees) };
                let mut expected = BTreeMap::new();
                by_key(&part_of_tree(&mut stacks, &part, &of_part).unwrap(), &mut expected);
                assert_eq!(found, expected);
                branches += found.len();
            }
        }
    }
    assert!(branches > 100 && taken_over > 20, "{branches}, {taken_over}");
}
