//! What is worth saying first of a recording: findings as data, each with its evidence. How they are worded is the
//! report's matter; whether something is a finding is decided here and nowhere else.

mod churn;
mod costly_line;
mod disk_waits;
mod grows;
mod hardly_touched;
mod heap_thrash;
mod lost;
mod never_freed;
mod no_lines;
mod no_names;
mod null_frees;
mod peak;
mod ranked;
mod repeated_faults;
mod resident;
mod touching_lines;
mod unnamed_code;
mod waiting;
mod wrapped;

pub use churn::Churn;
pub use costly_line::{CostlyLine, NoCostlyLine};
pub use disk_waits::WaitingForDisk;
pub use grows::Grows;
pub use hardly_touched::HardlyTouched;
pub use heap_thrash::TakenAgain;
pub use lost::Lost;
pub use never_freed::NeverFreed;
pub use no_lines::{BUILD_RUST_WITH_LINES, NoLines};
pub use no_names::NoNames;
pub use null_frees::NullFrees;
pub use peak::HoldsPeak;
pub use repeated_faults::FaultsAgain;
pub use resident::Resident;
pub use touching_lines::Toucher;
pub use waiting::Waiting;
pub use wrapped::Wrapped;

use crate::balance::Balance;
use crate::estimate::Estimate;
use crate::growth::{self, Growing};
use crate::inclusive_lines::{InclusiveLine, inclusive_lines};
use crate::names::is_before_attach;
use crate::page_balance::{self, AtEnd};
use crate::runtime_blocks::{RuntimeBlocks, runtime_blocks};
use crate::sites::{Row, rows_without};
use crate::stacks::Stacks;
use crate::sums::Sums;
use crate::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::costs::Charge;
use memtoll_trace::ids::Units;
use serde::Serialize;
use std::cell::OnceCell;
use std::ops::ControlFlow;

/// What a share is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whole {
    /// The CPU time of all that was added up, without the recorder ([`Balance::program`]), ns.
    ProcessorTime,
    /// The CPU time of some threads, or in a span, with that of the recorder, ns.
    ProcessorTimeOfPart,
    /// What memory cost, ns, where the CPU time is not known.
    CostOfMemory,
    /// The time that threads waited in the allocator, ns.
    Waiting,
    /// The time that threads waited for the disk in page faults, ns.
    WaitingForDisk,
    /// All allocations and reallocations.
    Allocations,
    /// Bytes live at the peak.
    Peak,
    /// Bytes that were never freed, those of the runtime aside.
    NeverFreed,
    /// What the allocator took from the system, bytes.
    TakenFromSystem,
    /// Bytes that were asked for.
    AskedFor,
    /// All releases of null pointers.
    NullFrees,
    /// The resident set at the end, bytes.
    ResidentAtEnd,
}

impl Whole {
    /// Whether it is CPU time.
    pub fn is_processor_time(self) -> bool {
        matches!(self, Whole::ProcessorTime | Whole::ProcessorTimeOfPart)
    }
}

/// A part of something. The part is never more than the whole.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Share {
    pub part: f64,
    /// What it is a part of.
    pub whole: f64,
    /// What that is.
    pub of: Whole,
    /// The part with the error of the share: less than its own where whatever makes it wrong makes the whole wrong, too.
    #[serde(skip)]
    pub estimate: Estimate,
}

impl Share {
    /// Nothing if the part would be more than the whole, which is then not known well enough.
    pub fn new(part: impl Into<Estimate>, whole: f64, of: Whole) -> Option<Share> {
        let estimate = part.into();
        let part = estimate.value;
        (part <= whole && whole > 0.0).then_some(Share { part, whole, of, estimate })
    }

    /// From 0 to 1.
    pub fn value(&self) -> f64 {
        self.part / self.whole
    }

    /// In percent, with the digits that are known.
    pub fn percent(&self) -> String {
        self.estimate.share_of(self.whole)
    }
}

/// What was found, with the numbers that show it.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "id", rename_all = "kebab-case")]
pub enum What {
    /// A line whose blocks or mappings cost much time.
    CostlyLine(Box<CostlyLine>),
    /// Memory costs little.
    NoCostlyLine(NoCostlyLine),
    /// Threads wait for each other in the allocator.
    Waiting(Waiting),
    /// Threads wait for the disk.
    WaitingForDisk(WaitingForDisk),
    /// The allocator takes memory from the system and gives it back, again and again.
    TakenAgain(TakenAgain),
    /// Memory is asked for and hardly used.
    HardlyTouched(HardlyTouched),
    /// Blocks live so shortly that one would do.
    Churn(Churn),
    /// One line has most of what blocks have at their peak.
    HoldsPeak(HoldsPeak),
    /// Blocks are never freed.
    NeverFreed(NeverFreed),
    /// Nothing points to blocks any more.
    Lost(Lost),
    /// Blocks of a line pile up: their number grows steadily.
    Grows(Grows),
    /// Memory is free and stays in the resident set.
    Resident(Resident),
    /// Null pointers are freed as often as others.
    NullFrees(NullFrees),
    /// Pages of the dearest line faulted more than once.
    FaultsAgain(FaultsAgain),
    /// Code of the program's own was built without line numbers.
    NoLines(NoLines),
    /// Functions have no names.
    NoNames(NoNames),
    /// Functions allocate on behalf of others.
    Wrapped(Box<Wrapped>),
}

impl What {
    /// Whether it says how to read the recording, and not what the program could do better.
    pub fn is_note(&self) -> bool {
        matches!(self, What::FaultsAgain(_) | What::NoLines(_) | What::NoNames(_) | What::Wrapped(_))
    }
}

/// A finding. There is one for each line: what else is found there is a part of it.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What.
    pub what: What,
    /// Where: a line with the sums of all that is allocated below it; `None`: the run as a whole.
    pub site: Option<Row>,
    /// How much it is of something.
    pub share: Option<Share>,
    /// The call sites of the line, those that cost most first.
    pub parts: Vec<Row>,
    /// What else was found at the line.
    pub also: Vec<(What, Option<Share>)>,
}

impl Finding {
    /// Of a line, or of the run as a whole.
    fn new(what: What, site: Option<Row>, share: Option<Share>) -> Finding {
        Finding { what, site, share, parts: Vec::new(), also: Vec::new() }
    }
}

/// What rules look at.
struct Facts<'a, 'b> {
    recording: &'a Recording,
    sums: &'a Sums,
    /// The call sites.
    sites: &'a [Row],
    /// In any order.
    lines: &'a [InclusiveLine],
    pages: Option<&'a page_balance::Balance>,
    /// The lines that grow, if the events were read for `pages`.
    growing: Option<Vec<Growing>>,
    /// See [`Facts::runtime`].
    runtime: OnceCell<RuntimeBlocks>,
    stacks: &'a mut Stacks<'b>,
    balance: &'a Balance,
    tariff: &'a Tariff,
}

impl Facts<'_, '_> {
    /// Blocks that the runtime of a language keeps.
    fn runtime(&self) -> &RuntimeBlocks {
        self.runtime.get_or_init(|| runtime_blocks(self.recording, self.sums))
    }

    /// The lines without these blocks.
    fn own_lines(&mut self) -> impl Iterator<Item = Row> + use<> {
        let runtime = self.runtime.take().unwrap_or_else(|| runtime_blocks(self.recording, self.sums));
        let own = rows_without(self.stacks, self.sums, self.sites, |node| runtime.has(node));
        self.runtime = runtime.into();
        inclusive_lines(&self.recording.frames, &own).into_iter().map(|line| line.row)
    }

    /// Whether the page faults of a line are those of memory that it asked for. Where lines are charged with what they pay, a line
    /// can touch memory of others, and others touch its own.
    fn faults_are_of_own_memory(&self) -> bool {
        self.sums.selection.charge == Charge::Allocation
    }

    /// CPU time of the program, ns, if it is known.
    fn processor(&self) -> Option<f64> {
        self.balance.program().map(|program| program.value)
    }

    /// The largest lines by a number, none of which is 0.
    fn largest<A: Ord + Default>(&self, of: impl Fn(&Row) -> A) -> Vec<&Row> {
        let mut rows: Vec<&Row> =
            self.lines.iter().map(|line| &line.row).filter(|row| of(row) > A::default()).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse(of(row)), row.frame));
        rows
    }
}

/// What holds the pages at the end, and the lines that grow, if both are wanted: events are read once. There is no balance if the
/// recording has several processes, or more events than can be read before a report must answer.
fn pages(
    stacks: &mut Stacks,
    sums: &Sums,
    tariff: &Tariff,
    wants_growth: bool,
) -> (Option<page_balance::Balance>, Option<Vec<Growing>>) {
    let recording = stacks.recording();
    let Some(mut at_end) = AtEnd::new(recording, sums, MOST_EVENTS) else { return (None, None) };
    let all = (Units::ZERO, Units::MAX);
    let may = wants_growth.then(|| growth::lines_that_may(stacks, at_end.index, all, &grows::forgets));
    let none_may = may.as_ref().is_some_and(Option::is_none);
    let mut lines = may.flatten().filter(|lines| Units(lines.ended()) <= at_end.time());
    let read = recording.for_each_events(at_end.index, |events| {
        at_end.add(events);
        lines.iter_mut().for_each(|lines| _ = lines.add_events(stacks, events));
        ControlFlow::Continue(())
    });
    if read.is_err() {
        return (None, None);
    }
    let growing = lines.map(|lines| lines.growing(tariff)).or_else(|| none_may.then(Vec::new));
    (at_end.finish(stacks), growing)
}

/// Reading more events takes longer than a report may take.
const MOST_EVENTS: u64 = 3_000_000;

/// The findings of what was added up and of the rows of its call sites, the most important first, and what holds the pages at the
/// end, if this was found for them.
pub fn findings_of(sums: &Sums, sites: &[Row], stacks: &mut Stacks) -> (Vec<Finding>, Option<page_balance::Balance>) {
    let recording = stacks.recording();
    let (balance, tariff) = (Balance::of_all(recording, sums), Tariff::of(recording).of_sums(sums));
    let frames = &recording.frames;
    let mut lines = inclusive_lines(frames, sites);
    // What there was before memtoll was attached is no line.
    lines.retain(|line| !line.row.frame.is_some_and(|frame| is_before_attach(frames, frame)));
    let (lines, runtime) = (&lines[..], OnceCell::new());
    let wants_growth = tariff.sees().frees && grows::may_be_found(recording, sums, lines, &tariff);
    let (held, growing) = pages(stacks, sums, &tariff, wants_growth);
    let (pages, balance, tariff) = (held.as_ref(), &balance, &tariff);
    let mut facts = Facts { recording, sums, sites, lines, pages, growing, runtime, stacks, balance, tariff };
    let mut found = costly_line::find(&mut facts);
    found.extend(waiting::find(&facts));
    found.extend(disk_waits::find(&facts));
    found.extend(heap_thrash::find(&facts));
    // Of lifetimes and live bytes, nothing can be said where frees are hidden.
    if tariff.sees().frees {
        found.extend(hardly_touched::find(&facts));
        found.extend(churn::find(&facts));
        found.extend(peak::find(&facts));
        found.extend(never_freed::find(&mut facts));
        found.extend(lost::find(&mut facts));
        found.extend(grows::find(&mut facts));
        found.extend(resident::find(&facts));
    }
    found.extend(null_frees::find(&facts));
    let mut found = ranked::by_line(found, &facts);
    found.extend(repeated_faults::find(&facts));
    // Who asks for lines of the library, or for some stacks only, knows what stands there.
    if facts.stacks.are_all_plain() {
        found.extend(no_lines::find(recording, sites));
        found.extend(no_names::find(frames, sites));
        // Where wrappers are folded, a note says so.
        if !facts.stacks.folds_wrappers() {
            found.extend(wrapped::find(facts.stacks, sums));
        }
    }
    (found, held)
}
