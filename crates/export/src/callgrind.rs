//! Callgrind's profile format, version 1: costs of lines, and of calls from one function to another.
//!
//! Its grammar: <https://valgrind.org/docs/manual/cl-format.html>.

use crate::format::Format;
use crate::metrics::{self, Total};
use crate::samples::Samples;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::About;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Recording};
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::shell;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

/// Lines and calls with all metrics.
pub struct Callgrind;

/// A function: its loaded file, its source file, its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Function<'r> {
    object: &'r str,
    file: &'r str,
    name: &'r str,
}

/// A value for each metric, and how many blocks: calls are not counted, so blocks stand for them.
#[derive(Clone, Default)]
struct Costs {
    blocks: u64,
    values: Vec<u64>,
}

impl Costs {
    fn add(&mut self, other: &Costs) {
        self.blocks = self.blocks.wrapping_add(other.blocks);
        self.values.resize(other.values.len(), 0);
        for (sum, value) in self.values.iter_mut().zip(&other.values) {
            *sum = sum.wrapping_add(*value);
        }
    }

    fn text(&self) -> String {
        self.values.iter().fold(String::new(), |mut text, value| {
            let _ = write!(text, " {value}");
            text
        })
    }
}

/// What a function paid, by line, and what it called, by line and function.
#[derive(Default)]
struct Body<'r> {
    own: BTreeMap<u32, Costs>,
    calls: BTreeMap<(u32, Function<'r>), Costs>,
}

impl Export for Callgrind {
    fn name(&self) -> &'static str {
        "callgrind"
    }

    fn help(&self) -> &'static str {
        "KCachegrind, QCachegrind and callgrind_annotate"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let samples = Samples::by_path(answer);
        let metrics = ordered(answer);
        let mut bodies: BTreeMap<Function, Body> = BTreeMap::new();
        let mut total = Costs { values: vec![0; metrics.len()], ..Costs::default() };
        for sample in &samples.all {
            let values = metrics.iter().map(|about| about.metric.value(&sample.metrics)).collect();
            let costs = Costs { blocks: sample.metrics.allocations(), values };
            total.add(&costs);
            let path = samples.stacks.frames(sample.stack.path);
            let mut path = path.into_iter().map(|frame| function(samples.recording, frame));
            let (mut callee, line) = path.next().unwrap_or((NO_STACK, 0));
            bodies.entry(callee).or_default().own.entry(line).or_default().add(&costs);
            // A recursive function calls another one once, however often it is on the stack.
            let mut seen = FxHashSet::default();
            for (caller, line) in path {
                if seen.insert((caller, line, callee)) {
                    bodies.entry(caller).or_default().calls.entry((line, callee)).or_default().add(&costs);
                }
                callee = caller;
            }
        }
        let mut names = Names::default();
        let mut text = head(answer, &metrics);
        for (function, body) in &bodies {
            let Function { object, file, name } = function;
            let (object, file, name) = (names.of("ob", object), names.of("fl", file), names.of("fn", name));
            let _ = write!(text, "\nob={object}\nfl={file}\nfn={name}\n");
            for (line, costs) in &body.own {
                let _ = writeln!(text, "{line}{}", costs.text());
            }
            for ((line, callee), costs) in &body.calls {
                let Function { object, file, name } = callee;
                let (object, file, name) = (names.of("ob", object), names.of("fl", file), names.of("fn", name));
                let _ = writeln!(text, "cob={object}\ncfi={file}\ncfn={name}\ncalls={} 0", costs.blocks);
                let _ = writeln!(text, "{line}{}", costs.text());
            }
            out.write_all(text.as_bytes())?;
            text.clear();
        }
        write!(out, "{text}\ntotals:{}\n", total.text())
    }
}

impl Format for Callgrind {
    fn extension(&self) -> &'static str {
        "callgrind"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let pairs = "it has pairs of caller and callee, no whole stacks: what a recursive function costs with all that it \
                     calls counts more than once. Numbers of calls are those of blocks";
        std::iter::once(pairs.to_owned()).chain(metrics::lacks(answer)).collect()
    }
}

const NO_STACK: Function = Function { object: "???", file: "???", name: "(no stack)" };

fn function(recording: &Recording, frame: FrameId) -> (Function<'_>, u32) {
    let texts = Texts::of(&recording.frames, frame);
    let file = texts.file.unwrap_or("???");
    let function = Function { object: texts.shown_module, file, name: qualified_name(texts.function) };
    (function, texts.line.unwrap_or(0))
}

/// The metrics, the one that is to be shown first before the others.
fn ordered(answer: &Answer) -> Vec<&'static About> {
    let mut all = metrics::metrics(answer);
    let first = metrics::first(answer, &all);
    all.get_mut(..=first).into_iter().for_each(|all| all.rotate_right(1));
    all
}

/// What an event of the format may be called: letters and digits.
pub fn event(about: &About) -> String {
    about.name.replace('-', "_")
}

fn head(answer: &Answer, metrics: &[&About]) -> String {
    let command = shell::line(answer.about.command).replace('\n', " ");
    let version = env!("CARGO_PKG_VERSION");
    let mut text =
        format!("# callgrind format\nversion: 1\ncreator: memtoll {version}\ncmd: {command}\npositions: line\n");
    let total = Total::of(answer);
    for error in metrics.iter().filter_map(|about| total.error(about.metric, &event(about))) {
        let _ = writeln!(text, "desc: Error: {error}");
    }
    for about in metrics {
        let _ = writeln!(text, "event: {} : {}", event(about), about.help);
    }
    let names: Vec<String> = metrics.iter().map(|about| event(about)).collect();
    let _ = writeln!(text, "events: {}", names.join(" "));
    text
}

/// Names are written once; then, their numbers stand for them.
#[derive(Default)]
struct Names<'n> {
    numbers: FxHashMap<(&'static str, &'n str), usize>,
}

impl<'n> Names<'n> {
    fn of(&mut self, kind: &'static str, name: &'n str) -> String {
        let next = self.numbers.len() + 1;
        let number = *self.numbers.entry((kind, name)).or_insert(next);
        if number == next { format!("({number}) {}", name.replace('\n', " ")) } else { format!("({number})") }
    }
}
