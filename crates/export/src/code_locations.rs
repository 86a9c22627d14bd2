//! The code of stacks in tables: functions, files, and calls with what is inlined there. pprof's format has them, and OTLP's.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::stacks::{Stacks, Texts};
use memtoll_model::{Addresses, FrameId, Recording, StackId};
use rustc_hash::FxHashMap;

/// A function.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Function<'r> {
    /// Its name, without parameters.
    pub name: &'r str,
    /// With all that the debug information says.
    pub full_name: &'r str,
    /// The source file.
    pub file: Option<&'r str>,
}

/// A loaded file.
#[derive(Default)]
pub struct Mapping<'r> {
    /// Its path.
    pub path: &'r str,
    /// Its build id, in hexadecimal digits; empty if it has none.
    pub build_id: &'r str,
    /// Whether files of functions are known.
    pub has_files: bool,
    /// Whether lines are.
    pub has_lines: bool,
    /// Whether functions are inlined in some call.
    pub has_inlined: bool,
}

/// A call.
pub struct Location {
    /// Its file, as a place in [`Places::mappings`].
    pub mapping: Option<usize>,
    /// The address in that file; of code that is in none, in memory.
    pub address: u64,
    /// The functions inlined there, innermost first, and the compiled one: places in [`Places::functions`], with lines.
    pub lines: Vec<(usize, Option<u32>)>,
}

/// The tables.
pub struct Places<'r> {
    recording: &'r Recording,
    addresses: Addresses<'r>,
    /// Each function once.
    pub functions: Vec<Function<'r>>,
    /// Each loaded file once. The first one is the first process's program.
    pub mappings: Vec<Mapping<'r>>,
    /// Each call once.
    pub locations: Vec<Location>,
    function_numbers: FxHashMap<Function<'r>, usize>,
    mapping_numbers: FxHashMap<(&'r str, &'r str), usize>,
    location_numbers: FxHashMap<(Option<usize>, u64, Vec<FrameId>), usize>,
}

impl<'r> Places<'r> {
    /// Empty tables.
    pub fn new(recording: &'r Recording) -> Places<'r> {
        let mut places = Places {
            recording,
            addresses: recording.frames.addresses(),
            functions: Vec::new(),
            mappings: Vec::new(),
            locations: Vec::new(),
            function_numbers: FxHashMap::default(),
            mapping_numbers: FxHashMap::default(),
            location_numbers: FxHashMap::default(),
        };
        let program = recording.images.first().map(|image| image.about.executable.as_str());
        if let Some(file) = recording.modules.iter().find(|file| Some(file.path.as_str()) == program) {
            places.mapping(&file.path, &file.build_id);
        }
        places
    }

    /// The calls of a stack, from the allocation outwards, as places in [`Places::locations`].
    pub fn stack(&mut self, stacks: &mut Stacks, node: StackId) -> Vec<usize> {
        let calls = stacks.calls(node);
        if calls.is_empty() {
            return vec![self.no_stack()];
        }
        calls.into_iter().map(|(node, frames)| self.location(node, frames)).collect()
    }

    /// What stands for a stack of which nothing is known.
    fn no_stack(&mut self) -> usize {
        let function = self.function(Function { name: "(no stack)", full_name: "(no stack)", file: None });
        let numbers = &mut self.location_numbers;
        *numbers.entry((None, 0, Vec::new())).or_insert_with(|| {
            self.locations.push(Location { mapping: None, address: 0, lines: vec![(function, None)] });
            self.locations.len() - 1
        })
    }

    fn location(&mut self, node: StackId, frames: Vec<FrameId>) -> usize {
        let code = self.addresses.of(&self.recording.stacks.node(node));
        let address = code.map_or(0, |code| code.address);
        let file = code.filter(|code| !code.path.is_empty());
        let mapping = file.map(|code| self.mapping(code.path, code.build_id));
        let key = (mapping, address, frames);
        if let Some(known) = self.location_numbers.get(&key) {
            return *known;
        }
        let recording = self.recording;
        let mut lines = Vec::with_capacity(key.2.len());
        for frame in &key.2 {
            let texts = Texts::of(&recording.frames, *frame);
            let name = qualified_name(texts.function);
            let function = self.function(Function { name, full_name: texts.function, file: texts.file });
            lines.push((function, texts.line));
        }
        if let Some(mapping) = mapping.and_then(|mapping| self.mappings.get_mut(mapping)) {
            mapping.has_inlined |= lines.len() > 1;
            mapping.has_lines |= lines.iter().any(|(_, line)| line.is_some());
            mapping.has_files |= lines.iter().any(|(function, _)| self.functions[*function].file.is_some());
        }
        self.locations.push(Location { mapping, address, lines });
        let number = self.locations.len() - 1;
        self.location_numbers.insert(key, number);
        number
    }

    fn function(&mut self, function: Function<'r>) -> usize {
        *self.function_numbers.entry(function).or_insert_with_key(|function| {
            self.functions.push(function.clone());
            self.functions.len() - 1
        })
    }

    fn mapping(&mut self, path: &'r str, build_id: &'r str) -> usize {
        *self.mapping_numbers.entry((path, build_id)).or_insert_with(|| {
            self.mappings.push(Mapping { path, build_id, ..Mapping::default() });
            self.mappings.len() - 1
        })
    }
}
