//! Who holds the resident set of a process at an instant.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::impossible::Impossible;
use crate::looks::{self, Why};
use crate::query::Instant;
use crate::resident_map::MapOwners;
use crate::rows::Place;
use crate::wastes::WasteRow;
use memtoll_analysis::global_variables::{self, GlobalVariable, Symbol};
use memtoll_analysis::names;
use memtoll_analysis::page_balance::{self, Balance, Part, Pin};
use memtoll_analysis::resident_curve;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::{ThreadFilter, process_id};
use memtoll_model::{Frames, Kept, Recording};
use memtoll_text::format;
use memtoll_trace::meta::LOOK_MISSED;
use memtoll_trace::path::last_part;
use memtoll_trace::snapshot::{Cause, Snapshot};
use memtoll_trace::symbols::file_name;
use serde::Serialize;

/// The balance of a process's pages.
#[derive(Serialize)]
pub struct Resident<'r> {
    pub pid: u32,
    /// What selects its process and no other.
    #[serde(skip)]
    pub process_id: String,
    /// What the process ran then: it may have executed another program before.
    pub program: &'r str,
    pub at_ns: u64,
    #[serde(flatten)]
    pub why: Why,
    /// All pages; the next ten add up to it. Bytes.
    pub rss: u64,
    pub live: u64,
    pub slack: Option<u64>,
    pub pinned: Option<u64>,
    pub free_pages: u64,
    pub mappings: u64,
    pub stacks: u64,
    pub globals: u64,
    pub files: u64,
    pub recorder: u64,
    pub other: u64,
    pub never_touched: u64,
    pub swapped: u64,
    pub huge_pages: Option<HugePages>,
    /// The kernel's figure before and after the look.
    pub kernel: [u64; 2],
    /// What answers malloc, as far as it is known.
    pub allocator: String,
    pub pins: Vec<PinRow<'r>>,
    /// They add up to `globals`, most first.
    pub globals_by_symbol: Vec<GlobalRow>,
    /// The function whose blocks, with those of all that it calls, keep most.
    pub held_below: Option<HeldBelow<'r>>,
    /// The resident set without the recorder, over time.
    pub curve: Vec<CurvePoint>,
    /// Where the resident set was clearly larger than at the highest look, if that is shown: memtoll did not look then.
    pub missed_peak: Option<CurvePoint>,
    /// Whose the cells of its map are, if there is one.
    #[serde(skip)]
    pub owners: Option<MapOwners<'r>>,
    /// What would make the resident set smaller, what saves most first.
    pub wastes: Vec<WasteRow<'r>>,
    /// As the analysis has it, for printers.
    #[serde(skip)]
    pub found: Balance,
    /// How many other processes have a snapshot.
    #[serde(skip)]
    pub others: usize,
    #[serde(skip)]
    pub rank: Rank,
}

/// malloc's memory in huge pages, bytes: all, that of live blocks, and what small pages would keep out of memory.
#[derive(Clone, Copy, Serialize)]
pub struct HugePages {
    pub bytes: u64,
    pub live: u64,
    pub unused: [u64; 2],
}

impl HugePages {
    fn of(found: &page_balance::HugePages) -> Option<HugePages> {
        let page_balance::HugePages { bytes, live, low, high } = *found;
        (bytes > 0).then_some(HugePages { bytes, live, unused: [low, high] })
    }
}

/// What was in memory at an instant, bytes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CurvePoint {
    pub at_ns: u64,
    pub bytes: u64,
}

/// The highest point of the resident set, if that is clearly more than a look found. Bytes, both without the recorder.
fn missed_peak(curve: &[CurvePoint], found: u64) -> Option<CurvePoint> {
    /// When it has so much more than at the last look, memtoll looks again, if that does not take too long.
    const CLEARLY: f64 = 1.0 + 1.0 / 16.0;
    let highest = curve.iter().max_by_key(|point| point.bytes)?;
    (highest.bytes as f64 > CLEARLY * found as f64).then_some(*highest)
}

/// A line that pins free memory.
#[derive(Serialize)]
pub struct PinRow<'r> {
    #[serde(flatten)]
    pub place: Option<Place<'r>>,
    pub share: u64,
    pub alone: u64,
    pub blocks: u64,
    pub bytes: u64,
    pub median_age_ns: u64,
}

/// A global variable.
#[derive(Serialize)]
pub struct GlobalRow {
    pub symbol: String,
    /// Path of the program or library.
    pub module: String,
    /// Its name, as its program was called.
    #[serde(skip)]
    pub module_name: String,
    /// Source file and line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// How much of it is in memory.
    pub bytes: u64,
    pub size: Option<u64>,
}

impl GlobalRow {
    /// Its source file's name and line, if they are known.
    pub fn place(&self) -> Option<String> {
        Some(format!("{}:{}", last_part(self.file.as_deref()?), self.line?))
    }

    fn new(frames: &Frames, of: GlobalVariable) -> GlobalRow {
        let GlobalVariable { symbol, module, bytes, size } = of;
        let module_name = file_name(frames.shown(&module)).to_owned();
        let (symbol, file, line) = match symbol {
            Symbol::Variable { name, file, line, .. } => (name, file, line),
            Symbol::Small => ("(variables below 256 B)".to_owned(), None, None),
            Symbol::Nothing => ("(no symbol)".to_owned(), None, None),
        };
        GlobalRow { symbol, module, module_name, file, line, bytes, size }
    }
}

/// A function, and what comes back if the blocks of all that it calls vanish.
#[derive(Serialize)]
pub struct HeldBelow<'r> {
    #[serde(flatten)]
    pub place: Place<'r>,
    pub alone: u64,
}

/// A snapshot that was asked for.
pub(crate) struct Chosen {
    /// Index of its process: of those that have one, that which had most.
    pub image: usize,
    pub snapshot: Snapshot,
    pub rank: Rank,
    /// How many other processes have one, too.
    others: usize,
}

/// How large the resident set was at a look, beside the others at the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rank {
    /// There are no others.
    Only,
    Highest,
    Lower,
}

/// The snapshot that was asked for.
pub(crate) fn choose(
    recording: &Recording,
    filter: &ThreadFilter,
    at: &Instant,
    tariff: &Tariff,
) -> Result<Chosen, Impossible> {
    let mut found: Vec<Chosen> = Vec::new();
    let time = |snapshot: &Snapshot| tariff.ns(snapshot.time.0 as f64) as u64;
    for index in (0..recording.images.len()).filter(|index| filter.of(*index).is_some()) {
        let all = recording.snapshots(index).map_err(|why| Impossible::NoPages { why: why.to_string() })?;
        let (count, highest) = (all.len(), all.iter().map(Snapshot::resident_bytes).max());
        let mut all = all.into_iter();
        let wanted = match at {
            Instant::Last => all.next_back(),
            Instant::Peak => all.max_by_key(Snapshot::resident_bytes),
            Instant::End => all.find(|snapshot| snapshot.cause == Cause::End),
            Instant::Near(ns) => all.min_by_key(|snapshot| time(snapshot).abs_diff(*ns)),
            Instant::Mark(wanted) => {
                all.find(|snapshot| matches!(&snapshot.cause, Cause::Mark { name, .. } if name == wanted))
            }
            Instant::Size(bytes) => all.find(|snapshot| snapshot.cause == Cause::Size(*bytes)),
        };
        found.extend(wanted.map(|snapshot| {
            let rank = match Some(snapshot.resident_bytes()) == highest {
                _ if count == 1 => Rank::Only,
                true => Rank::Highest,
                false => Rank::Lower,
            };
            Chosen { image: index, snapshot, rank, others: 0 }
        }));
    }
    let others = found.len().saturating_sub(1);
    let most = found.into_iter().max_by_key(|chosen| chosen.snapshot.resident_bytes());
    most.map(|chosen| Chosen { others, ..chosen }).ok_or_else(|| no_look(recording, filter, at, tariff))
}

/// Why there is none, and which there are.
fn no_look(recording: &Recording, filter: &ThreadFilter, at: &Instant, tariff: &Tariff) -> Impossible {
    if let Instant::Mark(name) = at
        && !recording.images.iter().any(|image| image.marks.iter().any(|mark| mark.name == *name))
    {
        return Impossible::no_mark(recording, name, None);
    }
    let chosen = recording.images.iter().enumerate().filter(|(index, _)| filter.of(*index).is_some());
    let ends = chosen.filter_map(|(_, image)| Some((image.about.pid, image.end.as_ref()?)));
    let missed: Vec<String> = ends
        .clone()
        .filter(|(_, end)| end.look_missed)
        .map(|(pid, _)| format!("process {pid}: {LOOK_MISSED}"))
        .collect();
    let all = looks::looks(recording, filter, |units| tariff.ns(units as f64) as u64).unwrap_or_default();
    if all.is_empty() {
        let refusals = ends.filter_map(|(pid, end)| Some((pid, end.pages_refused.as_ref()?)));
        let refusals =
            refusals.map(|(pid, why)| format!("the kernel refused to show the pages of process {pid}: {why}"));
        let refusals: Vec<String> = refusals.chain(missed).collect();
        if !refusals.is_empty() {
            return Impossible::NoPages { why: refusals.join("; ") };
        }
        let looks = "memtoll looks at the pages of processes that use 20 ms of CPU time or 16 MiB, when they end by themselves and the \
                     kernel shows them";
        let on_request = match recording.kept() {
            Kept::StillLive => "; of one that goes on, memtoll snapshot asks for a look",
            Kept::LiveAtEnd | Kept::NeverFreed => "",
        };
        return Impossible::NoPages { why: format!("{looks}{on_request}") };
    }
    let when = match at {
        Instant::Mark(name) => format!("at mark \"{name}\", because looking may take 1 % of the CPU time"),
        Instant::Size(bytes) => format!("when the resident set had passed {}", format::bytes(*bytes)),
        Instant::End if missed.is_empty() => "at the end".to_owned(),
        Instant::End => format!("at the end ({})", missed.join("; ")),
        Instant::Last | Instant::Peak | Instant::Near(_) => "then".to_owned(),
    };
    let mut there_are: Vec<String> = Vec::new();
    for look in &all {
        let called = look.at();
        if !there_are.contains(&called) {
            there_are.push(called);
        }
    }
    Impossible::NoLook { when, there_are }
}

impl<'r> Resident<'r> {
    /// The global variables by symbol, if they are much of the resident set: 1 MiB or 2 %.
    pub fn large_globals(&self) -> &[GlobalRow] {
        let is_much = self.globals >= 1 << 20 || self.globals * 50 >= self.rss;
        if is_much { &self.globals_by_symbol } else { &[] }
    }

    pub(crate) fn new(
        recording: &'r Recording,
        stacks: &mut Stacks<'r>,
        filter: &ThreadFilter,
        (at, cells): (&Instant, Option<usize>),
        tariff: &Tariff,
    ) -> Result<Resident<'r>, Impossible> {
        let Chosen { image: index, snapshot, rank, others } = choose(recording, filter, at, tariff)?;
        let found = page_balance::balance(stacks, index, &snapshot, cells)
            .map_err(|why| Impossible::NoPages { why: why.to_string() })?;
        let globals_by_symbol = global_variables::by_symbol(recording, index, &found.globals)
            .map_err(|why| Impossible::NoPages { why: why.to_string() })?;
        let part = |part| found.part(part);
        let is_known = found.unit.is_known();
        let pin = |pin: &Pin| PinRow {
            place: pin.frame.map(|frame| Place::of(&recording.frames, frame)),
            share: pin.share,
            alone: pin.alone,
            blocks: pin.blocks,
            bytes: pin.bytes,
            median_age_ns: tariff.ns(pin.median_age as f64) as u64,
        };
        let point = |(at, bytes): &(u64, u64)| CurvePoint { at_ns: tariff.ns(*at as f64) as u64, bytes: *bytes };
        let curve: Vec<CurvePoint> = resident_curve::of_image(recording, index).iter().map(point).collect();
        let own = found.resident.saturating_sub(part(Part::Recorder));
        Ok(Resident {
            pid: recording.images[index].about.pid,
            process_id: process_id(recording, index),
            program: names::program(&recording.images[index]),
            at_ns: tariff.ns(found.time as f64) as u64,
            why: Why::new(&found.cause, |units| tariff.ns(units as f64) as u64),
            rss: found.resident,
            live: part(Part::Live),
            slack: is_known.then(|| part(Part::Slack)),
            pinned: is_known.then(|| part(Part::Pinned)),
            free_pages: part(Part::FreePages),
            mappings: part(Part::Mappings),
            stacks: part(Part::Stacks),
            globals: part(Part::Globals),
            files: part(Part::Files),
            recorder: part(Part::Recorder),
            other: part(Part::Other),
            never_touched: found.never_touched,
            swapped: found.swapped,
            huge_pages: HugePages::of(&found.huge),
            kernel: [found.kernel.0, found.kernel.1],
            allocator: found.unit.allocator().to_owned(),
            pins: found.pins.iter().map(pin).collect(),
            globals_by_symbol: globals_by_symbol.into_iter().map(|of| GlobalRow::new(&recording.frames, of)).collect(),
            held_below: found
                .held_below
                .map(|held| HeldBelow { place: Place::of(&recording.frames, held.frame), alone: held.alone }),
            missed_peak: missed_peak(&curve, own).filter(|_| *at == Instant::Peak),
            curve,
            owners: found.map.as_ref().map(|map| MapOwners::new(recording, stacks, map)),
            wastes: found.wastes.iter().map(|waste| WasteRow::new(&recording.frames, waste)).collect(),
            others,
            rank,
            found,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_higher_point_of_the_curve_is_a_peak_that_was_missed() {
        let curve = [(1, 500), (2, 1_000), (3, 700)].map(|(at_ns, bytes)| CurvePoint { at_ns, bytes });
        assert_eq!(missed_peak(&curve, 900), Some(curve[1]));
        assert_eq!(missed_peak(&curve, 950), None);
        assert_eq!(missed_peak(&[], 0), None);
    }
}
