//! Collects the call addresses of all processes and resolves each of them once, when the run is over.

use crate::{Frame, ModuleFile, PerfMap, Resolver};
use memtoll_trace::meta::Module;
use memtoll_trace::symbols::{ModuleSymbols, PackedFrame, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Call addresses by file.
#[derive(Default)]
pub struct AddressBook {
    files: BTreeMap<(String, String), FxHashSet<u64>>, // path, build id -> addresses in the file
    generated: Vec<(u32, u64, String)>,                // image, address, name
}

impl AddressBook {
    /// Adds addresses in memory of calls in `module`.
    pub fn add(&mut self, module: &Module, addresses: impl IntoIterator<Item = u64>) {
        let known = self.files.entry((module.path.clone(), module.build_id.clone())).or_default();
        known.extend(addresses.into_iter().map(|address| address.wrapping_sub(module.bias)));
    }

    /// Adds addresses of code outside all files: made at run time, and perhaps described by a perf map file.
    pub fn add_generated(&mut self, image: u32, pid: u32, addresses: impl IntoIterator<Item = u64>) {
        let Ok(text) = std::fs::read(format!("/tmp/perf-{pid}.map")) else { return };
        let map = PerfMap::parse(&String::from_utf8_lossy(&text));
        for address in addresses {
            if let Some(name) = map.lookup(address) {
                self.generated.push((image, address, name.to_owned()));
            }
        }
    }

    /// Resolves everything, on as many processors as there are.
    pub fn resolve(self) -> Symbols {
        let resolver = Resolver::new();
        let mut files: Vec<((String, String), Vec<u64>)> = self
            .files
            .into_iter()
            .map(|(file, addresses)| {
                let mut addresses: Vec<u64> = addresses.into_iter().collect();
                addresses.sort_unstable();
                (file, addresses)
            })
            .collect();
        // Those with the most addresses first, which probably take longest.
        files.sort_by_key(|(_, addresses)| Reverse(addresses.len()));
        let table = Mutex::new(Table::default());
        let next = AtomicUsize::new(0);
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(files.len()).min(8);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(((path, build_id), addresses)) = files.get(next.fetch_add(1, Relaxed)) {
                        let id = hex(build_id);
                        let file = ModuleFile { path: Path::new(path), build_id: &id };
                        let (resolved, sizes) = match is_c_library(path) {
                            true => (resolver.resolve_names(&file, addresses), FxHashMap::default()),
                            false => resolver.resolve_with_types(&file, addresses),
                        };
                        let mut table = table.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                        let chains = resolved.frames.iter().map(|chain| table.chain(chain)).collect();
                        table
                            .type_sizes
                            .extend(sizes.into_iter().map(|(name, size)| (path.clone(), build_id.clone(), name, size)));
                        table.symbols.modules.push(ModuleSymbols {
                            path: path.clone(),
                            build_id: build_id.clone(),
                            problem: resolved.problem,
                            addresses: addresses.clone(),
                            chains,
                        });
                    }
                });
            }
        });
        let mut table = table.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        table.symbols.modules.sort_by(|a, b| (&a.path, &a.build_id).cmp(&(&b.path, &b.build_id)));
        table.pack_type_sizes();
        for (image, address, function) in self.generated {
            let frame = table.frame(&Frame::without_line(function));
            table.symbols.generated.push((image, address, frame));
        }
        table.symbols
    }
}

/// Files of the C library and its loader. Every program runs through them, nobody looks for the line in them, and reading
/// their debug information takes longer than many a program.
fn is_c_library(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    ["libc.so.", "libm.so.", "libpthread.so.", "libdl.so.", "ld-linux"].iter().any(|start| name.starts_with(start))
}

fn hex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks_exact(2);
    pairs.filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Packs frames: each string and each frame once.
#[derive(Default)]
struct Table {
    symbols: Symbols,
    strings: FxHashMap<String, u32>,
    frames: FxHashMap<(PackedFrame, bool), u32>, // frame, whether it is implicit
    type_sizes: Vec<(String, String, String, u64)>, // path, build id, name of the type, bytes
}

impl Table {
    fn string(&mut self, text: &str) -> u32 {
        if let Some(&known) = self.strings.get(text) {
            return known;
        }
        let number = self.symbols.strings.len() as u32;
        self.symbols.strings.push(text.to_owned());
        self.strings.insert(text.to_owned(), number);
        number
    }

    fn frame(&mut self, frame: &Frame) -> u32 {
        let function = self.string(&frame.function);
        let file = frame.file.as_deref().map(|file| self.string(file));
        let packed = (function, file, frame.line);
        if let Some(&known) = self.frames.get(&(packed, frame.is_implicit)) {
            return known;
        }
        let number = self.symbols.frames.len() as u32;
        self.symbols.frames.push(packed);
        if frame.is_implicit {
            self.symbols.implicit.push(number);
        }
        self.frames.insert((packed, frame.is_implicit), number);
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

    fn chain(&mut self, frames: &[Frame]) -> Vec<u32> {
        frames.iter().map(|frame| self.frame(frame)).collect()
    }
}
