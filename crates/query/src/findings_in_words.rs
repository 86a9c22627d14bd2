//! Findings as sentences.

use crate::run_details::{mallocs, own_allocators};
use crate::types_of_blocks;
use crate::unnamed_functions;
use crate::wastes::saves;
use memtoll_analysis::c_library_blocks::{Entered, entered_by_all};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::findings::{
    self, Churn, CostlyLine, Grows, HardlyTouched, HoldsPeak, Lost, NeverFreed, NoCostlyLine, NoLines, NoNames,
    NullFrees, Resident, Share, TakenAgain, Toucher, Waiting, WaitingForDisk, What, Whole, Wrapped,
};
use memtoll_analysis::intervals::Interval;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::page_balance::Kind;
use memtoll_analysis::sites::Row;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::{FrameId, Kept, Recording};
use memtoll_text::format::{self, Unit};
use memtoll_trace::op::Op;

/// A finding in a sentence, without the last stop.
pub fn sentence(recording: &Recording, finding: &findings::Finding) -> String {
    let place = finding.site.as_ref().map_or_else(|| "the run".to_owned(), |site| place(recording, site));
    let text = one(recording, finding, &place, &finding.what, finding.share.as_ref());
    let maker = maker(recording, finding).map_or(String::new(), |maker| format!("; {maker}"));
    text + &maker
}

/// What else was found at a finding's line, in a sentence, without the last stop.
pub(crate) fn also(
    recording: &Recording,
    finding: &findings::Finding,
    (what, share): &(What, Option<Share>),
) -> String {
    const LINE: &str = "this line";
    let text = one(recording, finding, LINE, what, share.as_ref());
    text.strip_prefix(LINE).map(|rest| format!("This line{rest}")).unwrap_or(text)
}

/// The function of the C library that makes a line's blocks for itself: `made by getpwuid (libc.so.6)`.
pub(crate) fn maker(recording: &Recording, finding: &findings::Finding) -> Option<String> {
    let is_about_blocks = matches!(
        finding.what,
        What::CostlyLine(_)
            | What::Churn(_)
            | What::HoldsPeak(_)
            | What::NeverFreed(_)
            | What::Lost(_)
            | What::Grows(_)
            | What::HardlyTouched(_)
    );
    let site = finding.site.as_ref().filter(|_| is_about_blocks)?;
    let Entered { function, library } = entered_by_all(recording, site)?;
    Some(format!("made by {function} ({library})"))
}

/// What was found at a place, in a sentence.
fn one(recording: &Recording, finding: &findings::Finding, place: &str, what: &What, share: Option<&Share>) -> String {
    match what {
        What::CostlyLine(line) => costly_line(recording, place, line, finding, share),
        What::NoCostlyLine(found) => no_costly_line(place, found, share),
        What::Waiting(Waiting { waiting_ns, waiting_interval }) => {
            let time = with_error(*waiting_ns, *waiting_interval);
            format!("Threads wait {time} for each other in the allocator, {} of it at {place}", percent(share))
        }
        What::WaitingForDisk(waiting) => {
            let time = with_error(waiting.waiting_ns, waiting.waiting_interval);
            let faults = disk_faults(waiting);
            format!("Threads wait {time} for the disk in {faults}, {} of it at {place}", percent(share))
        }
        What::TakenAgain(TakenAgain { bytes, calls }) => {
            let (bytes, calls) = (format::bytes(*bytes), format::counted(*calls, "call"));
            format!("{place} takes {bytes} from the system again and again, in {calls}")
        }
        What::HardlyTouched(memory) => {
            let touched = touched_in_words(self::touched(memory), memory.unseen_bytes);
            format!("{place} asks for {} and hardly touches it: {touched}", format::bytes(memory.bytes))
        }
        What::Churn(churn) => self::churn(place, churn, share),
        What::HoldsPeak(HoldsPeak { bytes, blocks }) => format!(
            "{place} has {} of the bytes live in blocks at their peak: {} in {}",
            percent(share),
            format::bytes(*bytes),
            format::counted(*blocks, "block")
        ),
        What::NeverFreed(NeverFreed { blocks, bytes }) => format!(
            "{} of {place} {} {}: {}, {} of everything {}",
            format::counted(*blocks, "block"),
            format::are(*blocks),
            recording.kept().words(),
            format::bytes(*bytes),
            percent(share),
            if recording.kept() == Kept::NeverFreed { "the program never frees" } else { "that is live at the end" }
        ),
        What::Lost(lost) => self::lost(place, lost),
        What::Grows(grows) => format!(
            "Blocks of {place} pile up: {} live when 98 % of the run is over, at least {} of them older than any that was freed; they grow by {}",
            format::counted(grows.blocks, "block"),
            format::count(grows.older),
            growth(grows)
        ),
        What::Resident(resident) => stays_resident(place, resident, share),
        What::NullFrees(NullFrees { calls }) => {
            format!("free is called {} with a null pointer, {} of it at {place}", format::often(*calls), percent(share))
        }
        What::FaultsAgain(_) => format!("More pages faulted at {place} than were asked for: {AGAIN}"),
        What::NoLines(lines) => no_lines(lines),
        What::NoNames(NoNames { files }) => unnamed_functions::sentence(recording, files),
        What::Wrapped(wrapped) => self::wrapped(recording, wrapped, share),
    }
}

/// `Blocks of make_node (frag.cpp:6) pin free memory: 28.5 % of the resident set at the end, 57.9 MiB to 61.0 MiB, half of it free
/// for 3.97 s`.
fn stays_resident(place: &str, resident: &Resident, share: Option<&Share>) -> String {
    let what = match resident.why {
        Kind::FreePages => "malloc_trim(0) would give free pages back".to_owned(),
        Kind::Pinned { .. } => format!("Blocks of {place} pin free memory"),
        Kind::TopOfHeap { .. } => format!("Blocks of {place} on top of the heap keep free memory below them"),
        Kind::Arenas { heaps, .. } => format!("{} of threads keep free memory", format::counted(heaps, "heap")),
        Kind::Rounding { .. } => format!("Sizes of {place} are rounded up"),
        Kind::KeptByAllocator => "jemalloc keeps free pages".to_owned(),
        Kind::HugePages { .. } => "Malloc's huge pages have parts in memory that no block ever used".to_owned(),
        // It saves no memory, so it is none of the findings.
        Kind::NeverTouched { .. } => format!("Blocks of {place} were touched only in part"),
    };
    let saves = saves(resident.low, resident.high);
    let lasting = match resident.why.is_freed() {
        true => format!(", half of it free for {}", format::seconds(resident.free_for_ns / 1e9)),
        false => String::new(),
    };
    format!("{what}: {} of the resident set at the end, {saves}{lasting}", percent(share))
}

/// How fast blocks that pile up grow.
pub(crate) fn growth(grows: &Grows) -> String {
    let bytes = |rate: f64| format::bytes(rate.max(0.0) as u64);
    let [low, high] = grows.interval;
    format!("{} a second ({} to {})", bytes(grows.bytes_per_second), bytes(low), bytes(high))
}

/// Why pages fault that have faulted before.
pub const AGAIN: &str =
    "a page faults again when it is written after it was only read, after a fork, and after madvise";

fn no_lines(NoLines { file, is_rust }: &NoLines) -> String {
    let name = names::last_part(file);
    match is_rust {
        true => format!(
            "{name} was built without line numbers: {} gives it these, and so does debug = \"line-tables-only\" under \
             [profile.release] in its Cargo.toml; then record it again",
            findings::BUILD_RUST_WITH_LINES
        ),
        false => format!("{name} was built without line numbers: compile it with -g, and record it again"),
    }
}

/// `75.0 % of all allocations are made in xmalloc, for 17 callers (parse 31.0 %, read 8.0 %)`.
fn wrapped(recording: &Recording, wrapped: &Wrapped, share: Option<&Share>) -> String {
    let wrappers = &wrapped.wrappers;
    let one = |(frame, number): &(FrameId, u64)| {
        format!("{} {}", names::function(&recording.frames, *frame), format::percent(*number, wrappers.allocations))
    };
    format!(
        "{} of all allocations are made in {}, for {} ({})",
        percent(share),
        wrappers.names.join(", "),
        format::counted(wrappers.callers as u64, "caller"),
        wrappers.largest.iter().map(one).collect::<Vec<_>>().join(", ")
    )
}

/// `Lines pay 493 ms for memory, 9.1 % of the program's CPU time; the dearest, grow (vector.h:12), takes 1.0 %`.
fn no_costly_line(place: &str, found: &NoCostlyLine, share: Option<&Share>) -> String {
    let time = with_error(found.cost_ns, found.cost_interval);
    let of = share.map_or(Whole::ProcessorTime, |share| share.of);
    let all = format!("Lines pay {time} for memory, {} of {}", percent(share), of_costs(of));
    match found.is_little {
        true => format!("{all}: little to gain"),
        false => {
            let line = found.line_interval.around(found.line_ns).share_of(found.processor_ns);
            format!("{all}; the dearest, {place}, takes {line}")
        }
    }
}

/// A time, ns, as far as it is known.
fn with_error(ns: f64, interval: Interval) -> String {
    interval.around(ns).time_with_error()
}

/// What a share of a cost is of. Of some threads, or in a span, the recorder's part of it is not known.
fn of_costs(whole: Whole) -> &'static str {
    match whole {
        Whole::ProcessorTime => "the program's CPU time",
        Whole::ProcessorTimeOfPart => "the CPU time",
        _ => "what memory costs",
    }
}

fn percent(share: Option<&Share>) -> String {
    share.map_or_else(|| "a part".to_owned(), Share::percent)
}

/// Page faults that read from the disk: `52 page faults`.
pub(crate) fn disk_faults(waiting: &WaitingForDisk) -> String {
    waiting.major_faults_interval.around(waiting.major_faults as f64).things("page fault")
}

/// What was touched of memory that hardly was, bytes.
pub(crate) fn touched(memory: &HardlyTouched) -> Estimate {
    memory.touched_interval.around(memory.touched_bytes as f64)
}

pub(crate) fn place(recording: &Recording, site: &Row) -> String {
    let place =
        site.frame.map_or_else(|| site.label.clone(), |frame| names::function_and_place(&recording.frames, frame));
    place + &names::ran_in(recording, site)
}

/// `CharRow::CharRow (char_row.hpp:11) takes 21 % of the program's CPU time: 9,001 × vector<Cell> of 120 elements (480 B); 76 %
/// of it page faults of memory touched for the first time`.
fn costly_line(
    recording: &Recording,
    place: &str,
    line: &CostlyLine,
    finding: &findings::Finding,
    share: Option<&Share>,
) -> String {
    let whole = share.map_or(Whole::CostOfMemory, |share| share.of);
    let mut text = format!("{place} takes {} of {}", percent(share), of_costs(whole));
    if let Some(what) = finding.site.as_ref().and_then(|site| memory(line, site)) {
        text += &format!(": {what}");
        text += &types_of_blocks::listed(&finding.parts);
    }
    if line.touched_for_the_allocator_bytes > line.touched_bytes / 2 {
        text += &format!(
            ", and {} that the allocator needs for itself",
            format::bytes(line.touched_for_the_allocator_bytes)
        );
    }
    let is_of_waits = matches!(finding.what, What::Waiting(_) | What::WaitingForDisk(_));
    let joins_blocks = finding.site.as_ref().is_some_and(|site| joins_blocks(recording, site));
    text += &most_of(line, whole, is_of_waits, joins_blocks);
    if !line.touched_by.is_empty() {
        let one =
            |by: &Toucher| format!("{} ({:.0} %)", names::function(&recording.frames, by.frame), by.share * 100.0);
        let all: Vec<String> = line.touched_by.iter().map(one).collect();
        text += &format!("; touched by {}: --paid shows who pays", all.join(", "));
    }
    text
}

/// `format (log.cpp:7) allocates 51,816 blocks that are freed before the thread's next allocation: 18.2 % of all
/// allocations, 100.0 % of the line's own; the allocator takes under 2.7 ms for the line, 0.2 % of CPU time`.
fn churn(place: &str, churn: &Churn, share: Option<&Share>) -> String {
    let mut text = format!(
        "{place} allocates {} that are freed before the thread's next allocation: {} of all allocations, {} of the \
         line's own",
        format::counted(churn.temporary, "block"),
        percent(share),
        format::percent(churn.temporary, churn.blocks)
    );
    if let Some(of_all) = churn.of_processor {
        let time = churn.allocator_interval.around(churn.allocator_ns);
        text += &format!(
            "; the allocator takes {} for the line, {} of CPU time",
            time.time_with_error(),
            time.share_of(churn.allocator_ns / of_all)
        );
    }
    text
}

/// `100 blocks of remember (game.cpp:62) are lost, 400.0 KiB: nothing points to them when the program ends`.
fn lost(place: &str, lost: &Lost) -> String {
    let direct = lost.blocks - lost.indirectly;
    let pointed = match (direct, lost.indirectly) {
        (0, _) => "only lost blocks point to them".to_owned(),
        (1, 0) if lost.blocks == 1 => "nothing points to it".to_owned(),
        (_, 0) => "nothing points to them".to_owned(),
        (direct, others) => {
            let number = format::count(others);
            let others = format::plural(others, "one", &number);
            format!("nothing points to {} of them, and only lost blocks to the other {others}", format::count(direct))
        }
    };
    format!(
        "{} of {place} {} lost, {}: {pointed} when the program ends",
        format::counted(lost.blocks, "block"),
        format::are(lost.blocks),
        format::bytes(lost.bytes)
    )
}

/// Whether all that takes a line's calls long, beside page faults, mappings and waiting, is that the allocator sorts free blocks and
/// joins them with their neighbours: glibc's, which leaves both to later calls (malloc/malloc.c, `malloc_consolidate` and the unsorted
/// chunks), where these neither copy nor zero. Without the kernel's word, a call may as well have stood still.
fn joins_blocks(recording: &Recording, site: &Row) -> bool {
    let mallocs = mallocs(recording);
    let is_glibc = !mallocs.is_empty() && mallocs.iter().all(|malloc| malloc.about.name.starts_with("glibc"));
    is_glibc
        && Tariff::of(recording).sees().switches
        && own_allocators(recording).is_empty()
        && site.metrics.operations & Op::ZEROED == 0
        && site.metrics.reallocations == 0
}

/// What most of a line's cost is. Waiting takes no CPU time and stands beside it, unless the finding `is_of_waits`; `joins_blocks` as
/// [`joins_blocks`] says.
fn most_of(line: &CostlyLine, of: Whole, is_of_waits: bool, joins_blocks: bool) -> String {
    let of_processor = of.is_processor_time();
    let working = [
        (
            line.fault_time_ns,
            if line.touched_bytes > 0 { "page faults of memory touched for the first time" } else { "page faults" },
        ),
        (line.allocator_ns, "the allocator's own work"),
        (line.mapping_ns, "making and removing mappings"),
    ];
    let waiting = [(line.waiting_ns, "waiting in the allocator"), (line.reading_ns, "waiting for the disk")];
    let largest = |parts: &[(f64, &'static str)]| parts.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0));
    let (parts, whole) = match of_processor {
        true => (working.to_vec(), working.iter().map(|(ns, _)| ns).sum()),
        false => ([&working[..], &waiting[..]].concat(), line.cost_ns),
    };
    let mut text = String::new();
    if let Some((ns, what)) = largest(&parts).filter(|_| whole > 0.0) {
        text += &format!("; {} of it {what}", format::percent(ns as u64, whole as u64));
        // So slow a call is news: malloc takes some 20 ns.
        let a_call = line.allocator_ns / line.blocks.max(1) as f64;
        if ns == line.allocator_ns && a_call >= 100e3 {
            let each =
                line.intervals.around(Metric::Allocator, line.allocator_ns).scaled(1.0 / line.blocks.max(1) as f64);
            text += &format!(", {} a block", each.known_time());
            if joins_blocks {
                text += ", in which glibc sorts and joins what other lines freed";
            }
        }
    }
    if let Some((ns, what)) =
        largest(&waiting).filter(|(ns, _)| of_processor && !is_of_waits && *ns * 10.0 >= whole && *ns > 0.0)
    {
        let metrics = [(line.waiting_ns, Metric::Waiting), (line.reading_ns, Metric::Reading)];
        let interval = metrics.into_iter().find(|(of, _)| *of == ns).and_then(|(_, metric)| line.intervals.get(metric));
        let time = interval.map_or_else(|| format::seconds(ns / 1e9), |interval| with_error(ns, interval));
        text += &format!("; {time} more {what}");
    }
    text
}

/// What a line allocates or maps.
pub(crate) fn memory(line: &CostlyLine, site: &Row) -> Option<String> {
    if line.mapped_bytes > line.bytes {
        let (number, bytes) = (format::counted(line.mappings, "mapping"), format::bytes(line.mapped_bytes));
        return Some(format!("{number} of {bytes} together that the program makes itself"));
    }
    if line.blocks == 0 {
        return None;
    }
    let number = format::count(line.blocks);
    let size = match line.block_size {
        Some(size) => format::bytes(size),
        None => format!("{} on average", format::bytes(line.bytes / line.blocks)),
    };
    Some(match (&site.type_name, line.elements) {
        (Some(kind), Some(elements)) => {
            let elements = format::counted(elements, "element");
            format!("{number} × {} of {elements} ({size})", names::short_kind(kind))
        }
        (Some(kind), None) => format!("{number} × {} of {size}", names::short_kind(kind)),
        (None, _) => format!("{} of {size}", format::counted(line.blocks, "block")),
    })
}

/// What is known to have been touched, and what may have been, bytes.
fn touched_in_words(touched: Estimate, unseen: u64) -> String {
    let unseen = unseen as f64;
    match unseen > touched.value / 10.0 {
        true => format!(
            "{} to {} touched (page faults inside system calls are not shown)",
            Unit::Bytes.show(touched.low),
            Unit::Bytes.show(touched.high + unseen)
        ),
        false => format!("{} touched", touched.with_error(Unit::Bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_analysis::intervals::Intervals;

    fn nothing() -> CostlyLine {
        CostlyLine {
            blocks: 0,
            bytes: 0,
            block_size: None,
            elements: None,
            mappings: 0,
            mapped_bytes: 0,
            touched_bytes: 0,
            touched_for_the_allocator_bytes: 0,
            never_freed: Some(0),
            lifetime_ns: Some(0.0),
            cost_ns: 0.0,
            allocator_ns: 0.0,
            fault_time_ns: 0.0,
            zeroing_ns: 0.0,
            mapping_ns: 0.0,
            waiting_ns: 0.0,
            reading_ns: 0.0,
            intervals: Intervals::default(),
            touched_by: Vec::new(),
        }
    }

    fn interval(low: f64, high: f64) -> Interval {
        Interval { low: low as i64, high: high as i64 }
    }

    #[test]
    fn that_all_lines_cost_little_is_not_said_of_some() {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/forks.memtoll");
        let recording = Recording::open(std::path::Path::new(golden)).unwrap();
        let is_said = |query: crate::Query| {
            let answer = crate::ask(&recording, &crate::Query { findings: true, ..query }).unwrap();
            let found = answer.findings.unwrap();
            found.iter().any(|found| matches!(found.found.what, What::NoCostlyLine(_)))
        };
        let select = |filter: Option<&str>, drop: Option<&str>| crate::Query {
            filter: filter.map(str::to_owned),
            drop: drop.map(str::to_owned),
            ..crate::Query::default()
        };
        assert!(is_said(select(None, None)));
        assert!(!is_said(select(Some("main"), None)) && !is_said(select(None, Some("no_such_function"))));
    }

    #[test]
    fn waiting_is_no_part_of_processor_time() {
        let line = CostlyLine {
            mappings: 1,
            cost_ns: 300e6,
            fault_time_ns: 10e6,
            mapping_ns: 30e6,
            reading_ns: 260e6,
            ..nothing()
        };
        assert_eq!(
            most_of(&line, Whole::ProcessorTime, false, false),
            "; 75.0 % of it making and removing mappings; 260 ms more waiting for the disk"
        );
        assert_eq!(most_of(&line, Whole::ProcessorTime, true, false), "; 75.0 % of it making and removing mappings");
        assert_eq!(most_of(&line, Whole::CostOfMemory, false, false), "; 86.7 % of it waiting for the disk");
        let quick = CostlyLine { reading_ns: 1e6, cost_ns: 41e6, ..line };
        assert_eq!(most_of(&quick, Whole::ProcessorTime, false, false), "; 75.0 % of it making and removing mappings");
    }

    #[test]
    fn few_slow_calls_say_how_slow() {
        let line = CostlyLine { blocks: 5, allocator_ns: 77.7e6, fault_time_ns: 3e6, cost_ns: 80.7e6, ..nothing() };
        assert_eq!(
            most_of(&line, Whole::ProcessorTime, false, false),
            "; 96.3 % of it the allocator's own work, 15.5 ms a block"
        );
        assert_eq!(
            most_of(&line, Whole::ProcessorTime, false, true),
            "; 96.3 % of it the allocator's own work, 15.5 ms a block, in which glibc sorts and joins what other lines freed"
        );
        let many = CostlyLine { blocks: 1_000_000, ..line };
        assert_eq!(most_of(&many, Whole::ProcessorTime, false, false), "; 96.3 % of it the allocator's own work");
    }

    #[test]
    fn no_costly_line_contradicts_no_table() {
        let share = |part| Share::new(part, 505e6, Whole::ProcessorTime);
        let found = NoCostlyLine {
            cost_ns: 20.5e6,
            cost_interval: interval(18.5e6, 22.5e6),
            line_ns: 8.7e6,
            line_interval: interval(7.4e6, 10e6),
            processor_ns: 505e6,
            is_little: false,
        };
        assert_eq!(
            no_costly_line("f (a.c:1)", &found, share(20.5e6).as_ref()),
            "Lines pay 21 ± 2 ms for memory, 4.1 % of the program's CPU time; the dearest, f (a.c:1), takes 1.7 %"
        );
        let little =
            NoCostlyLine { cost_ns: 5e6, cost_interval: interval(-1e6, 11e6), line_ns: 5e6, is_little: true, ..found };
        assert_eq!(
            no_costly_line("f (a.c:1)", &little, share(5e6).as_ref()),
            "Lines pay under 11 ms for memory, 1.0 % of the program's CPU time: little to gain"
        );
        let of_thread = Share { of: Whole::ProcessorTimeOfPart, ..share(5e6).unwrap() };
        assert_eq!(
            no_costly_line("f (a.c:1)", &little, Some(&of_thread)),
            "Lines pay under 11 ms for memory, 1.0 % of the CPU time: little to gain"
        );
    }

    #[test]
    fn churn_says_what_it_costs() {
        let few = Churn {
            temporary: 5_000,
            blocks: 10_000,
            allocator_ns: 1.3e6,
            allocator_interval: interval(-0.1e6, 2.7e6),
            of_processor: Some(0.002),
        };
        let share = Share::new(5e3, 5e4, Whole::Allocations);
        assert_eq!(
            churn("f (a.c:1)", &few, share.as_ref()),
            "f (a.c:1) allocates 5,000 blocks that are freed before the thread's next allocation: 10.0 % of all \
             allocations, 50.0 % of the line's own; the allocator takes under 2.7 ms for the line, < 0.5 % of CPU time"
        );
        let unknown = Churn { of_processor: None, ..few };
        assert!(churn("f", &unknown, share.as_ref()).ends_with("50.0 % of the line's own"));
    }

    #[test]
    fn what_may_have_been_touched_is_said() {
        let bytes = |value: u32| Estimate::exact(f64::from(value));
        assert_eq!(touched_in_words(bytes(3 << 20), 0), "3.0 MiB touched");
        assert_eq!(touched_in_words(bytes(3 << 20).give_or_take(2.5e5), 0), "3.0 ± 0.2 MiB touched");
        let range = touched_in_words(bytes(8192), 14 << 20);
        assert_eq!(range, "8.0 KiB to 14.0 MiB touched (page faults inside system calls are not shown)");
    }
    #[test]
    fn lost_blocks_are_counted_in_words() {
        let said = |blocks, indirectly| lost("main", &Lost { blocks, bytes: 24, indirectly, live_blocks: 9 });
        assert_eq!(said(1, 0), "1 block of main is lost, 24 B: nothing points to it when the program ends");
        let of_both = "3 blocks of main are lost, 24 B: nothing points to 2 of them, and only lost blocks to the other one when the program ends";
        assert_eq!(said(3, 1), of_both);
    }
}
