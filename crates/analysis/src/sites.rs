//! Sums by what a reader thinks in: lines and functions of the program's own code, call paths, modules, threads,
//! processes, sizes.

use crate::library::{is_library, lost_inlined_frames};
use crate::sums::Sums;
use crate::tariff::Tariff;
use crate::type_name::{element_of, type_of};
use memtoll_model::{Frames, Recording};
use memtoll_trace::summary::Metrics;
use regex::Regex;
use rustc_hash::FxHashMap;

/// What a row stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GroupBy {
    /// A line, its inline chain and the type of the blocks.
    Site,
    /// A function.
    Function,
    /// A function as it was compiled: the one into which the function of the line is inlined.
    CompiledFunction,
    /// A line of a function.
    Line,
    /// A whole call path.
    Path,
    /// A loaded file.
    Module,
    /// A thread of a process. Needs sums split by thread.
    Thread,
    /// A process image.
    Process,
    /// A size of blocks. Needs sums split by size.
    Size,
}

/// By what rows are sorted, largest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortBy {
    /// Number of allocations and reallocations.
    Allocations,
    /// Bytes allocated.
    Bytes,
    /// Share of the peak.
    Peak,
    /// Live bytes.
    Live,
    /// Temporary blocks.
    Temporary,
    /// Mean lifetime.
    Lifetime,
    /// Time that all of it cost.
    Cost,
    /// Page faults.
    Faults,
    /// Time for mappings.
    Mapping,
    /// Time spent waiting inside the allocator.
    Waiting,
}

impl SortBy {
    /// The sorting value.
    pub fn value(self, metrics: &Metrics) -> u64 {
        match self {
            SortBy::Allocations => metrics.allocations + metrics.reallocations,
            SortBy::Bytes => metrics.bytes_allocated,
            SortBy::Peak => metrics.peak_bytes,
            SortBy::Live => metrics.live_bytes,
            SortBy::Temporary => metrics.temporary,
            SortBy::Lifetime => mean_lifetime(metrics),
            SortBy::Cost => metrics.cost,
            SortBy::Faults => metrics.faults + metrics.major_faults + metrics.huge_faults,
            SortBy::Mapping => metrics.mapping_time,
            SortBy::Waiting => metrics.waiting_time,
        }
    }

    /// Whether it is about what things cost, and not about how many or how large they are.
    pub fn is_cost(self) -> bool {
        matches!(self, SortBy::Cost | SortBy::Faults | SortBy::Mapping | SortBy::Waiting)
    }
}

/// Mean lifetime of released blocks, units.
pub fn mean_lifetime(metrics: &Metrics) -> u64 {
    let released = (metrics.allocations + metrics.reallocations).saturating_sub(metrics.live_allocations);
    metrics.lifetime.checked_div(released).unwrap_or(0)
}

/// A group's sums.
#[derive(Clone, Debug)]
pub struct Row {
    /// The leading frame, for groups that have one.
    pub frame: Option<u32>,
    /// Frames into which the leading one is inlined.
    pub inlined: Vec<u32>,
    /// Frames from the allocation outwards, for [`GroupBy::Path`].
    pub path: Vec<u32>,
    /// The type of the blocks, where the names of inlined functions tell it.
    pub type_name: Option<String>,
    /// Size of the elements of a vector, bytes, where [`Row::type_name`] is one and the debug information tells it.
    pub element_size: Option<u64>,
    /// What the row is called, for groups without frames.
    pub label: String,
    /// The sums.
    pub metrics: Metrics,
}

/// How stacks are shown.
#[derive(Default)]
pub struct View {
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Only stacks with a frame whose function, file or module matches.
    pub filter: Option<Regex>,
}

/// A stack as it is shown.
#[derive(Clone, Debug, Default)]
pub struct ShownStack {
    /// Frames from the allocation outwards.
    pub path: Vec<u32>,
    /// How many of `path`, after the first, belong to the first one's inline chain.
    pub inlined: usize,
    /// The type of the blocks.
    pub type_name: Option<String>,
    /// Size of the elements of a vector, bytes.
    pub element_size: Option<u64>,
    /// Whether the filter lets it through.
    pub matches: bool,
}

impl ShownStack {
    /// The frame of the compiled function that holds the first frame's code. There must be one.
    fn compiled(&self) -> u32 {
        self.path[self.inlined]
    }
}

/// Turns stack nodes into stacks, with each question about a frame answered once.
pub struct Stacks<'a> {
    recording: &'a Recording,
    view: &'a View,
    library: Vec<bool>,
    /// See [`lost_inlined_frames`].
    lost_inlined: Vec<bool>,
    matching: Vec<bool>,
    types: Vec<Option<String>>,
    element_sizes: Vec<Option<u64>>,
}

impl<'a> Stacks<'a> {
    /// For the stacks of `recording`.
    pub fn new(recording: &'a Recording, view: &'a View) -> Self {
        let frames = &recording.frames;
        let each = |id: u32| Texts::of(frames, id);
        let ids = 0..frames.len() as u32;
        let library: Vec<bool> = ids.clone().map(each).map(|t| is_library(t.function, t.file, t.module)).collect();
        let lost_inlined = ids.clone().map(each).map(|t| lost_inlined_frames(t.function, t.file)).collect();
        let matches = |texts: Texts| match &view.filter {
            Some(filter) => {
                filter.is_match(texts.function)
                    || filter.is_match(texts.module)
                    || texts.file.is_some_and(|file| filter.is_match(file))
            }
            None => true,
        };
        let matching = ids.clone().map(|id| matches(each(id))).collect();
        let element_size = |id: u32| frames.type_size(frames.frame(id).module, element_of(each(id).function)?);
        let element_sizes = ids.clone().map(|id| if library[id as usize] { element_size(id) } else { None }).collect();
        let types = ids.map(|id| if library[id as usize] { type_of(each(id).function) } else { None }).collect();
        Stacks { recording, view, library, lost_inlined, matching, types, element_sizes }
    }

    /// Whether a frame is a library's.
    pub fn is_library(&self, frame: u32) -> bool {
        self.library[frame as usize]
    }

    /// The stack of a node.
    pub fn of(&self, image: usize, node: u32) -> ShownStack {
        let image = &self.recording.images[image];
        let frames = &self.recording.frames;
        let (nodes, _) = image.stack(node);
        let mut shown = ShownStack { matches: self.view.filter.is_none(), ..ShownStack::default() };
        let mut folded_first = None;
        let mut leads = false;
        for node in nodes {
            let chain = frames.chain(&image.nodes[node as usize]);
            let before = shown.path.len();
            for (place, &frame) in chain.iter().enumerate() {
                let is_compiled = place + 1 == chain.len();
                shown.matches |= self.matching[frame as usize];
                folded_first.get_or_insert(frame);
                if self.library[frame as usize] && !(is_compiled && self.lost_inlined[frame as usize]) {
                    if !leads {
                        // The outermost library function says best what the program asked for.
                        if let Some(name) = &self.types[frame as usize] {
                            shown.type_name = Some(name.clone());
                            shown.element_size = self.element_sizes[frame as usize];
                        }
                    }
                    if !self.view.unfold {
                        continue;
                    }
                } else {
                    leads = true;
                }
                shown.path.push(frame);
            }
            if before == 0 && !shown.path.is_empty() {
                shown.inlined = shown.path.len() - 1;
            }
        }
        if shown.path.is_empty() {
            shown.path.extend(folded_first);
        }
        shown
    }
}

/// The texts of a frame.
pub struct Texts<'a> {
    /// The function's name.
    pub function: &'a str,
    /// The source file.
    pub file: Option<&'a str>,
    /// The line.
    pub line: Option<u32>,
    /// The loaded file.
    pub module: &'a str,
}

impl<'a> Texts<'a> {
    /// Of the frame with this id.
    pub fn of(frames: &'a Frames, id: u32) -> Texts<'a> {
        let frame = frames.frame(id);
        Texts {
            function: frames.text(frame.function),
            file: frame.file.map(|file| frames.text(file)),
            line: frame.line,
            module: frames.text(frame.module),
        }
    }
}

/// What rows of one group have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Site(Vec<u32>, Option<String>),
    Frame(u32),
    Function(u32, u32),
    Text(u32),
    Path(Vec<u32>),
    Split(usize, u64),
}

/// The sums, grouped.
pub fn rows(recording: &Recording, sums: &Sums, view: &View, group: GroupBy) -> Vec<Row> {
    let stacks = Stacks::new(recording, view);
    let mut by_key: FxHashMap<Key, usize> = FxHashMap::default();
    let mut rows: Vec<Row> = Vec::new();
    for image in &sums.images {
        for (node, extra, metrics) in &image.sites {
            let stack = stacks.of(image.image, *node);
            if !stack.matches {
                continue;
            }
            let key = key_of(recording, group, image.image, *extra, &stack);
            let index = *by_key.entry(key).or_insert_with(|| {
                rows.push(new_row(recording, group, image.image, *extra, &stack));
                rows.len() - 1
            });
            rows[index].metrics.add(metrics);
            // Types of one name, from several files, may differ.
            rows[index].element_size = rows[index].element_size.filter(|size| stack.element_size == Some(*size));
        }
    }
    // A cost is that of the sums, not the sum of the costs, of which none is below 0.
    let tariff = Tariff::of(recording);
    rows.iter_mut().for_each(|row| tariff.fill_in(&mut row.metrics));
    rows
}

fn key_of(recording: &Recording, group: GroupBy, image: usize, extra: u64, stack: &ShownStack) -> Key {
    let leading = stack.path.first().copied();
    let frame = leading.map(|id| recording.frames.frame(id));
    match (group, leading, frame) {
        (GroupBy::Process, ..) => Key::Split(image, 0),
        (GroupBy::Thread, ..) => Key::Split(image, extra),
        (GroupBy::Size, ..) => Key::Split(0, extra),
        (GroupBy::Path, ..) => Key::Path(stack.path.clone()),
        (GroupBy::Site, ..) => {
            let chain = stack.path.iter().take(stack.inlined + 1).copied().collect();
            Key::Site(chain, stack.type_name.clone())
        }
        (GroupBy::Function, _, Some(frame)) => Key::Function(frame.function, frame.module),
        (GroupBy::CompiledFunction, Some(_), _) => {
            let frame = recording.frames.frame(stack.compiled());
            Key::Function(frame.function, frame.module)
        }
        (GroupBy::Module, _, Some(frame)) => Key::Text(frame.module),
        (GroupBy::Line, Some(leading), _) => Key::Frame(leading),
        _ => Key::Path(Vec::new()),
    }
}

fn new_row(recording: &Recording, group: GroupBy, image: usize, extra: u64, stack: &ShownStack) -> Row {
    let about = &recording.images[image].about;
    let module = || stack.path.first().map_or("(no stack)", |id| Texts::of(&recording.frames, *id).module);
    let label = match group {
        GroupBy::Process => format!("{} {}", about.pid, about.command.join(" ")),
        GroupBy::Thread => thread_label(recording, image, extra as u32),
        GroupBy::Size => extra.to_string(),
        GroupBy::Module => module().to_owned(),
        _ if stack.path.is_empty() => "(no stack)".to_owned(),
        _ => String::new(),
    };
    let frame = match group {
        GroupBy::Site | GroupBy::Function | GroupBy::Line | GroupBy::Path => stack.path.first().copied(),
        GroupBy::CompiledFunction => (!stack.path.is_empty()).then(|| stack.compiled()),
        _ => None,
    };
    Row {
        frame,
        inlined: match group {
            GroupBy::Site => stack.path.iter().skip(1).take(stack.inlined).copied().collect(),
            _ => Vec::new(),
        },
        path: if group == GroupBy::Path { stack.path.clone() } else { Vec::new() },
        type_name: stack.type_name.clone().filter(|_| group == GroupBy::Site),
        element_size: stack.element_size.filter(|_| group == GroupBy::Site),
        label,
        metrics: Metrics::default(),
    }
}

fn thread_label(recording: &Recording, image: usize, number: u32) -> String {
    let image = &recording.images[image];
    let thread = image.threads.iter().find(|thread| thread.number == number);
    let name = thread.and_then(|thread| thread.name.as_deref());
    let tid = thread.map_or(number, |thread| thread.tid);
    match name {
        Some(name) => format!("{tid} \"{name}\" of process {}", image.about.pid),
        None => format!("{tid} of process {}", image.about.pid),
    }
}

/// Sorts rows, largest first; equal ones by allocations, then in the order of their names.
pub fn sort(rows: &mut [Row], frames: &Frames, by: SortBy) {
    rows.sort_by_cached_key(|row| {
        let name = row.frame.map_or(row.label.clone(), |frame| Texts::of(frames, frame).function.to_owned());
        (std::cmp::Reverse((by.value(&row.metrics), row.metrics.allocations, row.metrics.events)), name)
    });
}
