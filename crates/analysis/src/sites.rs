//! Sums by what a reader thinks in: lines and functions of the program's own code, call paths, modules, threads,
//! processes, sizes.

use crate::container_elements::Element;
use crate::metric::Metric;
use crate::priced::Priced;
use crate::processor::ImageOrThread;
use crate::site_processes::{Images, RanIn};
use crate::stacks::{Leading, Path, Stacks, Texts, TypeNo};
use crate::sums::{Part, Site, Sums};
use crate::thread_filter;
use memtoll_model::{FrameId, Frames, Image, Recording, StackId, TextId};
use memtoll_tally::Split;
use memtoll_text::format;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::meta::Thread;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What a row stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// A line, its inline chain and the type of the blocks.
    Site,
    Function,
    /// A line of a function.
    Line,
    /// A whole call path.
    Path,
    /// A type of the blocks, where inlined functions tell it.
    Type,
    /// A loaded file.
    Module,
    /// A thread of a process.
    Thread,
    /// A process image.
    Process,
    /// A size of blocks.
    Size,
}

impl GroupBy {
    /// All that a reader can group by.
    pub const OF_TABLES: [GroupBy; 9] = [
        GroupBy::Site,
        GroupBy::Function,
        GroupBy::Line,
        GroupBy::Path,
        GroupBy::Type,
        GroupBy::Module,
        GroupBy::Thread,
        GroupBy::Process,
        GroupBy::Size,
    ];

    /// What JSON calls it.
    pub fn name(self) -> &'static str {
        match self {
            GroupBy::Site => "site",
            GroupBy::Function => "function",
            GroupBy::Line => "line",
            GroupBy::Path => "path",
            GroupBy::Type => "type",
            GroupBy::Module => "module",
            GroupBy::Thread => "thread",
            GroupBy::Process => "process",
            GroupBy::Size => "size",
        }
    }

    /// How the sums must be split that are grouped so.
    pub fn split(self) -> Split {
        match self {
            GroupBy::Thread => Split::Thread,
            GroupBy::Process => Split::Process,
            GroupBy::Size => Split::Size,
            _ => Split::None,
        }
    }
}

/// A group's sums.
#[derive(Clone, Default, Debug)]
pub struct Row {
    /// The leading frame, for groups that have one.
    pub frame: Option<FrameId>,
    /// Frames into which the leading one is inlined.
    pub inlined: Vec<FrameId>,
    /// Frames from the allocation outwards, for [`GroupBy::Path`].
    pub path: Vec<FrameId>,
    /// The type of the blocks, where the names of inlined functions tell it.
    pub type_name: Option<String>,
    /// The elements, where [`Row::type_name`] is a container of them and the debug information tells their size.
    pub element: Option<Element>,
    /// What the row is called, for groups without frames.
    pub label: String,
    /// Whose sums they are, for [`GroupBy::Thread`] and [`GroupBy::Process`].
    pub of: Option<ImageOrThread>,
    /// The processes that it ran in, where several count.
    pub ran_in: Option<RanIn>,
    /// All processes that it ran in, as far as they are kept apart.
    pub images: Option<Images>,
    /// The stack nodes that it is about, for groups of stacks.
    pub nodes: Vec<StackId>,
    /// The sums.
    pub metrics: Priced,
}

/// What rows of one group have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// Of a path, and the type of the blocks.
    Path(Path, Option<TypeNo>),
    Frame(Option<FrameId>),
    Function(Option<(TextId, TextId)>),
    Type(Option<TypeNo>),
    Module(Option<TextId>),
    Part(Part),
}

/// The sums, grouped. They must be split as the group needs it ([`GroupBy::split`]).
pub fn rows(stacks: &mut Stacks, sums: &Sums, group: GroupBy) -> Vec<Row> {
    rows_where(stacks, sums, group, |_| true)
}

/// The same of some of the sums.
pub fn rows_where(stacks: &mut Stacks, sums: &Sums, group: GroupBy, admits: impl Fn(&Site) -> bool) -> Vec<Row> {
    rows_by(stacks, sums, group, admits, |stacks, site, leading| key_of(stacks, group, site, leading))
}

/// The call paths of some of the sums. For few: the outer callers of each are looked at again.
pub(crate) fn paths_where(stacks: &mut Stacks, sums: &Sums, admits: impl Fn(&Site) -> bool) -> Vec<Row> {
    rows_by(stacks, sums, GroupBy::Path, admits, |stacks, site, _| Key::Path(stacks.path_once(site.node), None))
}

fn rows_by(
    stacks: &mut Stacks,
    sums: &Sums,
    group: GroupBy,
    admits: impl Fn(&Site) -> bool,
    mut key_of: impl FnMut(&mut Stacks, &Site, &Leading) -> Key,
) -> Vec<Row> {
    let is_split = sums.selection.split != Split::None;
    let mut by_key: FxHashMap<Key, usize> = FxHashMap::default();
    let mut rows: Vec<Row> = Vec::new();
    for site in sums.sites.iter().filter(&admits) {
        let stack = stacks.leading(site.node);
        // Where sums are split, those of stacks that do not match are left out already.
        if !stack.matches && !is_split {
            continue;
        }
        let index = *by_key.entry(key_of(stacks, &site, &stack)).or_insert_with(|| {
            rows.push(new_row(stacks, group, &site, &stack));
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.images.get_or_insert(site.images).add(site.images);
        site.add_to(&mut row.metrics);
        if site.part == Part::All {
            row.nodes.push(site.node);
        }
        // Types of one name, from several files, may differ.
        row.element = row.element.filter(|element| stacks.element(&stack) == Some(*element));
    }
    if !is_split {
        rows.iter_mut().for_each(|row| row.tell_where_it_ran(sums));
    }
    rows
}

impl Row {
    fn tell_where_it_ran(&mut self, sums: &Sums) {
        self.ran_in = self.images.zip(sums.counting).and_then(|(own, all)| sums.programs.told(own, all));
    }
}

/// Rows of functions as they were compiled, from those of call sites ([`GroupBy::Site`]): of the functions into which the
/// sites' lines are inlined.
pub fn compiled_functions(frames: &Frames, sums: &Sums, sites: &[Row]) -> Vec<Row> {
    let mut by_function: FxHashMap<Option<(TextId, TextId)>, usize> = FxHashMap::default();
    let mut rows: Vec<Row> = Vec::new();
    for site in sites {
        let frame = site.inlined.last().copied().or(site.frame);
        let function = frame.map(|frame| frames.frame(frame)).map(|frame| (frame.function, frame.module));
        let index = *by_function.entry(function).or_insert_with(|| {
            rows.push(Row { frame, label: site.label.clone(), images: site.images, ..Row::default() });
            rows.len() - 1
        });
        let row = &mut rows[index];
        row.metrics.add(&site.metrics);
        row.nodes.extend(&site.nodes);
        row.images = row.images.zip(site.images).map(|(mut images, more)| {
            images.add(more);
            images
        });
    }
    rows.iter_mut().for_each(|row| row.tell_where_it_ran(sums));
    rows
}

/// The rows of call sites ([`GroupBy::Site`]) without those of some stacks.
pub fn rows_without(stacks: &mut Stacks, sums: &Sums, sites: &[Row], without: impl Fn(StackId) -> bool) -> Vec<Row> {
    let mut rows = sites.to_vec();
    let mut changed: FxHashMap<StackId, usize> = FxHashMap::default();
    for (index, row) in rows.iter_mut().enumerate() {
        let all = row.nodes.len();
        row.nodes.retain(|node| !without(*node));
        if row.nodes.len() < all {
            changed.extend(row.nodes.iter().map(|node| (*node, index)));
            row.metrics = Priced::default();
        }
    }
    // What is left of those that are not complete.
    let is_left = |site: &Site| changed.contains_key(&site.node);
    for row in if changed.is_empty() { Vec::new() } else { rows_where(stacks, sums, GroupBy::Site, is_left) } {
        if let Some(index) = row.nodes.first().and_then(|node| changed.get(node)) {
            rows[*index] = row;
        }
    }
    rows.retain(|row| !row.nodes.is_empty());
    rows
}

fn key_of(stacks: &mut Stacks, group: GroupBy, site: &Site, stack: &Leading) -> Key {
    let frame = || stacks.first(stack.leading);
    let parts = || frame().map(|id| stacks.recording().frames.frame(id));
    match group {
        GroupBy::Process | GroupBy::Thread | GroupBy::Size => Key::Part(site.part),
        GroupBy::Path => Key::Path(stacks.of(site.node).path, None),
        GroupBy::Site => Key::Path(stack.leading, stacks.type_of(stack)),
        GroupBy::Function => Key::Function(parts().map(|frame| (frame.function, frame.module))),
        GroupBy::Type => Key::Type(stacks.type_of(stack)),
        GroupBy::Module => Key::Module(parts().map(|frame| frame.module)),
        GroupBy::Line => Key::Frame(frame()),
    }
}

fn new_row(stacks: &mut Stacks, group: GroupBy, site: &Site, stack: &Leading) -> Row {
    let recording = stacks.recording();
    let part = site.part;
    let mut path = Vec::new();
    if group == GroupBy::Path {
        stacks.list(site.node, &mut path);
    }
    let frame = stacks.first(stack.leading);
    let label = match part {
        Part::Process(image) => {
            let of = |image: &Image| format!("{} {}", image.about.pid, thread_filter::command(image));
            of(&recording.images[image]) + &again(recording, image, of)
        }
        Part::Thread(image, number) => thread_label(recording, image, number),
        Part::Size(size) => size.to_string(),
        Part::All if group == GroupBy::Type => type_label(stacks, stack).to_owned(),
        Part::All if group == GroupBy::Module => module_label(&recording.frames, frame).to_owned(),
        Part::All if frame.is_none() => NO_STACK.to_owned(),
        Part::All => String::new(),
    };
    let of_site = group == GroupBy::Site;
    Row {
        frame: frame.filter(|_| part == Part::All && !matches!(group, GroupBy::Module | GroupBy::Type)),
        inlined: if of_site { stacks.frames(stack.leading).into_iter().skip(1).collect() } else { Vec::new() },
        path,
        type_name: stacks.type_of(stack).filter(|_| of_site).map(|number| stacks.type_name(number).to_owned()),
        element: stacks.element(stack).filter(|_| of_site),
        label,
        of: match part {
            Part::Process(image) => Some(ImageOrThread { image, thread: None }),
            Part::Thread(image, thread) => thread.map(|thread| ImageOrThread { image, thread: Some(thread) }),
            Part::Size(_) | Part::All => None,
        },
        ran_in: None,
        images: None,
        nodes: Vec::new(),
        metrics: Priced::default(),
    }
}

/// What a row is called that no frame leads.
const NO_STACK: &str = "(no stack)";

/// The type of a stack's blocks.
pub(crate) fn type_label<'s>(stacks: &'s Stacks, stack: &Leading) -> &'s str {
    stacks.type_of(stack).map_or("(type unknown)", |number| stacks.type_name(number))
}

/// The loaded file of the frame that leads.
pub(crate) fn module_label(frames: &Frames, frame: Option<FrameId>) -> &str {
    frame.map_or(NO_STACK, |id| Texts::of(frames, id).shown_module)
}

/// `25036 "worker" of process 25027 (server)`; `threads without calls of process 25027 (server)`, which the recorder does not know.
fn thread_label(recording: &Recording, index: usize, number: Option<ThreadNo>) -> String {
    let image = &recording.images[index];
    let who = match number.map(|number| image.thread(number).ok_or(number)) {
        // What stands for one, such as blocks from before.
        Some(Ok(Thread { tid: 0, name: Some(name), .. })) => name.clone(),
        Some(Ok(Thread { tid, name: Some(name), .. })) => format!("{tid} \"{name}\""),
        Some(Ok(Thread { tid, name: None, .. })) => tid.to_string(),
        Some(Err(number)) => number.to_string(),
        None => "threads without calls".to_owned(),
    };
    let of = |image: &Image| format!("process {} ({})", image.about.pid, thread_filter::program(image));
    format!("{who} of {}{}", of(image), again(recording, index, of))
}

/// ` (no. 2)` of what is called like something that its process was before: it executed the same again. ` (from 24.5 ms)` where
/// another process that had its id is called the same.
fn again(recording: &Recording, image: usize, called: impl Fn(&Image) -> String) -> String {
    let images = &recording.images;
    let before = |index: &usize| images[*index].previous;
    let name = called(&images[image]);
    let earlier = std::iter::successors(before(&image), before);
    let number = match earlier.filter(|index| called(&images[*index]) == name).count() {
        0 => String::new(),
        count => format!(" (no. {})", count + 1),
    };
    let of = &images[image];
    let is_like_it =
        |other: &Image| other.about.pid == of.about.pid && other.process != of.process && called(other) == name;
    if !(of.shares_id && images.iter().any(is_like_it)) {
        return number;
    }
    let began = recording.about.clock.seconds(of.about.began);
    format!("{number} (from {})", format::seconds(began))
}

/// What rows have together.
pub fn together(rows: &[Row]) -> Priced {
    let mut together = Priced::default();
    rows.iter().for_each(|row| together.add(&row.metrics));
    together
}

/// Sorts rows, largest first; equal ones by allocations, then in the order of their names.
pub fn sort(rows: &mut [Row], frames: &Frames, by: Metric) {
    let value = |row: &Row| (by.value(&row.metrics), row.metrics.allocations(), row.metrics.events);
    rows.sort_by(|a, b| value(b).cmp(&value(a)).then_with(|| name_of(a, frames).cmp(name_of(b, frames))));
}

fn name_of<'a>(row: &'a Row, frames: &'a Frames) -> &'a str {
    row.frame.map_or(&row.label, |frame| Texts::of(frames, frame).function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    #[test]
    fn processes_that_share_an_id_and_a_name_are_told_apart() {
        let mut recording = golden("forks");
        recording.images.iter_mut().for_each(|image| (image.about.pid, image.shares_id) = (7, true));
        let name = |index: usize| again(&recording, index, |image| image.about.pid.to_string());
        assert!(recording.images.len() > 1 && recording.images[1].process == 1);
        assert_ne!(name(0), name(1));
        assert!([0, 1].iter().all(|index| name(*index).starts_with(" (from ")), "{} {}", name(0), name(1));
    }
}
