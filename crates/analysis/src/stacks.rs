//! Stacks as they are shown: frames with names, the library's folded away.
//!
//! A large program has millions of stack nodes, and those of all its processes are one tree. Each node's stack is its
//! caller's stack and its own frames, and so is what is shown of it; so each node is looked at once, and equal paths get
//! equal numbers.

mod by_function;
mod calls;
mod frame_place;
mod known;
mod lists;
mod names;
mod path_digests;
mod path_keys;
mod paths;

use crate::container_elements::Element;
use crate::library::{Owner, lost_inlined_frames, starts_program};
use crate::packages::Packages;
use crate::type_name::{are_of_one_class, element_of, is_part_of, is_private, type_of};
use by_function::ByFunction;
use calls::{Call, Calls};
use known::Known;
use memtoll_model::{FrameId, Frames, Recording, StackId};
use memtoll_trace::index;
use paths::{Growing, Paths, Trail};
use regex::Regex;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Deref;

pub use crate::texts::Texts;
pub use calls::Cuts;
pub(crate) use frame_place::FramePlace;
pub use names::Names;
pub(crate) use path_digests::PathDigests;
pub use path_keys::PathKeys;
pub use paths::Path;

/// How stacks are shown.
#[derive(Clone, Default)]
pub struct View {
    /// Whether library frames are shown.
    pub unfold: bool,
    /// Functions whose names match, or whose loaded file's name does, are folded away like those of the library.
    pub fold: Option<Names>,
    /// Wrappers of malloc, which are folded away in the same way: [`crate::wrappers::Folded::regex`].
    pub wrappers: Option<Names>,
    /// Only stacks with a frame whose function, file or module matches.
    pub filter: Option<Regex>,
    /// What is cut out of stacks.
    pub cuts: Cuts,
}

impl View {
    /// Whether there may be stacks that do not count.
    pub fn selects(&self) -> bool {
        self.filter.is_some() || self.cuts.drop.is_some() || self.cuts.focus.is_some()
    }
}

/// The part of a stack that tells its call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Leading {
    /// The first frame that is shown, and those into which it is inlined.
    pub leading: Path,
    /// The frame whose name tells the type of the blocks.
    named_by: Option<FrameId>,
    /// Whether the stack counts.
    pub matches: bool,
}

/// A stack as it is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stack {
    /// All frames that are shown, those that lead among them.
    pub path: Path,
    start: Leading,
}

impl Deref for Stack {
    type Target = Leading;

    fn deref(&self) -> &Leading {
        &self.start
    }
}

index! {
    /// A type of blocks, for [`Stacks::type_name`].
    TypeNo
}

/// Texts and properties of each frame.
#[derive(Clone, Copy)]
struct About {
    owner: Owner,
    /// See [`starts_program`].
    starts_program: bool,
    /// See [`lost_inlined_frames`].
    lost_inlined: bool,
    /// Whether the compiler may have inlined code of the program into it that nothing tells of.
    is_blind: bool,
    /// See [`is_private`].
    is_private: bool,
    type_name: Option<TypeNo>,
    element: Option<Element>,
}

impl About {
    fn of(frames: &Frames, id: FrameId, texts: &Texts, owner: Owner, types: &mut TypeNames) -> About {
        let is_library = !matches!(owner, Owner::Program);
        let type_name = is_library.then(|| type_of(texts.function)).flatten();
        let element = is_library.then(|| element_of(texts.function)).flatten();
        About {
            owner,
            starts_program: starts_program(texts.function),
            lost_inlined: lost_inlined_frames(texts.function, texts.file),
            is_blind: owner == Owner::Library && texts.file.is_none(),
            is_private: is_private(texts.function),
            type_name: type_name.map(|name| types.number(name)),
            element: element.and_then(|(name, layout)| {
                let size = frames.type_size(frames.frame(id).module, &name)?;
                Some(Element { size, layout })
            }),
        }
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
    named_by: Option<FrameId>,
}

impl Shown {
    /// `matches`: whether the stack counts.
    fn stack(self, matches: bool) -> Stack {
        let Shown { own, library, all, named_by } = self;
        let trail = [own, library].into_iter().find(|trail| !trail.is_empty()).unwrap_or(all);
        Stack { path: trail.path, start: Leading { leading: trail.leading, named_by, matches } }
    }
}

/// Turns stack nodes into stacks.
#[derive(Clone)]
pub struct Stacks<'a> {
    recording: &'a Recording,
    calls: Calls<'a>,
    unfold: bool,
    are_all_plain: bool,
    selects: bool,
    folds_wrappers: bool,
    about: Vec<About>,
    type_names: TypeNames,
    nothing: Shown,
    /// By node. Empty until somebody asks for a whole stack: where stacks are never the same, there are tens of millions.
    known: Vec<Option<Shown>>,
    leading: Known,
    paths: Paths,
}

impl<'a> Stacks<'a> {
    pub fn new(recording: &'a Recording, view: &View) -> Self {
        let frames = &recording.frames;
        let packages = Packages::of(frames);
        let mut type_names = TypeNames::default();
        // Many frames are of one function.
        let mut folds = ByFunction::new(view.fold.iter().chain(&view.wrappers));
        let about = |id: FrameId| {
            let texts = Texts::of(frames, id);
            let frame = frames.frame(id);
            let owner = match packages.owner(&texts) {
                Owner::Program if frame.is_implicit || folds.of(&frame, &texts).is_any() => Owner::Library,
                owner => owner,
            };
            About::of(frames, id, &texts, owner, &mut type_names)
        };
        let about = frames.ids().map(about).collect();
        let nothing = Shown { own: Trail::EMPTY, library: Trail::EMPTY, all: Trail::EMPTY, named_by: None };
        Stacks {
            recording,
            calls: Calls::of(recording, view),
            unfold: view.unfold,
            are_all_plain: !view.unfold && view.fold.is_none() && !view.selects() && view.cuts.collapse.is_none(),
            selects: view.selects(),
            folds_wrappers: view.wrappers.is_some(),
            about,
            type_names,
            nothing,
            known: Vec::new(),
            leading: Known::default(),
            paths: Paths::default(),
        }
    }

    /// Folds functions away, too, that allocate for others. What is known of stacks that these do not lead stays known.
    pub fn fold_wrappers(&mut self, wrappers: &Names) {
        let frames = &self.recording.frames;
        let mut folds = ByFunction::new(std::iter::once(wrappers));
        let mut folded = FxHashSet::default();
        for id in frames.ids() {
            let about = &mut self.about[id.index()];
            let (texts, frame) = (Texts::of(frames, id), frames.frame(id));
            if about.owner == Owner::Program && folds.of(&frame, &texts).is_any() {
                *about = About::of(frames, id, &texts, Owner::Library, &mut self.type_names);
                folded.insert(id);
            }
        }
        self.folds_wrappers = true;
        self.known = Vec::new();
        let paths = &self.paths;
        self.leading.forget(|leading| paths.frames(leading.leading).any(|frame| folded.contains(&frame)));
    }

    pub fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// The node of a node's caller, as far as that is there.
    pub(crate) fn caller(&self, node: StackId) -> StackId {
        self.calls.call(node).caller
    }

    /// Whether all stacks are shown, and in the usual way.
    pub fn are_all_plain(&self) -> bool {
        self.are_all_plain
    }

    /// Whether there may be stacks that do not count.
    pub fn selects(&self) -> bool {
        self.selects
    }

    /// Whether wrappers of malloc are folded away.
    pub fn folds_wrappers(&self) -> bool {
        self.folds_wrappers
    }

    /// Whether a node's stack counts.
    pub fn counts(&self, node: StackId) -> bool {
        self.calls.counts(node)
    }

    /// The stack of a node of [`Recording::stacks`].
    pub fn of(&mut self, node: StackId) -> Stack {
        self.shown(node).stack(self.calls.counts(node))
    }

    /// What leads in the stack of a node: the same as of [`Stacks::of`], without a look at its outer callers.
    pub fn leading(&mut self, node: StackId) -> Leading {
        if let Some(known) = self.leading.of(node) {
            return known;
        }
        let leading = self.own_leading(node).unwrap_or_else(|| *self.shown_once(node).stack(self.calls.counts(node)));
        self.leading.is(node, leading, self.recording.stacks.len());
        leading
    }

    /// Calls `look` with the frames of a node's stack, from the allocation outwards, and whether each is a compiled function,
    /// into which those before it are inlined; until it says no.
    fn each_frame(&self, node: StackId, mut look: impl FnMut(FrameId, bool) -> bool) {
        let mut at = node;
        while !at.is_root() {
            let Call { caller, chain, .. } = self.calls.call(at);
            for (place, &frame) in chain.iter().enumerate() {
                if !look(frame, place + 1 == chain.len()) {
                    return;
                }
            }
            at = caller;
        }
    }

    /// Whether a frame is the program's.
    fn is_own(&self, frame: FrameId, is_compiled: bool) -> bool {
        let about = &self.about[frame.index()];
        about.owner == Owner::Program || about.owner == Owner::Library && is_compiled && about.lost_inlined
    }

    /// Whether it is shown, other than in stacks without such frames.
    fn is_shown(&self, frame: FrameId, is_compiled: bool) -> bool {
        self.is_own(frame, is_compiled) || self.unfold && self.about[frame.index()].owner != Owner::Recorder
    }

    /// What leads in a stack with frames that are shown; none other is one.
    fn own_leading(&mut self, node: StackId) -> Option<Leading> {
        // Types that frames inside of the innermost one without a type prove, and the frames that lead: innermost first.
        let (mut typed, mut leading): (Vec<FrameId>, Vec<FrameId>) = (Vec::new(), Vec::new());
        let (mut is_typed, mut is_led) = (false, false);
        self.each_frame(node, |frame, is_compiled| {
            let about = &self.about[frame.index()];
            is_typed |= self.is_own(frame, is_compiled) || about.is_blind;
            if !is_typed && about.type_name.is_some() {
                typed.push(frame);
            }
            if !is_led && self.is_shown(frame, is_compiled) {
                leading.push(frame);
            }
            is_led |= is_compiled && !leading.is_empty();
            !(is_led && is_typed)
        });
        if leading.is_empty() {
            return None;
        }
        let named_by = typed.into_iter().rev().fold(None, |outer, frame| match self.is_inside_of(frame, outer) {
            true => outer,
            false => Some(frame),
        });
        let leading = leading.into_iter().rev().fold(Path::EMPTY, |outer, frame| self.paths.within(outer, frame));
        Some(Leading { leading, named_by, matches: self.calls.counts(node) })
    }

    /// Of a stack that is not remembered.
    fn shown_once(&mut self, node: StackId) -> Shown {
        let nodes = self.calls.stack(node);
        nodes.into_iter().rev().fold(self.nothing, |caller, node| self.within(caller, node))
    }

    fn shown(&mut self, node: StackId) -> Shown {
        if self.known.is_empty() {
            let nodes = self.recording.stacks.len();
            self.known.resize(nodes, None);
            // Nearly every node has a path of its own.
            self.paths.reserve(nodes);
        }
        let mut unknown = Vec::new();
        let mut shown = self.nothing;
        let mut at = node;
        while !at.is_root() {
            if let Some(known) = self.known[at.index()] {
                shown = known;
                break;
            }
            unknown.push(at);
            at = self.caller(at);
        }
        while let Some(node) = unknown.pop() {
            shown = self.within(shown, node);
            self.known[node.index()] = Some(shown);
        }
        shown
    }

    /// What is shown of a node whose caller's stack is `caller`.
    fn within(&mut self, caller: Shown, node: StackId) -> Shown {
        let Shown { own, library, all, mut named_by } = caller;
        let chain = self.calls.call(node).chain;
        let (mut own, mut library, mut all) = (Growing::from(own), Growing::from(library), Growing::from(all));
        for (place, &frame) in chain.iter().enumerate().rev() {
            let about = self.about[frame.index()];
            let is_compiled = place + 1 == chain.len();
            let is_own = self.is_own(frame, is_compiled);
            if is_own || about.is_blind {
                named_by = None;
            } else if about.type_name.is_some() && !self.is_inside_of(frame, named_by) {
                named_by = Some(frame);
            }
            if self.is_shown(frame, is_compiled) {
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
        Shown { own: own.trail(), library: library.trail(), all: all.trail(), named_by }
    }

    /// Whether the type that this frame's name tells is only how the type that `outer` tells is made, or the name of another type's
    /// function: where the code of two is the same, compilers and linkers keep one.
    fn is_inside_of(&self, frame: FrameId, outer: Option<FrameId>) -> bool {
        let name = |frame: FrameId| Some(self.type_name(self.about[frame.index()].type_name?));
        outer.and_then(name).zip(name(frame)).is_some_and(|(outer, inner)| {
            is_part_of(inner, outer) || self.about[frame.index()].is_private && are_of_one_class(inner, outer)
        })
    }

    /// How many paths are known so far, with [`Path::EMPTY`].
    pub(crate) fn paths(&self) -> usize {
        self.paths.count()
    }

    /// What a path is called from, and its first frame.
    pub(crate) fn split(&self, path: Path) -> Option<(Path, FrameId)> {
        self.paths.split(path)
    }

    /// The path of a frame that is called from a path.
    pub(crate) fn path_within(&mut self, callers: Path, frame: FrameId) -> Path {
        self.paths.within(callers, frame)
    }

    /// The frames of a path, from the allocation outwards.
    pub fn frames(&self, path: Path) -> Vec<FrameId> {
        self.paths.frames(path).collect()
    }

    /// The frames that are shown of a node's stack, by the calls that they are of: nodes from the allocation outwards, each
    /// with its inline chain, innermost first. Calls of which nothing is shown are left out.
    pub fn calls(&mut self, node: StackId) -> Vec<(StackId, Vec<FrameId>)> {
        let Shown { own, library, .. } = self.shown(node);
        let is_shown = [own, library].map(|trail| !trail.is_empty());
        let path_of = |shown: Shown| match is_shown {
            [true, _] => shown.own.path,
            [_, true] => shown.library.path,
            _ => shown.all.path,
        };
        let mut calls = Vec::new();
        for at in self.calls.stack(node) {
            let mut rest = path_of(self.shown(at));
            let callers = path_of(self.shown(self.calls.call(at).caller));
            let mut frames = Vec::new();
            while let Some((next, frame)) = self.paths.split(rest).filter(|_| rest != callers) {
                frames.push(frame);
                rest = next;
            }
            if !frames.is_empty() {
                calls.push((at, frames));
            }
            // What calls the entry of the program is not shown.
            if rest == Path::EMPTY {
                break;
            }
        }
        calls
    }

    pub fn first(&self, path: Path) -> Option<FrameId> {
        self.paths.frames(path).next()
    }

    /// The last frame of a path. Of [`Stack::leading`], it is the compiled function that holds the first frame's code.
    pub fn last(&self, path: Path) -> Option<FrameId> {
        self.paths.frames(path).last()
    }

    /// A number for the type of a stack's blocks, where the names of inlined functions tell it.
    pub fn type_of(&self, stack: &Leading) -> Option<TypeNo> {
        self.about[stack.named_by?.index()].type_name
    }

    pub fn type_name(&self, number: TypeNo) -> &str {
        &self.type_names.names[number.index()]
    }

    /// The elements of a stack's blocks, where they are a container's and the debug information tells their size.
    pub fn element(&self, stack: &Leading) -> Option<Element> {
        self.about[stack.named_by?.index()].element
    }
}

/// Names of types, each once.
#[derive(Clone, Default)]
struct TypeNames {
    names: Vec<String>,
    numbers: FxHashMap<String, TypeNo>,
}

impl TypeNames {
    fn number(&mut self, name: String) -> TypeNo {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            TypeNo::new(self.names.len() as u32 - 1)
        })
    }
}

#[cfg(test)]
mod tests;
