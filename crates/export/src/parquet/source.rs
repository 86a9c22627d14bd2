//! What the tables are made from.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::stacks::{Path, PathKeys, Stacks, Texts};
use memtoll_analysis::sums::Sums;
use memtoll_model::{FrameId, Recording, StackId};
use memtoll_query::{Answer, Shown};
use parquet::data_type::ByteArray;
use rustc_hash::FxHashMap;

/// An answer, with the numbers that tables give to its stacks and frames.
pub struct Source<'a, 'r> {
    /// The answer.
    pub answer: &'a Answer<'r>,
    /// Its sums.
    pub sums: &'a Sums,
    /// The run.
    pub run_id: ByteArray,
    /// Its stacks.
    pub stacks: Ids<'r>,
}

impl<'a, 'r> Source<'a, 'r> {
    /// Of an answer; nothing if it has no sums.
    pub fn of(answer: &'a Answer<'r>) -> Option<Source<'a, 'r>> {
        let sums = answer.basis.sums.as_ref()?;
        let run_id = ByteArray::from(memtoll_query::run_id(answer.basis.recording).as_str());
        Some(Source { answer, sums, run_id, stacks: Ids::of(answer) })
    }

    /// The recording.
    pub fn recording(&self) -> &'r Recording {
        self.answer.basis.recording
    }

    /// Units of the recording's clock as ns.
    pub fn ns(&self, units: u64) -> i64 {
        self.answer.basis.tariff.ns(units as f64) as i64
    }
}

/// A stack of the tables: a path that is shown, of one call site.
pub struct Stack {
    /// A node that has it.
    pub node: StackId,
    /// Its call site's place in the answer's table; `None`: it has no sums.
    pub site: Option<usize>,
    /// What is shown of it.
    pub path: Path,
    /// The type of its blocks.
    pub type_name: Option<String>,
}

/// A frame of the tables.
pub struct Frame {
    /// Its place in [`memtoll_model::Frames`].
    pub frame: FrameId,
    /// Whether it is inlined into the frame behind it.
    pub is_inlined: bool,
}

/// Stacks and frames, numbered in the order in which they are met.
pub struct Ids<'r> {
    recording: &'r Recording,
    shown: Stacks<'r>,
    sites: FxHashMap<StackId, usize>,
    /// By node, once it was asked for: the number of its stack.
    by_node: Vec<Option<Option<u32>>>,
    numbers: FxHashMap<(Option<usize>, Path), u32>,
    stacks: Vec<Stack>,
    frames: Vec<Frame>,
    /// By frame: its number, and the one that it has where it is inlined.
    frame_numbers: Vec<[Option<i64>; 2]>,
    keys: PathKeys,
    /// For [`Ids::frames_of`].
    listed: Vec<(FrameId, bool)>,
}

impl<'r> Ids<'r> {
    fn of(answer: &Answer<'r>) -> Ids<'r> {
        let recording = answer.basis.recording;
        let mut sites = FxHashMap::default();
        if let Shown::Table(table) = &answer.shown {
            for (site, row) in table.sites.iter().enumerate() {
                sites.extend(row.row.nodes.iter().map(|node| (*node, site)));
            }
        }
        Ids {
            recording,
            shown: Stacks::new(recording, &answer.basis.view),
            sites,
            by_node: vec![None; recording.stacks.len()],
            numbers: FxHashMap::default(),
            stacks: Vec::new(),
            frames: Vec::new(),
            frame_numbers: vec![[None; 2]; recording.frames.len()],
            keys: PathKeys::default(),
            listed: Vec::new(),
        }
    }

    /// The number of a node's stack; `None` if the filter does not let it through.
    pub fn of_node(&mut self, node: StackId) -> Option<u32> {
        if let Some(known) = self.by_node.get(node.index()).copied().flatten() {
            return known;
        }
        let stack = self.shown.of(node);
        let number = stack.matches.then(|| {
            let site = self.sites.get(&node).copied();
            *self.numbers.entry((site, stack.path)).or_insert_with(|| {
                let type_name = self.shown.type_of(&stack).map(|number| self.shown.type_name(number).to_owned());
                self.stacks.push(Stack { node, site, path: stack.path, type_name });
                self.stacks.len() as u32 - 1
            })
        });
        if let Some(known) = self.by_node.get_mut(node.index()) {
            *known = Some(number);
        }
        number
    }

    /// The stack with this number.
    pub fn stack(&self, number: u32) -> &Stack {
        &self.stacks[number as usize]
    }

    /// How many stacks have numbers.
    pub fn count(&self) -> u32 {
        self.stacks.len() as u32
    }

    /// The numbers of a stack's frames, from the allocation outwards. `into` is replaced.
    pub fn frames_of(&mut self, number: u32, into: &mut Vec<i64>) {
        self.shown.list_inlined(self.stacks[number as usize].node, &mut self.listed);
        into.clear();
        into.extend(self.listed.iter().map(|&(frame, is_inlined)| {
            let known = &mut self.frame_numbers[frame.index()][usize::from(is_inlined)];
            *known.get_or_insert_with(|| {
                self.frames.push(Frame { frame, is_inlined });
                self.frames.len() as i64 - 1
            })
        }));
    }

    /// The frames that have numbers, in their order.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// A digest of what a stack's frames and its blocks' type are called.
    pub fn key(&mut self, number: u32) -> String {
        let stack = &self.stacks[number as usize];
        let key = self.keys.of(&self.shown, stack.path);
        key.with(stack.type_name.as_deref().unwrap_or("")).text()
    }

    /// The name of a frame's function.
    pub fn function(&self, frame: FrameId) -> &'r str {
        qualified_name(Texts::of(&self.recording.frames, frame).function)
    }
}
