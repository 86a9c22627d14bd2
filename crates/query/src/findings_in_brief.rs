//! Findings in a few words, for a screen that has room for the most important ones.

use crate::findings::Finding;
use crate::findings_in_words::{disk_faults, growth, maker, memory, place, touched};
use crate::wastes::saves;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::findings::{CostlyLine, Share, What, Whole};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::page_balance::Kind;
use memtoll_model::Recording;
use memtoll_text::format::{self, Unit};

/// A finding in a few words.
pub struct Brief {
    /// What it costs, in its own unit: `5.4 ms`, `7.9 MiB`.
    pub cost: String,
    /// How much that is of what, where it is a part of something: `15 % of CPU time`.
    pub share: Option<String>,
    /// The line, or what else it is about.
    pub place: String,
    /// What happens there.
    pub what: String,
}

/// What is less than this part of a whole is not worth a word.
pub const LEAST: f64 = 0.01;

/// A finding in a few words; `None` for what is no line of the program's, such as that memory is cheap.
pub fn brief(recording: &Recording, finding: &Finding) -> Option<Brief> {
    let share = finding.share.as_ref();
    // The place is the line with the largest share.
    let of_line = |all: Estimate| share.map_or(all, |share| share.estimate);
    let (cost, what) = match &finding.what {
        What::CostlyLine(line) => {
            let time = line.intervals.around(Metric::Cost, line.cost_ns);
            (time.known_time(), costly_line(line, finding))
        }
        What::Waiting(waiting) => {
            let all = waiting.waiting_interval.around(waiting.waiting_ns);
            (of_line(all).known_time(), "threads wait for each other in the allocator".to_owned())
        }
        What::WaitingForDisk(waiting) => {
            let all = waiting.waiting_interval.around(waiting.waiting_ns);
            (of_line(all).known_time(), format!("threads wait for the disk in {}", disk_faults(waiting)))
        }
        What::TakenAgain(taken) => {
            let bytes = of_line(Estimate::exact(taken.bytes as f64)).value;
            (format::bytes(bytes as u64), "taken from the system and given back again and again".to_owned())
        }
        What::HardlyTouched(memory) => {
            let touched = touched(memory).with_error(Unit::Bytes);
            (format::bytes(memory.bytes), format!("asked for, {touched} of it touched"))
        }
        // Blocks may be many and cheap.
        What::Churn(churn) if churn.of_processor.is_some_and(|part| part < LEAST) => return None,
        What::Churn(churn) => {
            let blocks = format::counted(churn.temporary, "block");
            let cost = match churn.of_processor {
                Some(_) => churn.allocator_interval.around(churn.allocator_ns).known_time(),
                None => format::count(churn.temporary),
            };
            (cost, format!("{blocks} freed before the thread's next allocation"))
        }
        What::HoldsPeak(memory) => (format::bytes(memory.bytes), format::counted(memory.blocks, "block")),
        What::NeverFreed(memory) => (format::bytes(memory.bytes), format::counted(memory.blocks, "block")),
        What::Lost(lost) => (format::bytes(lost.bytes), format!("{} lost", format::counted(lost.blocks, "block"))),
        What::Grows(grows) => {
            let blocks = format::counted(grows.blocks, "block");
            (format::bytes(grows.bytes), format!("{blocks} pile up, by {}", growth(grows)))
        }
        What::Resident(resident) => {
            let what = match resident.why {
                Kind::FreePages => "malloc_trim(0) would give it back",
                Kind::Pinned { .. } => "free memory that its blocks pin",
                Kind::TopOfHeap { .. } => "free memory below a block on top of the heap",
                Kind::Arenas { .. } => "free memory in the heaps of threads",
                Kind::Rounding { .. } => "sizes that the allocator rounds up",
                Kind::KeptByAllocator => "free pages that jemalloc keeps",
                Kind::HugePages { .. } => "parts of huge pages that no block ever used",
                Kind::NeverTouched { .. } => "parts of blocks that were never touched",
            };
            (saves(resident.low, resident.high), what.to_owned())
        }
        What::NullFrees(frees) => {
            let share = share.map_or(String::new(), |share| format!(", {} of all", share.percent()));
            (format::count(frees.calls), format!("calls of free with a null pointer{share}"))
        }
        // Memory costs little; this line has most of it, and perhaps enough for a look.
        What::NoCostlyLine(found) if found.line_ns >= found.processor_ns * LEAST => {
            (found.line_interval.around(found.line_ns).known_time(), "the line that costs most".to_owned())
        }
        What::NoCostlyLine(_) | What::FaultsAgain(_) | What::NoLines(_) | What::NoNames(_) | What::Wrapped(_) => {
            return None;
        }
    };
    let also = finding.also.iter().filter_map(|also| beside(recording, &also.what, also.share.as_ref()));
    let maker = maker(recording, &finding.found);
    let what = [what].into_iter().chain(maker).chain(also).collect::<Vec<_>>().join("; ");
    let place = finding.found.site.as_ref().map_or_else(|| "the run".to_owned(), |site| place(recording, site));
    Some(Brief { cost, share: of_what(recording, finding, share), place, what })
}

/// The share in words, with no more digits than its error leaves.
fn of_what(recording: &Recording, finding: &Finding, share: Option<&Share>) -> Option<String> {
    let share = share?;
    let kept;
    let of = match share.of {
        Whole::ProcessorTime | Whole::ProcessorTimeOfPart => "of CPU time",
        Whole::CostOfMemory => "of what memory costs",
        Whole::Waiting => "of all waiting",
        Whole::WaitingForDisk => "of waiting for the disk",
        Whole::Allocations => "of allocations",
        Whole::Peak => "of the peak",
        Whole::NeverFreed => {
            kept = format!("of everything {}", recording.kept().words());
            &kept
        }
        Whole::TakenFromSystem => "of the memory taken from the system",
        Whole::AskedFor => "of all bytes asked for",
        Whole::NullFrees => "of calls of free with a null pointer",
        Whole::ResidentAtEnd => "of the resident set at the end",
    };
    let text = match &finding.what {
        What::NoCostlyLine(found) => {
            let line = found.line_interval.around(found.line_ns);
            return Some(format!("{} of CPU time", line.share_of(found.processor_ns)));
        }
        // What was touched is a part of what was asked for; the text says both.
        What::HardlyTouched(_) | What::NullFrees(_) => return None,
        // What it costs is the allocator's time, of which the share is known.
        What::Churn(churn) => match churn.of_processor.filter(|part| *part > 0.0) {
            Some(part) => {
                let whole = churn.allocator_ns / part;
                let time = churn.allocator_interval.around(churn.allocator_ns);
                return Some(format!("{} of CPU time", time.share_of(whole)));
            }
            None => share.percent(),
        },
        _ => share.percent(),
    };
    Some(format!("{text} {of}"))
}

/// What a line allocates, and what most of its cost is.
fn costly_line(line: &CostlyLine, finding: &Finding) -> String {
    let parts = [
        (line.fault_time_ns, "page faults"),
        (line.allocator_ns, "in the allocator"),
        (line.mapping_ns, "making and removing mappings"),
        (line.waiting_ns, "waiting in the allocator"),
        (line.reading_ns, "waiting for the disk"),
    ];
    let (most, of) = parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default();
    let what = finding.found.site.as_ref().and_then(|site| memory(line, site));
    let most = (line.cost_ns > 0.0).then(|| format!("{:.0} % {of}", most / line.cost_ns * 100.0));
    what.into_iter().chain(most).collect::<Vec<_>>().join(", ")
}

/// What else was found at a line, if that is something else to the reader.
fn beside(recording: &Recording, what: &What, share: Option<&Share>) -> Option<String> {
    let share = || share.map_or_else(|| "much".to_owned(), Share::percent);
    match what {
        What::HoldsPeak(_) => Some(format!("{} of the peak", share())),
        What::NeverFreed(memory) => Some(format!("{} {}", format::bytes(memory.bytes), recording.kept().words())),
        What::Resident(_) => Some("free memory that its blocks keep resident".to_owned()),
        What::Lost(lost) => Some(format!("{} lost", format::bytes(lost.bytes))),
        What::Grows(grows) => Some(format!("blocks that pile up, by {}", growth(grows))),
        What::HardlyTouched(_) => Some("hardly touched".to_owned()),
        What::Churn(churn) => {
            let part = Estimate::exact(churn.temporary as f64).scaled(1.0 / churn.blocks.max(1) as f64);
            Some(format!("{} freed at once", Unit::Share.show(part.value)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_analysis::findings::{self, Churn};
    use memtoll_analysis::intervals::Interval;
    use std::path::Path;

    #[test]
    fn of_a_killed_program_nothing_is_called_never_freed() {
        let golden = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name);
        let said = |name: &str| {
            let recording = Recording::open(&golden(name)).unwrap();
            let what = What::NeverFreed(findings::NeverFreed { blocks: 2, bytes: 100 });
            let share = Share::new(100.0, 400.0, Whole::NeverFreed);
            let found = findings::Finding { what, site: None, share, parts: vec![], also: vec![] };
            brief(&recording, &Finding::new(&recording, found)).unwrap().share.unwrap()
        };
        assert_eq!(said("killed.memtoll"), "25.0 % of everything still live");
        assert_eq!(said("costs.memtoll"), "25.0 % of everything never freed");
    }

    #[test]
    fn many_cheap_blocks_are_not_worth_a_word() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/costs.memtoll");
        let recording = Recording::open(&golden).unwrap();
        let said = |part: Option<f64>| {
            let interval = Interval { low: 1_000_000, high: 1_000_000 };
            let (temporary, blocks) = (3000, 3000);
            let churn =
                Churn { temporary, blocks, allocator_ns: 1e6, allocator_interval: interval, of_processor: part };
            let share = Share::new(3000.0, 3000.0, Whole::Allocations);
            let found = findings::Finding { what: What::Churn(churn), site: None, share, parts: vec![], also: vec![] };
            brief(&recording, &Finding::new(&recording, found)).map(|brief| brief.what)
        };
        let words = "3,000 blocks freed before the thread's next allocation";
        assert_eq!(said(Some(0.009)), None);
        assert_eq!(said(Some(0.011)).as_deref(), Some(words));
        assert_eq!(said(None).as_deref(), Some(words));
    }
}
