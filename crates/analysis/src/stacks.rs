//! Stacks as they are shown: frames with names, the library's folded away.
//!
//! A large program has millions of stack nodes, and those of all its processes are one tree. Each node's stack is its
//! caller's stack and its own frames, and so is what is shown of it; so each node is looked at once, and equal paths get
//! equal numbers.

use crate::elements::Element;
use crate::library::{Owner, lost_inlined_frames, owner, qualified_name, starts_program};
use crate::type_name::{element_of, is_part_of, type_of};
use memtoll_model::{Frames, Node, Recording};
use memtoll_trace::nodes::FIRST_NODE;
use regex::Regex;
use rustc_hash::FxHashMap;

/// How stacks are shown.
#[derive(Clone, Default)]
pub struct View {
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Functions whose names match, or whose loaded file's name does, are folded away like those of the library.
    pub fold: Option<Regex>,
    /// Only stacks with a frame whose function, file or module matches.
    pub filter: Option<Regex>,
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
    /// The loaded file, with the name that its program was called by.
    pub shown_module: &'a str,
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
            shown_module: frames.shown(frames.text(frame.module)),
        }
    }
}

impl Texts<'_> {
    /// What the loaded file is called, without its folder.
    pub fn module_name(&self) -> &str {
        self.shown_module.rsplit('/').next().unwrap_or(self.shown_module)
    }
}

/// A list of frames from the allocation outwards, for [`Stacks::frames`]. Equal lists are equal paths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Path(u32);

impl Path {
    /// Of no frame.
    pub(crate) const EMPTY: Path = Paths::EMPTY;

    /// Its number: paths come after what they are called from.
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// That with a number.
    pub fn numbered(number: usize) -> Path {
        Path(number as u32)
    }
}

/// A stack as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// All frames that are shown.
    pub path: Path,
    /// The first ones of these: the first frame, and those into which it is inlined.
    pub leading: Path,
    /// The frame whose name tells the type of the blocks.
    named_by: Option<u32>,
    /// Whether the filter lets it through.
    pub matches: bool,
}

/// What is said of each frame.
#[derive(Clone, Copy)]
struct About {
    owner: Owner,
    /// See [`starts_program`].
    starts_program: bool,
    /// See [`lost_inlined_frames`].
    lost_inlined: bool,
    /// Whether the compiler may have inlined code of the program into it that nothing tells of.
    is_blind: bool,
    matches: bool,
    type_name: Option<u32>,
    element: Option<Element>,
}

/// Frames that are shown, from the outermost to one node's.
#[derive(Clone, Copy)]
struct Trail {
    path: Path,
    /// The last node's.
    leading: Path,
}

impl Trail {
    const EMPTY: Trail = Trail { path: Paths::EMPTY, leading: Paths::EMPTY };

    fn is_empty(self) -> bool {
        self.path == Paths::EMPTY
    }
}

/// Of a stack, as far as it does not depend on what is called next. A stack without any frame of the program's is shown
/// with the library's, and one without these with all there is: nothing vanishes.
#[derive(Clone, Copy)]
struct Shown {
    own: Trail,
    /// With the library's frames, as long as there is none of the program's.
    library: Trail,
    /// With all frames, as long as there is none of these.
    all: Trail,
    named_by: Option<u32>,
    matches: bool,
}

/// Turns stack nodes into stacks.
pub struct Stacks<'a> {
    recording: &'a Recording,
    unfold: bool,
    are_all_plain: bool,
    about: Vec<About>,
    type_names: Vec<String>,
    nothing: Shown,
    /// By node.
    known: Vec<Option<Shown>>,
    paths: Paths,
}

impl<'a> Stacks<'a> {
    /// For the stacks of `recording`.
    pub fn new(recording: &'a Recording, view: &View) -> Self {
        let frames = &recording.frames;
        let mut type_names = Names::default();
        let about = |id: u32| {
            let texts = Texts::of(frames, id);
            let folds =
                |fold: &Regex| fold.is_match(qualified_name(texts.function)) || fold.is_match(texts.module_name());
            let owner = match owner(texts.function, texts.file, texts.module) {
                Owner::Program if frames.frame(id).is_implicit || view.fold.as_ref().is_some_and(folds) => {
                    Owner::Library
                }
                owner => owner,
            };
            let matches = |filter: &Regex| {
                filter.is_match(texts.function)
                    || filter.is_match(texts.module)
                    || filter.is_match(texts.shown_module)
                    || texts.file.is_some_and(|file| filter.is_match(file))
            };
            let is_library = !matches!(owner, Owner::Program);
            let type_name = is_library.then(|| type_of(texts.function)).flatten();
            let element = is_library.then(|| element_of(texts.function)).flatten();
            About {
                owner,
                starts_program: starts_program(texts.function),
                lost_inlined: lost_inlined_frames(texts.function, texts.file),
                is_blind: owner == Owner::Library && texts.file.is_none(),
                matches: view.filter.as_ref().is_some_and(matches),
                type_name: type_name.map(|name| type_names.number(name)),
                element: element.and_then(|(name, layout)| {
                    let size = frames.type_size(frames.frame(id).module, &name)?;
                    Some(Element { size, layout })
                }),
            }
        };
        let about = (0..frames.len() as u32).map(about).collect();
        let nothing = Shown {
            own: Trail::EMPTY,
            library: Trail::EMPTY,
            all: Trail::EMPTY,
            named_by: None,
            matches: view.filter.is_none(),
        };
        Stacks {
            recording,
            unfold: view.unfold,
            are_all_plain: !view.unfold && view.fold.is_none() && view.filter.is_none(),
            about,
            type_names: type_names.names,
            nothing,
            known: vec![None; recording.stacks.len()],
            paths: Paths::default(),
        }
    }

    /// The recording they are of.
    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// Whether all stacks are shown, and in the usual way.
    pub fn are_all_plain(&self) -> bool {
        self.are_all_plain
    }

    /// The stack of a node of [`Recording::stacks`].
    pub fn of(&mut self, node: u32) -> Stack {
        let Shown { own, library, all, named_by, matches } = self.shown(node);
        let trail = [own, library].into_iter().find(|trail| !trail.is_empty()).unwrap_or(all);
        Stack { path: trail.path, leading: trail.leading, named_by, matches }
    }

    fn shown(&mut self, node: u32) -> Shown {
        let tree = &self.recording.stacks;
        let mut unknown = Vec::new();
        let mut shown = self.nothing;
        let mut at = node;
        while at >= FIRST_NODE {
            if let Some(known) = self.known[at as usize] {
                shown = known;
                break;
            }
            unknown.push(at);
            at = tree.node(at).parent;
        }
        while let Some(node) = unknown.pop() {
            shown = self.within(shown, &tree.node(node));
            self.known[node as usize] = Some(shown);
        }
        shown
    }

    /// What is shown of a node whose caller's stack is `caller`.
    fn within(&mut self, caller: Shown, node: &Node) -> Shown {
        let Shown { own, library, all, mut named_by, mut matches } = caller;
        let chain = self.recording.frames.chain(node);
        let (mut own, mut library, mut all) = (Growing::from(own), Growing::from(library), Growing::from(all));
        for (place, &frame) in chain.iter().enumerate().rev() {
            let about = self.about[frame as usize];
            let is_compiled = place + 1 == chain.len();
            let is_own =
                about.owner == Owner::Program || about.owner == Owner::Library && is_compiled && about.lost_inlined;
            matches |= about.matches;
            if is_own || about.is_blind {
                named_by = None;
            } else if about.type_name.is_some() && !self.is_inside_of(frame, named_by) {
                named_by = Some(frame);
            }
            if is_own || self.unfold && about.owner != Owner::Recorder {
                own.push(&mut self.paths, frame);
            }
            if !own.is_empty() {
                continue;
            }
            if about.starts_program {
                library = Growing::from(Trail::EMPTY);
            }
            // What is inlined into a library's function is its own affair.
            if about.owner == Owner::Library && is_compiled {
                library.push(&mut self.paths, frame);
            }
            if library.is_empty() && (about.owner != Owner::Recorder || all.is_empty()) {
                all.push(&mut self.paths, frame);
            }
        }
        Shown { own: own.trail(), library: library.trail(), all: all.trail(), named_by, matches }
    }

    /// Whether the type that this frame's name tells is only how the type that `outer` tells is made.
    fn is_inside_of(&self, frame: u32, outer: Option<u32>) -> bool {
        let name = |frame: u32| Some(self.type_name(self.about[frame as usize].type_name?));
        outer.and_then(name).zip(name(frame)).is_some_and(|(outer, inner)| is_part_of(inner, outer))
    }

    /// How many paths are known so far, with [`Path::EMPTY`].
    pub(crate) fn paths(&self) -> usize {
        self.paths.paths.len() + 1
    }

    /// What a path is called from, and its first frame.
    pub(crate) fn split(&self, path: Path) -> Option<(Path, u32)> {
        self.paths.split(path)
    }

    /// The frames of a path, from the allocation outwards.
    pub fn frames(&self, path: Path) -> Vec<u32> {
        self.each_frame(path).collect()
    }

    /// The same, one after the other.
    pub(crate) fn each_frame(&self, path: Path) -> impl Iterator<Item = u32> {
        self.paths.frames(path)
    }

    /// The frames that are shown of a node's stack, by the calls that they are of: nodes from the allocation outwards, each
    /// with its inline chain, innermost first. Calls of which nothing is shown are left out.
    pub fn calls(&mut self, node: u32) -> Vec<(u32, Vec<u32>)> {
        let Shown { own, library, .. } = self.shown(node);
        let is_shown = [own, library].map(|trail| !trail.is_empty());
        let path_of = |shown: Shown| match is_shown {
            [true, _] => shown.own.path,
            [_, true] => shown.library.path,
            _ => shown.all.path,
        };
        let mut calls = Vec::new();
        for at in self.recording.stacks.stack(node).0 {
            let mut rest = path_of(self.shown(at));
            let callers = path_of(self.shown(self.recording.stacks.node(at).parent));
            let mut frames = Vec::new();
            while let Some((next, frame)) = self.paths.split(rest).filter(|_| rest != callers) {
                frames.push(frame);
                rest = next;
            }
            if !frames.is_empty() {
                calls.push((at, frames));
            }
            // What calls the entry of the program is not shown.
            if rest == Paths::EMPTY {
                break;
            }
        }
        calls
    }

    /// The first frame of a path.
    pub fn first(&self, path: Path) -> Option<u32> {
        self.paths.frames(path).next()
    }

    /// The last frame of a path. Of [`Stack::leading`], it is the compiled function that holds the first frame's code.
    pub fn last(&self, path: Path) -> Option<u32> {
        self.paths.frames(path).last()
    }

    /// A number for the type of a stack's blocks, where the names of inlined functions tell it.
    pub fn type_of(&self, stack: &Stack) -> Option<u32> {
        self.about[stack.named_by? as usize].type_name
    }

    /// The name of a type.
    pub fn type_name(&self, number: u32) -> &str {
        &self.type_names[number as usize]
    }

    /// The elements of a stack's blocks, where they are a container's and the debug information tells their size.
    pub fn element(&self, stack: &Stack) -> Option<Element> {
        self.about[stack.named_by? as usize].element
    }
}

/// A trail that a node's frames are being added to.
struct Growing {
    trail: Trail,
    here: Path,
}

impl Growing {
    fn from(trail: Trail) -> Growing {
        Growing { trail, here: Paths::EMPTY }
    }

    fn is_empty(&self) -> bool {
        self.trail.is_empty()
    }

    fn push(&mut self, paths: &mut Paths, frame: u32) {
        self.trail.path = paths.within(self.trail.path, frame);
        self.here = paths.within(self.here, frame);
    }

    fn trail(self) -> Trail {
        let leading = if self.here == Paths::EMPTY { self.trail.leading } else { self.here };
        Trail { leading, ..self.trail }
    }
}

/// Texts, each once.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() as u32 - 1
        })
    }
}

/// Paths, each once: a frame called from a path.
#[derive(Default)]
struct Paths {
    /// Path 1 and those that follow: what is called from, and the frame.
    paths: Vec<(Path, u32)>,
    numbers: FxHashMap<(Path, u32), Path>,
}

impl Paths {
    const EMPTY: Path = Path(0);

    fn within(&mut self, callers: Path, frame: u32) -> Path {
        *self.numbers.entry((callers, frame)).or_insert_with(|| {
            self.paths.push((callers, frame));
            Path(self.paths.len() as u32)
        })
    }

    fn frames(&self, path: Path) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.split(path), |&(callers, _)| self.split(callers)).map(|(_, frame)| frame)
    }

    /// What a path is called from, and its first frame.
    fn split(&self, path: Path) -> Option<(Path, u32)> {
        self.paths.get((path.0 as usize).checked_sub(1)?).copied()
    }
}
