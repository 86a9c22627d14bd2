//! The tables that all threads of a profile share: stacks, frames, functions, files, texts.

use crate::code_locations::Places;
use crate::text_table::TextTable;
use memtoll_analysis::stacks::Stacks;
use memtoll_model::{Recording, StackId};
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// What resources are: libraries.
const LIBRARY: u32 = 1;

/// The tables. Each column is an array; rows are numbers in them.
pub struct Tables<'r> {
    places: Places<'r>,
    /// Texts of all tables, and of markers.
    pub texts: TextTable,
    /// Each stack is its caller's and a frame.
    stacks: Vec<(Option<usize>, usize)>,
    stack_numbers: FxHashMap<(Option<usize>, usize), usize>,
    /// A call, and how deep in it something is inlined: 0 is the compiled function.
    frames: Vec<(usize, usize)>,
    frame_numbers: FxHashMap<(usize, usize), usize>,
    /// By node.
    known: FxHashMap<StackId, usize>,
}

impl<'r> Tables<'r> {
    /// Empty tables.
    pub fn new(recording: &'r Recording) -> Tables<'r> {
        Tables {
            places: Places::new(recording),
            texts: TextTable::new(),
            stacks: Vec::new(),
            stack_numbers: FxHashMap::default(),
            frames: Vec::new(),
            frame_numbers: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// The number of a node's stack.
    pub fn stack(&mut self, stacks: &mut Stacks, node: StackId) -> Option<usize> {
        if let Some(known) = self.known.get(&node) {
            return Some(*known);
        }
        let mut stack = None;
        for location in self.places.stack(stacks, node).into_iter().rev() {
            for depth in 0..self.places.locations[location].lines.len() {
                let frames = &mut self.frames;
                let frame = *self.frame_numbers.entry((location, depth)).or_insert_with(|| {
                    frames.push((location, depth));
                    frames.len() - 1
                });
                let all = &mut self.stacks;
                stack = Some(*self.stack_numbers.entry((stack, frame)).or_insert_with(|| {
                    all.push((stack, frame));
                    all.len() - 1
                }));
            }
        }
        self.known.extend(stack.map(|stack| (node, stack)));
        stack
    }

    /// The loaded files.
    pub fn libs(&self) -> Value {
        let lib = |mapping: &crate::code_locations::Mapping| {
            let name = last_part(mapping.path);
            json!({
                "arch": "",
                "name": name,
                "path": mapping.path,
                "debugName": name,
                "debugPath": mapping.path,
                "breakpadId": "",
                "codeId": (!mapping.build_id.is_empty()).then_some(mapping.build_id),
            })
        };
        self.places.mappings.iter().map(lib).collect()
    }

    /// As the format has them.
    pub fn into_json(mut self) -> Value {
        let places = &self.places;
        let (mut functions, mut function_numbers) = (Vec::new(), FxHashMap::default());
        let (mut sources, mut source_numbers) = (Vec::new(), FxHashMap::default());
        let mut rows = Vec::with_capacity(self.frames.len());
        for (location, depth) in &self.frames {
            let location = &places.locations[*location];
            let (function, line) = location.lines[location.lines.len() - 1 - depth];
            let key = (function, location.mapping);
            let function = *function_numbers.entry(key).or_insert_with(|| {
                functions.push(key);
                functions.len() - 1
            });
            rows.push((function, line));
        }
        let locations = self.frames.iter().map(|(location, _)| &places.locations[*location]);
        let count = self.frames.len();
        let nothing = |length: usize| vec![Value::Null; length];
        let lib = |mapping: Option<usize>| mapping.map_or(-1, |mapping| mapping as i64);
        let frame_table = json!({
            "length": count,
            // Generated code is in no file, so an address in it says nothing.
            "address": locations.clone().map(|at| at.mapping.map_or(-1, |_| at.address as i64)).collect::<Vec<_>>(),
            "inlineDepth": self.frames.iter().map(|(_, depth)| depth).collect::<Vec<_>>(),
            "category": vec![0; count],
            "subcategory": vec![0; count],
            "func": rows.iter().map(|(function, _)| function).collect::<Vec<_>>(),
            "lib": locations.map(|at| lib(at.mapping)).collect::<Vec<_>>(),
            "nativeSymbol": nothing(count),
            "innerWindowID": vec![0; count],
            "line": rows.iter().map(|(_, line)| line).collect::<Vec<_>>(),
            "column": nothing(count),
            "originalLocation": nothing(count),
        });
        let mut source = |file: &'r str| {
            *source_numbers.entry(file).or_insert_with(|| {
                sources.push(file);
                sources.len() - 1
            })
        };
        let of_functions: Vec<Option<usize>> =
            functions.iter().map(|(function, _)| places.functions[*function].file.map(&mut source)).collect();
        let names: Vec<usize> =
            functions.iter().map(|(function, _)| self.texts.number(places.functions[*function].name)).collect();
        let func_table = json!({
            "length": functions.len(),
            "name": names,
            "isJS": vec![false; functions.len()],
            "relevantForJS": vec![false; functions.len()],
            "resource": functions.iter().map(|(_, mapping)| lib(*mapping)).collect::<Vec<_>>(),
            "source": of_functions,
            "lineNumber": nothing(functions.len()),
            "columnNumber": nothing(functions.len()),
            "originalLocation": nothing(functions.len()),
        });
        // A resource is a library, of the same number.
        let libraries = places.mappings.len();
        let last = last_part;
        let resources: Vec<usize> =
            places.mappings.iter().map(|mapping| self.texts.number(last(mapping.path))).collect();
        let resource_table = json!({
            "length": libraries, "name": resources, "host": nothing(libraries), "type": vec![LIBRARY; libraries],
        });
        let files: Vec<usize> = sources.iter().map(|file| self.texts.number(file)).collect();
        let prefix_offset = |(index, (caller, _)): (usize, &(Option<usize>, usize))| caller.map_or(0, |at| index - at);
        json!({
            "stackTable": {
                "length": self.stacks.len(),
                "frame": self.stacks.iter().map(|(_, frame)| frame).collect::<Vec<_>>(),
                "prefixOffset": self.stacks.iter().enumerate().map(prefix_offset).collect::<Vec<_>>(),
            },
            "frameTable": frame_table,
            "funcTable": func_table,
            "resourceTable": resource_table,
            "nativeSymbols": { "length": 0, "libIndex": [], "address": [], "name": [], "functionSize": [] },
            "sources": {
                "length": files.len(),
                "id": nothing(files.len()),
                "filename": files,
                "startLine": vec![1; sources.len()],
                "startColumn": vec![1; sources.len()],
                "sourceMapURL": nothing(sources.len()),
                "content": nothing(sources.len()),
            },
            "sourceLocationTable": { "length": 0, "source": [], "line": [], "column": [] },
            "stringArray": self.texts.into_texts(),
        })
    }
}
