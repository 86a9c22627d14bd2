//! heaptrack's format, version 1, which each heaptrack since 1.0 reads: each block that is allocated or freed, in the order of
//! time, with the call stack and the size of its allocation. heaptrack adds them up itself.
//!
//! It is text, compressed by zstd: a letter and hexadecimal numbers a line. `s` is a text, `i` a place in the code, `t` a call
//! stack (a place and the number of its caller's stack), `a` a call stack with a size, `+` and `-` one more or less of these;
//! `c` is the time in ms. Numbers of texts, places and stacks begin with 1, and 0 is none; those of `a` begin with 0.

use crate::code_locations::{Location, Places};
use crate::format::{Format, needs_frees};
use crate::metrics;
use memtoll_analysis::resident;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::sums::Sums;
use memtoll_model::StackId;
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_tally::Selection;
use memtoll_text::shell;
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::Units;
use memtoll_trace::op::Effect;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::io::{Error, ErrorKind, Result, Write};
use std::ops::ControlFlow;
use zstd::stream::write::Encoder;

/// Each block that is allocated or freed.
pub struct Heaptrack;

/// heaptrack 1.0.0, whose files have this version.
const VERSION: [u64; 2] = [0x0001_0000, 1];
/// The fastest of zstd's levels: lines repeat each other.
const LEVEL: i32 = 1;
/// Bytes that are compressed at a time.
const TOGETHER: usize = 1 << 16;

impl Export for Heaptrack {
    fn name(&self) -> &'static str {
        "heaptrack"
    }

    fn help(&self) -> &'static str {
        "Each block of one process in heaptrack_gui and heaptrack_print"
    }

    fn view(&self, _asked: View) -> std::result::Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> Result<()> {
        if let Some(why) = self.refuses(answer) {
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        let Some((sums, index)) = only_image(answer) else { return Ok(()) };
        let mut file = File::new(answer, Encoder::new(out, LEVEL)?);
        file.head(answer, index);
        file.events(answer, sums, index)?;
        file.tail(answer, sums, index);
        file.flush()?;
        file.out.finish()?;
        Ok(())
    }
}

impl Format for Heaptrack {
    fn extension(&self) -> &'static str {
        "heaptrack.zst"
    }

    fn refuses(&self, answer: &Answer) -> Option<String> {
        let number = answer.basis.sums.as_ref().map_or(0, |sums| sums.counted().count());
        let why = format!(
            "it has room for one process, and {number} count: expected --process with one of those that memtoll report --list \
             processes shows"
        );
        (number > 1).then_some(why).or_else(|| needs_frees(answer))
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let mut lacks = vec![
            "it has blocks and times in ms: no costs, no threads, no mappings. What is temporary, heaptrack decides by itself"
                .to_owned(),
        ];
        let Some(sums) = &answer.basis.sums else { return lacks };
        if is_late(&sums.selection) {
            let before = "blocks that were there before the span are left out, and so are their shares of the peak and of what \
                          was not freed";
            lacks.push(before.to_owned());
        }
        if answer.basis.view.selects() || sums.are_parts() {
            lacks.push("its peak is the selection's own, not its share of the process's peak".to_owned());
        }
        if sums.counted().any(|(index, _)| !answer.basis.recording.images[index].pools.is_empty()) {
            lacks.push("it has the blocks that the program's own pools take, and none that they hand out".to_owned());
        }
        lacks.extend(metrics::not_among(answer, &["allocations", "bytes", "live", "live-blocks", "peak"]));
        lacks
    }
}

/// Whether blocks may have been there before what is selected.
fn is_late(selection: &Selection) -> bool {
    selection.from > Units::ZERO && !selection.instant
}

/// The one process image that counts.
fn only_image<'a>(answer: &'a Answer) -> Option<(&'a Sums, usize)> {
    let sums = answer.basis.sums.as_ref()?;
    Some((sums, sums.counted().next()?.0))
}

/// A file that is being written.
struct File<'r, W: Write> {
    out: Encoder<'static, W>,
    /// What is to be compressed next.
    lines: Vec<u8>,
    stacks: Stacks<'r>,
    places: Places<'r>,
    texts: FxHashMap<String, u64>,
    /// Places that are written.
    written: usize,
    /// By node: the number of its stack; nothing if the filter does not let it through.
    by_node: FxHashMap<StackId, Option<u64>>,
    /// By place and caller.
    traces: FxHashMap<(u64, u64), u64>,
    /// By stack and size: the number of an `a`.
    allocations: FxHashMap<(u64, u64), u64>,
    /// Blocks that are live, with the number of their `a`.
    live: FxHashMap<u64, u64>,
    /// The time that the file has come to, ms.
    now: u64,
}

impl<'r, W: Write> File<'r, W> {
    fn new(answer: &Answer<'r>, out: Encoder<'static, W>) -> File<'r, W> {
        let recording = answer.basis.recording;
        File {
            out,
            lines: Vec::with_capacity(2 * TOGETHER),
            stacks: Stacks::new(recording, &answer.basis.view),
            places: Places::new(recording),
            texts: FxHashMap::default(),
            written: 0,
            by_node: FxHashMap::default(),
            traces: FxHashMap::default(),
            allocations: FxHashMap::default(),
            live: FxHashMap::default(),
            now: 0,
        }
    }

    /// Who wrote it, what ran, on what.
    fn head(&mut self, answer: &Answer, index: usize) {
        self.line(b'v', &VERSION);
        let recording = answer.basis.recording;
        let command = shell::line(&recording.images[index].about.command);
        self.lines.extend_from_slice(format!("X {}\n", one_line(&command)).as_bytes());
        let machine = &recording.about.machine;
        let page = u64::from(machine.page.max(1));
        self.line(b'I', &[page, machine.memory / page]);
    }

    fn events(&mut self, answer: &Answer<'r>, sums: &Sums, index: usize) -> Result<()> {
        let recording = answer.basis.recording;
        let Some(threads) = sums.thread_filter.of(index) else { return Ok(()) };
        let (image, selection) = (&recording.images[index], sums.selection);
        let from = if is_late(&selection) { selection.from } else { Units::ZERO };
        let ms = |time: u64| (recording.about.clock.seconds(time) * 1e3) as u64;
        let mut written = Ok(());
        // The sums have reported damage.
        let _ = recording.for_each_events_between(index, from, selection.to, |events| {
            for event in events.iter().filter(|event| (from..=selection.to).contains(&event.time)) {
                let Block::Number(block) = event.block else { continue };
                match event.op.effect() {
                    _ if event.op.is_pooled() => {}
                    Effect::Acquire if threads.admit(event.thread) && selection.admits_size(event.size) => {
                        self.acquire(block.0, image.node(event.node), event, ms(event.time.0));
                    }
                    Effect::Release => self.release(block.0, ms(event.time.0)),
                    Effect::Acquire | Effect::Lend | Effect::Other => {}
                }
                if self.lines.len() >= TOGETHER {
                    written = self.flush();
                }
                if written.is_err() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        });
        written
    }

    /// When it ended, and its largest resident set.
    fn tail(&mut self, answer: &Answer, sums: &Sums, index: usize) {
        let recording = answer.basis.recording;
        let image = &recording.images[index];
        let ended = image.end.as_ref().map_or(recording.ended(), |end| end.ended).min(sums.selection.to.0);
        self.time((recording.about.clock.seconds(ended) * 1e3) as u64);
        if let Some(resident) = resident::of_image(recording, index).filter(|_| !sums.is_part()) {
            self.line(b'R', &[resident.program / u64::from(recording.about.machine.page.max(1))]);
        }
    }

    fn acquire(&mut self, block: u64, node: StackId, event: &Event, ms: u64) {
        let trace = match self.by_node.get(&node) {
            Some(known) => *known,
            None => {
                let trace = self.stacks.of(node).matches.then(|| self.trace(node));
                self.by_node.insert(node, trace);
                trace
            }
        };
        let Some(trace) = trace else { return };
        let next = self.allocations.len() as u64;
        let number = match self.allocations.entry((trace, event.size.0)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                new.insert(next);
                self.line(b'a', &[event.size.0, trace]);
                next
            }
        };
        self.time(ms);
        self.line(b'+', &[number]);
        self.live.insert(block, number);
    }

    fn release(&mut self, block: u64, ms: u64) {
        if let Some(number) = self.live.remove(&block) {
            self.time(ms);
            self.line(b'-', &[number]);
        }
    }

    fn time(&mut self, ms: u64) {
        if ms > self.now {
            self.now = ms;
            self.line(b'c', &[ms]);
        }
    }

    /// The number of a node's stack.
    fn trace(&mut self, node: StackId) -> u64 {
        let places = self.places.stack(&mut self.stacks, node);
        self.write_places();
        let mut caller = 0;
        for place in places.into_iter().rev() {
            let key = (place as u64 + 1, caller);
            let next = self.traces.len() as u64 + 1;
            caller = match self.traces.entry(key) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    new.insert(next);
                    self.line(b't', &[key.0, key.1]);
                    next
                }
            };
        }
        caller
    }

    /// Writes the places that are new.
    fn write_places(&mut self) {
        let places = std::mem::take(&mut self.places.locations);
        for location in &places[self.written..] {
            self.place(location);
        }
        self.written = places.len();
        self.places.locations = places;
    }

    /// Writes a place: its address and file, then functions with source files and lines, innermost first.
    fn place(&mut self, location: &Location) {
        let path = location.mapping.map_or("", |mapping| self.places.mappings[mapping].path);
        let mut numbers = vec![location.address, self.text(path)];
        for (function, line) in &location.lines {
            let (name, file) = {
                let function = &self.places.functions[*function];
                (function.full_name, function.file.unwrap_or(""))
            };
            numbers.extend([self.text(name), self.text(file), line.map_or(0, u64::from)]);
        }
        self.line(b'i', &numbers);
    }

    /// The number of a text.
    fn text(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        self.lines.extend_from_slice(format!("s {}\n", one_line(text)).as_bytes());
        let number = self.texts.len() as u64 + 1;
        self.texts.insert(text.to_owned(), number);
        number
    }

    fn line(&mut self, kind: u8, numbers: &[u64]) {
        self.lines.push(kind);
        for number in numbers {
            self.lines.push(b' ');
            let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1);
            self.lines
                .extend((0..digits).rev().map(|digit| b"0123456789abcdef"[(number >> (4 * digit) & 15) as usize]));
        }
        self.lines.push(b'\n');
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.lines)?;
        self.lines.clear();
        Ok(())
    }
}

/// A text that ends no line.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
