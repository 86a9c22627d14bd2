//! Packs names into what the file holds: each string and each frame once.

use memtoll_trace::ids::ImageNo;
use memtoll_trace::symbols::{ModuleSymbols, PackedFrame, Symbols};
use rustc_hash::FxHashMap;

use crate::Frame;
use crate::parallel_naming::{FileAddresses, Named};

/// Names, as they are packed.
#[derive(Default)]
pub(crate) struct Table {
    symbols: Symbols,
    strings: FxHashMap<String, u32>,
    frames: FxHashMap<(PackedFrame, bool), u32>, // frame, whether it is implicit
    type_sizes: Vec<(String, String, String, u64)>, // path, build id, name of the type, bytes
}

impl Table {
    /// Adds a file with its names.
    pub(crate) fn add(&mut self, named: Named) {
        let Named { file: FileAddresses { path, build_id, addresses }, resolved, type_sizes } = named;
        let chains =
            resolved.frames.iter().map(|chain| chain.iter().map(|frame| self.frame(frame)).collect()).collect();
        let sizes = type_sizes.into_iter().map(|(name, size)| (path.clone(), build_id.clone(), name, size));
        self.type_sizes.extend(sizes);
        self.symbols.modules.push(ModuleSymbols {
            path,
            build_id,
            source: resolved.source,
            problem: resolved.problem,
            addresses,
            chains,
        });
    }

    /// Adds files as they are in `symbols`, those for which `keeps` says so.
    pub(crate) fn keep(&mut self, symbols: &Symbols, keeps: impl Fn(usize) -> bool) {
        for (_, module) in symbols.modules.iter().enumerate().filter(|(index, _)| keeps(*index)) {
            let chain = |chain: &Vec<u32>| chain.iter().map(|&frame| self.kept_frame(symbols, frame)).collect();
            let chains = module.chains.iter().map(chain).collect();
            self.symbols.modules.push(ModuleSymbols { chains, ..module.clone() });
        }
        for &(index, name, size) in &symbols.type_sizes {
            if keeps(index as usize) {
                let module = &symbols.modules[index as usize];
                let name = symbols.strings[name as usize].clone();
                self.type_sizes.push((module.path.clone(), module.build_id.clone(), name, size));
            }
        }
    }

    /// Adds the code outside all files as it is in `symbols`.
    pub(crate) fn keep_generated(&mut self, symbols: &Symbols) {
        for &(image, address, frame) in &symbols.generated {
            let frame = self.kept_frame(symbols, frame);
            self.symbols.generated.push((image, address, frame));
        }
    }

    /// Adds code outside all files.
    pub(crate) fn add_generated(&mut self, image: ImageNo, address: u64, frame: &Frame) {
        let frame = self.frame(frame);
        self.symbols.generated.push((image, address, frame));
    }

    /// What the file holds.
    pub(crate) fn finish(mut self) -> Symbols {
        self.symbols.modules.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        self.pack_type_sizes();
        self.symbols
    }

    fn kept_frame(&mut self, symbols: &Symbols, frame: u32) -> u32 {
        let (function, file, line) = symbols.frames[frame as usize];
        let function = self.string(&symbols.strings[function as usize]);
        let file = file.map(|file| self.string(&symbols.strings[file as usize]));
        self.packed((function, file, line), symbols.implicit.binary_search(&frame).is_ok())
    }

    fn frame(&mut self, frame: &Frame) -> u32 {
        let function = self.string(&frame.function);
        let file = frame.file.as_deref().map(|file| self.string(file));
        self.packed((function, file, frame.line), frame.is_implicit)
    }

    fn packed(&mut self, frame: PackedFrame, is_implicit: bool) -> u32 {
        *self.frames.entry((frame, is_implicit)).or_insert_with(|| {
            let number = self.symbols.frames.len() as u32;
            self.symbols.frames.push(frame);
            if is_implicit {
                self.symbols.implicit.push(number);
            }
            number
        })
    }

    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let number = self.symbols.strings.len() as u32;
        self.symbols.strings.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }

    /// Turns the sizes of types into indices, when the modules are in their order.
    fn pack_type_sizes(&mut self) {
        let mut sizes = std::mem::take(&mut self.type_sizes);
        sizes.sort_unstable();
        for (path, build_id, name, size) in sizes {
            let modules = &self.symbols.modules;
            let Ok(module) = modules.binary_search_by(|known| (&known.path, &known.build_id).cmp(&(&path, &build_id)))
            else {
                continue;
            };
            let name = self.string(&name);
            self.symbols.type_sizes.push((module as u32, name, size));
        }
    }
}
