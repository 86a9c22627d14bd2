//! Functions, files and lines: each text and each frame once.

use crate::ids::{ChainId, FrameId, TextId};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::Module;
use memtoll_trace::nodes::{BEFORE_ATTACH, BEFORE_ATTACH_ADDRESS};
use memtoll_trace::path::last_part;
use memtoll_trace::symbols::{ModuleSymbols, Symbols, unnamed};
use rustc_hash::{FxHashMap, FxHashSet};

/// A function at a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The function's name.
    pub function: TextId,
    /// The source file.
    pub file: Option<TextId>,
    pub line: Option<u32>,
    /// The loaded file that holds the code.
    pub module: TextId,
    /// Whether reports name its caller instead, as for a library function.
    pub is_implicit: bool,
    /// Of a function without a name, where it begins in that file; where that is not known, the address of the call.
    pub address: Option<u64>,
}

/// What code that is not in a file belongs to.
const GENERATED: &str = "(generated code)";

/// What a piece of code belongs to: a loaded file, or an image's code that is in no file.
pub(crate) struct CodeOf {
    key: TextId,
    path: TextId,
    is_file: bool,
}

impl CodeOf {
    /// The same for the same file.
    pub fn key(&self) -> TextId {
        self.key
    }
}

/// The frames of a recording.
#[derive(Default)]
pub struct Frames {
    texts: Vec<String>,
    by_text: FxHashMap<String, TextId>,
    frames: Vec<Frame>,
    by_frame: FxHashMap<Frame, FrameId>,
    chains: Vec<Vec<FrameId>>,
    without_tables: FxHashSet<FrameId>,
    pub(crate) by_address: FxHashMap<(TextId, u64), ChainId>, // (module, address in the file)
    type_sizes: FxHashMap<(TextId, TextId), u64>,             // (module, name) -> bytes
    called: FxHashMap<String, String>, // path of a program -> what it was called, if that is another name
    modules: FxHashMap<String, Vec<TextId>>, // name of a loaded file -> the paths of all that have it
    functions: FxHashMap<TextId, Option<TextId>>, // function -> its loaded file; none: several have one of that name
    sources: FxHashMap<(TextId, TextId), Option<TextId>>, // the same of a function from a source file
}

impl Frames {
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id.index()).map_or("", String::as_str)
    }

    pub fn frame(&self, id: FrameId) -> Frame {
        self.frames[id.index()]
    }

    /// All frames.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = FrameId> + Clone + use<> {
        (0..self.frames.len() as u32).map(FrameId::new)
    }

    /// The frame with this number, whose existence the caller has checked.
    pub fn numbered(&self, number: u32) -> Option<FrameId> {
        ((number as usize) < self.frames.len()).then_some(FrameId::new(number))
    }

    /// Number of frames.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frames of a node's inline chain, innermost first.
    pub fn chain(&self, node: &crate::Node) -> &[FrameId] {
        self.chains.get(node.chain.index()).map_or(&[], Vec::as_slice)
    }

    /// Whether its code has no unwind tables: its caller was found by reading the code, or with the frame pointer.
    pub fn is_without_tables(&self, id: FrameId) -> bool {
        self.without_tables.contains(&id)
    }

    /// Whether there are such frames.
    pub fn are_some_without_tables(&self) -> bool {
        !self.without_tables.is_empty()
    }

    /// Code with this chain has no unwind tables.
    pub(crate) fn mark_without_tables(&mut self, chain: ChainId) {
        // What is inlined has no frame of its own on the stack.
        self.without_tables.extend(self.chains[chain.index()].last());
    }

    /// Size, in bytes, of a type in the loaded file with this text as its path. The name is spelled as in the names of
    /// the file's functions.
    pub fn type_size(&self, module: TextId, name: &str) -> Option<u64> {
        let name = self.by_text.get(name)?;
        self.type_sizes.get(&(module, *name)).copied()
    }

    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        if let Some(&known) = self.by_text.get(text) {
            return known;
        }
        let id = TextId::new(self.texts.len() as u32);
        self.texts.push(text.to_owned());
        self.by_text.insert(text.to_owned(), id);
        id
    }

    fn intern_frame(&mut self, frame: Frame) -> FrameId {
        if let Some(&known) = self.by_frame.get(&frame) {
            return known;
        }
        let id = FrameId::new(self.frames.len() as u32);
        self.frames.push(frame);
        let here = Some(frame.module);
        let add = |module: &mut Option<TextId>| *module = module.filter(|_| *module == here);
        add(self.functions.entry(frame.function).or_insert(here));
        if let Some(file) = frame.file {
            add(self.sources.entry((frame.function, file)).or_insert(here));
        }
        self.by_frame.insert(frame, id);
        id
    }

    fn add_chain(&mut self, module: TextId, address: u64, chain: Vec<FrameId>) -> ChainId {
        let id = ChainId::new(self.chains.len() as u32);
        self.chains.push(chain);
        self.by_address.insert((module, address), id);
        id
    }

    /// Programs, with their files and what they were called: a file that was always called by one other name, as that of a
    /// symbolic link, is shown by that name. Set it before anything is added.
    pub(crate) fn call<'i>(&mut self, programs: impl Iterator<Item = (&'i str, &'i str)>) {
        let mut called: FxHashMap<&str, Option<&str>> = FxHashMap::default(); // none: by several names
        for (file, name) in programs {
            let name = last_part(name);
            let known = called.entry(file).or_insert(Some(name));
            if *known != Some(name) {
                *known = None;
            }
        }
        let is_name = |name: &str| !name.is_empty() && !name.starts_with('-') && !name.contains(char::is_whitespace);
        self.called = called
            .into_iter()
            .filter_map(|(file, name)| Some((file, name?)))
            .filter(|(file, name)| is_name(name) && *name != last_part(file))
            .map(|(file, name)| (file.to_owned(), file[..file.len() - last_part(file).len()].to_owned() + name))
            .collect();
    }

    /// The path by which a loaded file is shown: with the name that its program was called by.
    pub fn shown<'p>(&'p self, path: &'p str) -> &'p str {
        self.called.get(path).map_or(path, String::as_str)
    }

    /// What tells a loaded file from the others: its name or, if several have that name, its path.
    pub fn unique_name(&self, module: TextId) -> &str {
        let path = self.text(module);
        let name = last_part(self.shown(path));
        if self.share_name(name) { path } else { name }
    }

    /// Whether several loaded files have this name.
    pub fn share_name(&self, name: &str) -> bool {
        self.modules.get(name).is_some_and(|paths| paths.len() > 1)
    }

    /// The name of a loaded file, with as many of its folders as tell it from the others of this name: `a/plugin.so`.
    pub fn short_path(&self, module: TextId) -> &str {
        let path = self.shown(self.text(module));
        let name = last_part(path);
        let others = || {
            let paths = self.modules.get(name).into_iter().flatten().filter(|other| **other != module);
            paths.map(|other| self.shown(self.text(*other)))
        };
        let is_another = |short: &str| {
            let is_its_end = |other: &str| other.strip_suffix(short).is_some_and(|folder| folder.ends_with('/'));
            others().any(|other| other == short || is_its_end(other))
        };
        let slashes = path.match_indices('/').rev().map(|(at, _)| &path[at + 1..]);
        slashes.chain([path]).find(|short| !is_another(short)).unwrap_or(path)
    }

    /// Whether several loaded files have a function of this name.
    pub fn share_function(&self, function: TextId) -> bool {
        self.functions.get(&function) == Some(&None)
    }

    /// Whether several loaded files have this function from the same source file, as of a header.
    pub fn share_source(&self, frame: FrameId) -> bool {
        let frame = self.frame(frame);
        frame.file.is_some_and(|file| self.sources.get(&(frame.function, file)) == Some(&None))
    }

    fn intern_module(&mut self, path: &str) -> TextId {
        let id = self.intern(path);
        let name = last_part(self.shown(path)).to_owned();
        let known = self.modules.entry(name).or_default();
        if !known.contains(&id) {
            known.push(id);
        }
        id
    }

    /// Takes over resolved names.
    pub(crate) fn add_symbols(&mut self, symbols: &Symbols) {
        let texts: Vec<TextId> = symbols.strings.iter().map(|text| self.intern(text)).collect();
        let at = |id: u32| texts[id as usize];
        let convert = |id: u32, module: TextId, address: Option<u64>| {
            let (function, file, line) = symbols.frames[id as usize];
            let is_implicit = symbols.implicit.binary_search(&id).is_ok();
            Frame { function: at(function), file: file.map(at), line, module, is_implicit, address }
        };
        for named in &symbols.modules {
            let ModuleSymbols { path, build_id, addresses, chains, .. } = named;
            let key = self.module_key(path, build_id);
            let shown = self.shown(path).to_owned();
            let module = self.intern_module(path);
            for (index, (&address, chain)) in addresses.iter().zip(chains).enumerate() {
                let unnamed_at = named.unnamed_at(symbols, index);
                let mut frames = Vec::with_capacity(chain.len());
                for &frame in chain {
                    let mut frame = convert(frame, module, unnamed_at);
                    if let Some(start) = unnamed_at.filter(|_| shown != *path) {
                        frame.function = self.intern(&unnamed(&shown, start));
                    }
                    frames.push(self.intern_frame(frame));
                }
                self.add_chain(key, address, frames);
            }
        }
        for &(module, name, size) in &symbols.type_sizes {
            let module = self.intern(&symbols.modules[module as usize].path);
            self.type_sizes.insert((module, at(name)), size);
        }
        let generated = self.intern(GENERATED);
        for &(image, address, frame) in &symbols.generated {
            let frame = self.intern_frame(convert(frame, generated, None));
            let key = self.generated_key(image);
            self.add_chain(key, address, vec![frame]);
        }
    }

    fn module_key(&mut self, path: &str, build_id: &str) -> TextId {
        self.intern(&format!("{path}\0{build_id}"))
    }

    fn generated_key(&mut self, image: ImageNo) -> TextId {
        self.intern(&format!("\0image {image}"))
    }

    /// The code of a loaded file.
    pub(crate) fn code_of(&mut self, module: &Module) -> CodeOf {
        CodeOf {
            key: self.module_key(&module.path, &module.build_id),
            path: self.intern_module(&module.path),
            is_file: true,
        }
    }

    /// The code of an image that belongs to no file.
    pub(crate) fn generated_code(&mut self, image: ImageNo) -> CodeOf {
        CodeOf { key: self.generated_key(image), path: self.intern(GENERATED), is_file: false }
    }

    /// The chain of blocks from before memtoll was attached, the same in all images.
    pub(crate) fn before_attach(&mut self) -> ChainId {
        let key = self.intern("");
        if let Some(&known) = self.by_address.get(&(key, BEFORE_ATTACH_ADDRESS)) {
            return known;
        }
        let function = self.intern(BEFORE_ATTACH);
        let frame = Frame { function, file: None, line: None, module: key, is_implicit: false, address: None };
        let frame = self.intern_frame(frame);
        self.add_chain(key, BEFORE_ATTACH_ADDRESS, vec![frame])
    }

    /// The chain for a call address in a file; made up from the file's name and the offset if it was not resolved.
    pub(crate) fn find(&mut self, code: &CodeOf, at: u64) -> ChainId {
        if let Some(&chain) = self.by_address.get(&(code.key, at)) {
            return chain;
        }
        if !code.is_file && at == BEFORE_ATTACH_ADDRESS {
            return self.before_attach();
        }
        let name = if code.is_file { unnamed(self.shown(self.text(code.path)), at) } else { format!("{at:#x}") };
        let (function, address) = (self.intern(&name), Some(at));
        let frame = self.intern_frame(Frame {
            function,
            file: None,
            line: None,
            module: code.path,
            is_implicit: false,
            address,
        });
        self.add_chain(code.key, at, vec![frame])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_have_the_names_they_were_called_by() {
        let mut frames = Frames::default();
        let called =
            [("/bin/check", "/usr/bin/server"), ("/bin/sh.real", "sh"), ("/bin/sh.real", "-bash"), ("/bin/a", "a")];
        frames.call(called.into_iter());
        frames.add_symbols(&Symbols {
            strings: vec!["check+0x12".into(), "checks".into()],
            frames: vec![(0, None, None), (1, None, None)],
            modules: vec![ModuleSymbols {
                path: "/bin/check".into(),
                addresses: vec![0x12, 0x20],
                chains: vec![vec![0], vec![1]],
                ..ModuleSymbols::default()
            }],
            ..Symbols::default()
        });
        let shown: Vec<_> = frames
            .ids()
            .map(|id| (frames.text(frames.frame(id).function), frames.text(frames.frame(id).module)))
            .collect();
        assert_eq!(shown, [("server+0x12", "/bin/check"), ("checks", "/bin/check")]);
        assert_eq!(frames.shown("/bin/check"), "/bin/server");
        assert_eq!(frames.shown("/bin/sh.real"), "/bin/sh.real", "called by two names");
    }

    #[test]
    fn as_many_folders_are_shown_as_tell_files_apart() {
        let mut frames = Frames::default();
        let paths = ["/opt/a/lib/p.so", "/opt/b/lib/p.so", "/opt/b/lib/q.so", "/r.so", "/x/r.so", "s.so", "[vdso]"];
        let all = paths.map(|path| frames.intern_module(path));
        let short = all.map(|module| frames.short_path(module));
        assert_eq!(short, ["a/lib/p.so", "b/lib/p.so", "q.so", "/r.so", "x/r.so", "s.so", "[vdso]"]);
    }

    #[test]
    fn sizes_of_types_belong_to_files() {
        let mut frames = Frames::default();
        let module = |path: &str| ModuleSymbols { path: path.into(), ..ModuleSymbols::default() };
        frames.add_symbols(&Symbols {
            strings: vec!["Run".into(), "Cell".into()],
            modules: vec![module("/bin/a"), module("/lib/b.so")],
            type_sizes: vec![(0, 0, 16), (1, 0, 24), (1, 1, 8)],
            ..Symbols::default()
        });
        let (a, b) = (frames.intern("/bin/a"), frames.intern("/lib/b.so"));
        assert_eq!(frames.type_size(a, "Run"), Some(16));
        assert_eq!(frames.type_size(b, "Run"), Some(24));
        assert_eq!(frames.type_size(a, "Cell"), None);
        assert_eq!(frames.type_size(a, "Other"), None);
    }
}
