//! A recording as the rows of a store.

use crate::columns::{METRICS, is_largest_of_windows};
use crate::identity::{Id, Identity, Key};
use crate::run_figures::{self, FIGURES};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::names;
use memtoll_analysis::stacks::{Stacks, Texts, View};
use memtoll_analysis::sums::{Sums, sums, sums_of};
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::{ThreadFilter, program};
use memtoll_analysis::wrappers::without_wrappers;
use memtoll_model::{Addresses, Code, FrameId, Node, Recording, StackId};
use memtoll_tally::Selection;
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::path::last_part;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};

/// The label by which runs are told apart first; a store keeps it as a column.
pub const SERVICE: &str = "service";
/// The other one of which a store has a column.
pub const HOST: &str = "host";
/// The one by which runs are compared, and by which roll-ups tell them apart.
pub const VERSION: &str = "version";

/// What a label counts, such as requests; 0 if it is a word.
pub(crate) fn number(label: &str) -> f64 {
    label.parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0)
}

/// How a recording becomes a run.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Names and values that the user gives.
    pub labels: BTreeMap<String, String>,
    /// The rows' windows of time, ns; `None`: a run is one window.
    pub window_ns: Option<u64>,
    /// Where the recording is; empty: the store does not keep that.
    pub recording: String,
    /// Leaves the name of the machine out.
    pub without_host: bool,
    /// Leaves the paths of source files out.
    pub without_paths: bool,
}

/// A run of a program, as a store has it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The same however often the recording is added.
    pub id: Id,
    /// What ran: the label, or else the program.
    pub service: String,
    /// The machine; empty with `--private`.
    pub host: String,
    /// The path of its recording when it was added; empty: not kept.
    pub recording: String,
    /// When it began: ns since 1970, UTC.
    pub start_ns: i64,
    /// How long it took, ns.
    pub wall_ns: u64,
    /// CPU time of all its processes without the recorder, ns; 0 if it is not known.
    pub program_ns: u64,
    /// Whether the kernel showed page faults.
    pub sees_faults: bool,
    /// Whether the kernel showed when threads lost the processor.
    pub sees_switches: bool,
    /// Whether each free was recorded.
    pub sees_frees: bool,
    /// By the order of [`FIGURES`].
    pub figures: [f64; FIGURES.len()],
    /// Further labels.
    pub labels: BTreeMap<String, String>,
    /// What its call stacks cost.
    pub sites: Vec<Site>,
    /// What they cost together.
    pub totals: Vec<Total>,
    /// Those call stacks.
    pub stacks: Vec<Stack>,
    /// Their frames.
    pub frames: Vec<Frame>,
    /// Their functions.
    pub functions: Vec<Function>,
    /// Functions that reports of this run, and so answers about its service, fold into their callers: see [`Function::folded_with`].
    pub wrappers: BTreeSet<Key>,
    /// What is missing in the recording.
    pub damage: Vec<String>,
}

/// What a call stack cost in a window of the run, in all processes of one program.
#[derive(Clone, Debug)]
pub struct Site {
    /// The program's name.
    pub process: String,
    /// Where the window begins, ns since the run began.
    pub window_ns: u64,
    /// Index in [`Run::stacks`].
    pub stack: usize,
    /// By the order of [`METRICS`].
    pub values: [u64; METRICS.len()],
}

/// What all call stacks cost in a window of the run, in all processes of one program.
#[derive(Clone, Debug)]
pub struct Total {
    /// The program's name; empty: the peak of all processes together, which reach their own at different times.
    pub process: String,
    /// Where the window begins, ns since the run began.
    pub window_ns: u64,
    /// By the order of [`METRICS`].
    pub values: [u64; METRICS.len()],
}

/// A call stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// A digest of build ids and addresses.
    pub id: Id,
    /// What reports show of it, from the allocation outwards: each function once.
    pub shown: Vec<Shown>,
    /// Its other functions: filters match them, too.
    pub hidden: Vec<Key>,
    /// All frames, from the allocation outwards.
    pub frames: Vec<Key>,
    /// How many of them have names.
    pub named: u32,
}

/// A function of a call stack.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub function: Key,
    /// Its innermost frame.
    pub frame: Key,
}

/// A function at a line.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its key: a digest of build id, address and place in the inline chain.
    pub key: Key,
    /// Its function.
    pub function: Key,
    /// What it has in common with all frames of its line.
    pub place: Key,
    /// The source file; empty if it is not known.
    pub file: String,
    /// The line; 0 if it is not known.
    pub line: u32,
    /// Build id of the loaded file; empty if it has none.
    pub build_id: String,
    /// The address in that file.
    pub address: u64,
    /// 0: no name, 1: a name, 2: and a line.
    pub named: u32,
}

/// A function of a loaded file.
#[derive(Clone, Debug)]
pub struct Function {
    /// A digest of its whole name and its module.
    pub key: Key,
    /// Its name without parameters.
    pub name: String,
    /// Its whole name, which tells overloads apart.
    pub whole: String,
    /// The loaded file, without its folder.
    pub module: String,
    /// What it has in common with the functions of this whole name in other files: versions of a program, which may have names of
    /// their own, are compared by it.
    pub same: Key,
    /// What it has in common with the functions of this name, without parameters, in all programs or in all versions of its
    /// library: if a run folds one of them, all runs of its service do.
    pub folded_with: Key,
}

impl Run {
    /// Makes rows of a recording.
    pub fn of(recording: &Recording, wish: &Wish) -> Run {
        let about = &recording.about;
        let whole = sums(recording, Selection::default());
        let tariff = Tariff::of(recording);
        let mut labels = wish.labels.clone();
        let called = || about.command.first().map_or("", |program| last_part(program)).to_owned();
        let mut run = Run {
            id: memtoll_query::run_digest(recording),
            service: labels.remove(SERVICE).unwrap_or_else(called),
            host: if wish.without_host { String::new() } else { about.machine.host.clone() },
            recording: wish.recording.clone(),
            start_ns: about.started as i64,
            wall_ns: (about.clock.seconds(recording.ended()) * 1e9) as u64,
            program_ns: Balance::of_all(recording, &whole).program().map_or(0, |program| program.value.round() as u64),
            sees_faults: tariff.sees().faults,
            sees_switches: tariff.sees().switches,
            sees_frees: tariff.sees().frees,
            figures: run_figures::of(recording, &whole, &tariff),
            labels,
            sites: Vec::new(),
            totals: Vec::new(),
            stacks: Vec::new(),
            frames: Vec::new(),
            functions: Vec::new(),
            wrappers: BTreeSet::new(),
            damage: recording.damage.iter().chain(&whole.damage).chain(&recording.missing).cloned().collect(),
        };
        if let Some(host) = run.labels.remove(HOST) {
            run.host = host;
        }
        let mut rows = Rows::new(recording, &whole, wish.without_paths);
        for (from, selection) in windows(recording, wish.window_ns) {
            rows.add(&mut run, from, selection);
        }
        (run.stacks, run.frames) = (rows.stacks, rows.frames);
        (run.functions, run.wrappers) = (rows.functions, rows.wrappers);
        run
    }
}

/// The windows of a recording: when they begin, ns, and how they are selected.
fn windows(recording: &Recording, width: Option<u64>) -> Vec<(u64, Selection)> {
    let Some(width) = width.filter(|width| *width > 0) else { return vec![(0, Selection::default())] };
    let clock = &recording.about.clock;
    let units = |ns: u64| clock.units(ns as f64 / 1e9);
    let begins = (0..).map(|number| number * width).take_while(|ns| *ns == 0 || units(*ns) <= recording.ended());
    // Both ends belong to a span.
    let span =
        |ns: u64| (ns, Selection { from: Units(units(ns)), to: Units(units(ns + width) - 1), ..Selection::default() });
    begins.map(span).collect()
}

fn add(sums: &mut [u64; METRICS.len()], values: &[u64; METRICS.len()]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum = sum.saturating_add(*value));
}

/// See [`Function::folded_with`].
fn folded_with(name: &str, module: &str) -> Key {
    let library = module.split_once(".so").map_or("", |(library, _)| library);
    Identity::of("wrapper").with(name).with(library).key()
}

/// Collects the rows of a recording, each stack, frame and function once.
struct Rows<'r> {
    recording: &'r Recording,
    shown: Stacks<'r>,
    /// The same with wrappers of malloc folded away.
    leading: Stacks<'r>,
    addresses: Addresses<'r>,
    without_paths: bool,
    /// By node: what its stack is called, and its index in `stacks`.
    ids: FxHashMap<StackId, Id>,
    numbers: FxHashMap<Id, usize>,
    known_frames: FxHashSet<Key>,
    known_functions: FxHashSet<Key>,
    stacks: Vec<Stack>,
    frames: Vec<Frame>,
    functions: Vec<Function>,
    wrappers: BTreeSet<Key>,
}

impl<'r> Rows<'r> {
    fn new(recording: &'r Recording, whole: &Sums, without_paths: bool) -> Rows<'r> {
        Rows {
            recording,
            shown: Stacks::new(recording, &View::default()),
            leading: without_wrappers(recording, whole),
            addresses: recording.frames.addresses(),
            without_paths,
            ids: FxHashMap::default(),
            numbers: FxHashMap::default(),
            known_frames: FxHashSet::default(),
            known_functions: FxHashSet::default(),
            stacks: Vec::new(),
            frames: Vec::new(),
            functions: Vec::new(),
            wrappers: BTreeSet::new(),
        }
    }

    /// Adds a window's rows to `run`.
    fn add(&mut self, run: &mut Run, window_ns: u64, selection: Selection) {
        let recording = self.recording;
        let mut groups: BTreeMap<&str, FxHashSet<usize>> = BTreeMap::new();
        for (index, image) in recording.images.iter().enumerate() {
            groups.entry(program(image)).or_default().insert(index);
        }
        let mut together = [0; METRICS.len()];
        for (at, metric) in METRICS.iter().enumerate().filter(|(_, metric)| is_largest_of_windows(**metric)) {
            together[at] = metric.value(&sums(recording, selection).total);
        }
        run.totals.push(Total { process: String::new(), window_ns, values: together });
        for (process, images) in groups {
            let of_group =
                sums_of(recording, selection, ThreadFilter::images(recording, |index| images.contains(&index)));
            let mut values: BTreeMap<usize, [u64; METRICS.len()]> = BTreeMap::new();
            for site in &of_group.sites {
                let metrics = site.metrics();
                let here = METRICS.map(|metric| metric.value(&metrics));
                if here.iter().any(|value| *value > 0) {
                    let stack = self.stack(site.node);
                    let sums = values.entry(stack).or_insert([0; METRICS.len()]);
                    add(sums, &here);
                }
            }
            if values.is_empty() {
                continue;
            }
            let process = process.to_owned();
            let mut sums = [0; METRICS.len()];
            values.values().for_each(|of| add(&mut sums, of));
            run.totals.push(Total { process: process.clone(), window_ns, values: sums });
            let site = |(stack, values)| Site { process: process.clone(), window_ns, stack, values };
            run.sites.extend(values.into_iter().map(site));
        }
    }

    /// What a node's stack is called: the digest of its caller's and of its own code.
    fn id(&mut self, node: StackId) -> Id {
        let tree = &self.recording.stacks;
        let (nodes, root) = tree.stack(node);
        let mut id = Identity::of("root").with_number(NodeId::or_zero(root).into()).id();
        // From the outermost inward, so that each is looked at once.
        for at in nodes.into_iter().rev() {
            id = match self.ids.get(&at) {
                Some(known) => *known,
                None => {
                    let own = self.code(at).with(id).id();
                    self.ids.insert(at, own);
                    own
                }
            };
        }
        id
    }

    /// Where a node's code is, if it is in a file.
    fn file(&self, node: &Node) -> Option<Code<'r>> {
        self.addresses.of(node).filter(|code| !code.path.is_empty())
    }

    /// What code is: its build id and address. Code of no build id is what it is called.
    fn code(&self, node: StackId) -> Identity {
        let node = self.recording.stacks.node(node);
        let frames = &self.recording.frames;
        match self.file(&node).filter(|code| !code.build_id.is_empty()) {
            Some(code) => Identity::of("code").with(code.build_id).with_number(code.address),
            None => frames.chain(&node).iter().fold(Identity::of("names"), |id, frame| {
                let texts = Texts::of(frames, *frame);
                let id = id.with(texts.function).with(texts.file.unwrap_or("")).with(texts.module_name());
                id.with_number(texts.line.unwrap_or(0).into())
            }),
        }
    }

    /// The index of a node's stack.
    fn stack(&mut self, node: StackId) -> usize {
        let id = self.id(node);
        if let Some(known) = self.numbers.get(&id) {
            return *known;
        }
        let path = self.shown.of(node).path;
        let path = self.shown.frames(path);
        let leading = self.leading.leading(node).leading;
        let named = self.leading.first(leading);
        // Where all are folded, the innermost one leads.
        let folded = path.iter().position(|frame| Some(*frame) == named).unwrap_or(0);
        let frames = &self.recording.frames;
        let wrapper =
            |frame: &FrameId| folded_with(&names::function(frames, *frame), Texts::of(frames, *frame).module_name());
        self.wrappers.extend(path[..folded].iter().map(wrapper));
        let (mut shown, mut frames, mut names): (Vec<Shown>, _, _) = (Vec::new(), Vec::new(), 0);
        let mut rest = path.iter().peekable();
        let (mut known, mut others) = (FxHashSet::default(), Vec::new());
        for at in self.recording.stacks.stack(node).0 {
            let code = self.code(at);
            let chain = self.recording.frames.chain(&self.recording.stacks.node(at));
            for (depth, frame) in chain.iter().enumerate() {
                let (key, function, quality) = self.frame(at, *frame, code.clone().with_number(depth as u64).key());
                frames.push(key);
                names += u32::from(quality > 0);
                match rest.next_if_eq(&frame) {
                    Some(_) if known.insert(function) => shown.push(Shown { function, frame: key }),
                    Some(_) => {}
                    None => others.push(function),
                }
            }
        }
        if shown.is_empty() {
            shown.push(self.unknown());
        }
        let mut hidden: Vec<Key> = others.into_iter().filter(|function| known.insert(*function)).collect();
        hidden.sort_unstable();
        self.stacks.push(Stack { id, shown, hidden, frames, named: names });
        self.numbers.insert(id, self.stacks.len() - 1);
        self.stacks.len() - 1
    }

    /// A frame's key, its function, and how well it is known.
    fn frame(&mut self, node: StackId, frame: FrameId, key: Key) -> (Key, Key, u32) {
        let recording = self.recording;
        let texts = Texts::of(&recording.frames, frame);
        let function = self.function(frame);
        let has_name = recording.frames.frame(frame).address.is_none();
        let named = u32::from(has_name) * (1 + u32::from(texts.line.is_some()));
        if self.known_frames.insert(key) {
            let code = self.file(&recording.stacks.node(node));
            let file = texts.file.filter(|_| !self.without_paths).unwrap_or("").to_owned();
            let (build_id, address) = code.map_or((String::new(), 0), |code| (code.build_id.to_owned(), code.address));
            let line = texts.line.unwrap_or(0);
            let place = self.place(frame, &file, line);
            self.frames.push(Frame { key, function, place, file, line, build_id, address, named });
        }
        (key, function, named)
    }

    /// The key of a frame's function.
    fn function(&mut self, frame: FrameId) -> Key {
        let texts = Texts::of(&self.recording.frames, frame);
        self.named_function(texts.function, texts.module_name())
    }

    /// The key of a frame's line. Source files tell lines apart, and modules those of which no source file is known.
    fn place(&self, frame: FrameId, file: &str, line: u32) -> Key {
        let frames = &self.recording.frames;
        let texts = Texts::of(frames, frame);
        let module = if file.is_empty() { texts.module_name() } else { "" };
        let place = Identity::of("place").with(texts.function).with(module).with(file);
        place.with_number(line.into()).key()
    }

    fn named_function(&mut self, whole: &str, module: &str) -> Key {
        let key = Identity::of("function").with(whole).with(module).key();
        if self.known_functions.insert(key) {
            let (name, same) = (names::short_function(whole), Identity::of("name").with(whole).key());
            let folded_with = folded_with(&name, module);
            let [whole, module] = [whole, module].map(str::to_owned);
            self.functions.push(Function { key, name, whole, module, same, folded_with });
        }
        key
    }

    /// Of a stack without any frame.
    fn unknown(&mut self) -> Shown {
        let function = self.named_function("(unknown)", "");
        let key = Identity::of("no frame").key();
        if self.known_frames.insert(key) {
            let (file, build_id) = (String::new(), String::new());
            let place = Identity::of("no place").key();
            self.frames.push(Frame { key, function, place, file, line: 0, build_id, address: 0, named: 0 });
        }
        Shown { function, frame: key }
    }
}
