//! Stacks as they are shown: frames with names, the library's folded away.
//!
//! A large program has millions of stack nodes, and those of all its processes are one tree. Each node's stack is its caller's stack and its own frames, and so is what
//! is shown of it; so each node is looked at once, and equal paths get equal numbers.

use crate::library::{is_library, is_recorder, lost_inlined_frames, qualified_name};
use crate::type_name::{element_of, is_cxx, type_of};
use memtoll_model::{Frames, Node, Recording};
use memtoll_trace::nodes::FIRST_NODE;
use regex::Regex;
use rustc_hash::FxHashMap;

/// How stacks are shown.
#[derive(Default)]
pub struct View {
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Functions whose names match are folded away like those of the library.
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

/// A list of frames from the allocation outwards, for [`Stacks::frames`]. Equal lists are equal paths.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Path(u32);

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
#[derive(Clone, Copy, Default)]
struct About {
    library: bool,
    /// Never shown.
    recorder: bool,
    /// See [`lost_inlined_frames`].
    lost_inlined: bool,
    matches: bool,
    type_name: Option<u32>,
    /// Whether its type is that of the block, whatever library functions called it.
    innermost_names: bool,
    element_size: Option<u64>,
}

/// Of a stack, as far as it does not depend on what is called next.
#[derive(Clone, Copy)]
struct Shown {
    stack: Stack,
    /// The innermost frame, shown or not.
    innermost: Option<u32>,
}

/// Turns stack nodes into stacks.
pub struct Stacks<'a> {
    recording: &'a Recording,
    unfold: bool,
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
            let folded = view.fold.as_ref().is_some_and(|fold| fold.is_match(qualified_name(texts.function)));
            let library = folded || is_library(texts.function, texts.file, texts.module);
            let matches = |filter: &Regex| {
                filter.is_match(texts.function)
                    || filter.is_match(texts.module)
                    || texts.file.is_some_and(|file| filter.is_match(file))
            };
            let mut about = About {
                library,
                recorder: is_recorder(texts.module),
                lost_inlined: !folded && lost_inlined_frames(texts.function, texts.file),
                matches: view.filter.as_ref().is_some_and(matches),
                ..About::default()
            };
            if library {
                let type_name = type_of(texts.function);
                about.innermost_names = type_name.as_deref().is_some_and(is_cxx);
                about.type_name = type_name.map(|name| type_names.number(name));
                about.element_size =
                    element_of(texts.function).and_then(|element| frames.type_size(frames.frame(id).module, element));
            }
            about
        };
        let about = (0..frames.len() as u32).map(about).collect();
        let stack = Stack { path: Paths::EMPTY, leading: Paths::EMPTY, named_by: None, matches: view.filter.is_none() };
        Stacks {
            recording,
            unfold: view.unfold,
            about,
            type_names: type_names.names,
            nothing: Shown { stack, innermost: None },
            known: vec![None; recording.stacks.len()],
            paths: Paths::default(),
        }
    }

    /// The recording they are of.
    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// The stack of a node of [`Recording::stacks`].
    pub fn of(&mut self, node: u32) -> Stack {
        let Shown { mut stack, innermost } = self.shown(node);
        if let (Paths::EMPTY, Some(frame)) = (stack.path, innermost) {
            // Nothing but the library.
            stack.path = self.paths.within(Paths::EMPTY, frame);
            stack.leading = stack.path;
        }
        stack
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
        let Shown { mut stack, innermost } = caller;
        let chain = self.recording.frames.chain(node);
        let mut leading = Paths::EMPTY;
        for (place, &frame) in chain.iter().enumerate().rev() {
            let about = self.about[frame as usize];
            let is_compiled = place + 1 == chain.len();
            let is_folded = about.library && !(is_compiled && about.lost_inlined);
            stack.matches |= about.matches;
            if !is_folded {
                stack.named_by = None;
            } else if about.type_name.is_some() && (stack.named_by.is_none() || about.innermost_names) {
                stack.named_by = Some(frame);
            }
            if !is_folded || self.unfold && !about.recorder {
                stack.path = self.paths.within(stack.path, frame);
                leading = self.paths.within(leading, frame);
            }
        }
        if leading != Paths::EMPTY {
            stack.leading = leading;
        }
        Shown { stack, innermost: chain.first().copied().or(innermost) }
    }

    /// The frames of a path, from the allocation outwards.
    pub fn frames(&self, path: Path) -> Vec<u32> {
        self.paths.frames(path).collect()
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

    /// Size of the elements of a stack's blocks, bytes, where they are a vector's and the debug information tells it.
    pub fn element_size(&self, stack: &Stack) -> Option<u64> {
        self.about[stack.named_by? as usize].element_size
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
        let split = |path: Path| self.paths.get((path.0 as usize).checked_sub(1)?).copied();
        std::iter::successors(split(path), move |&(callers, _)| split(callers)).map(|(_, frame)| frame)
    }
}
