//! Who holds the resident set of a process at an instant.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::impossible::Impossible;
use crate::query::Instant;
use crate::rows::Place;
use crate::wastes::WasteRow;
use memtoll_analysis::page_balance::{self, Balance, Part, Pin};
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_trace::snapshot::{Cause, Snapshot};
use serde::Serialize;

/// The balance of a process's pages.
#[derive(Serialize)]
pub struct Resident<'r> {
    pub pid: u32,
    pub at_ns: u64,
    pub cause: Cause,
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
    /// The kernel's figure before and after the look.
    pub kernel: [u64; 2],
    /// What answers malloc, as far as it is known.
    pub allocator: String,
    pub pins: Vec<PinRow<'r>>,
    /// The function whose blocks, with those of all that it calls, keep most.
    pub held_below: Option<HeldBelow<'r>>,
    /// What would make the resident set smaller, what saves most first.
    pub wastes: Vec<WasteRow<'r>>,
    /// As the analysis has it, for printers.
    #[serde(skip)]
    pub found: Balance,
    /// How many other processes have a snapshot.
    #[serde(skip)]
    pub others: usize,
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

/// A function, and what comes back if the blocks of all that it calls vanish.
#[derive(Serialize)]
pub struct HeldBelow<'r> {
    #[serde(flatten)]
    pub place: Place<'r>,
    pub alone: u64,
}

/// The snapshot that was asked for: of the process that had most.
fn choose(
    recording: &Recording,
    filter: &ThreadFilter,
    at: Instant,
    tariff: &Tariff,
) -> Result<(usize, Snapshot, usize), Impossible> {
    let mut found: Vec<(usize, Snapshot)> = Vec::new();
    let mut processes = 0;
    let time = |snapshot: &Snapshot| tariff.ns(snapshot.time.0 as f64) as u64;
    for index in (0..recording.images.len()).filter(|index| filter.of(*index).is_some()) {
        let all = recording.snapshots(index).map_err(|why| Impossible::NoPages { why: why.to_string() })?;
        let wanted = match at {
            Instant::Last => all.into_iter().next_back(),
            Instant::Peak => all.into_iter().max_by_key(Snapshot::resident_bytes),
            Instant::End => all.into_iter().find(|snapshot| snapshot.cause == Cause::End),
            Instant::Near(ns) => all.into_iter().min_by_key(|snapshot| time(snapshot).abs_diff(ns)),
        };
        processes += usize::from(wanted.is_some());
        found.extend(wanted.map(|snapshot| (index, snapshot)));
    }
    let most = found.into_iter().max_by_key(|(_, snapshot)| snapshot.resident_bytes());
    let (index, snapshot) = most.ok_or_else(|| Impossible::NoPages {
        why:
            "memtoll looks at the pages of processes that use 20 ms of CPU time or 16 MiB, when they end by themselves and the kernel shows them"
                .to_owned(),
    })?;
    Ok((index, snapshot, processes - 1))
}

impl<'r> Resident<'r> {
    pub(crate) fn new(
        recording: &'r Recording,
        stacks: &mut Stacks<'r>,
        filter: &ThreadFilter,
        at: Instant,
        tariff: &Tariff,
    ) -> Result<Resident<'r>, Impossible> {
        let (index, snapshot, others) = choose(recording, filter, at, tariff)?;
        let found = page_balance::balance(stacks, index, &snapshot)
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
        Ok(Resident {
            pid: recording.images[index].about.pid,
            at_ns: tariff.ns(found.time as f64) as u64,
            cause: found.cause,
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
            kernel: [found.kernel.0, found.kernel.1],
            allocator: found.unit.allocator().to_owned(),
            pins: found.pins.iter().map(pin).collect(),
            held_below: found
                .held_below
                .map(|held| HeldBelow { place: Place::of(&recording.frames, held.frame), alone: held.alone }),
            wastes: found.wastes.iter().map(|waste| WasteRow::new(&recording.frames, waste)).collect(),
            others,
            found,
        })
    }
}
