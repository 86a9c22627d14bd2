//! Facts for the tests of rules: sites made by hand, among what a small recording says of its machine.

use crate::facts::{Draft, Facts};
use crate::pattern::Pattern;
use crate::program_work::OwnWork;
use crate::range::Range;
use crate::rules::RuleId;
use crate::site::Site;
use memtoll_analysis::container_elements::{Element, Layout};
use memtoll_analysis::costs::Costs;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::{GroupBy, Row, rows};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::sums;
use memtoll_model::Recording;
use memtoll_tally::Selection;
use memtoll_text::amounts::Nanoseconds;
use memtoll_trace::ids::Bytes;
use memtoll_trace::metrics::Metrics;
use std::path::Path;

/// What a test says of a site; times in ns.
#[derive(Default)]
pub struct Made {
    pub type_name: &'static str,
    /// Bytes of an element.
    pub element: u64,
    pub counts: Metrics,
    pub pattern: Pattern,
    pub allocator: f64,
    pub faults: f64,
    pub mapping: f64,
    pub waiting: f64,
    /// Functions between the line and the allocation.
    pub through: Vec<&'static str>,
}

/// What a rule says of one site. Its line is one of a C program, unless the type says otherwise.
pub fn drafts(rule: RuleId, made: Made) -> Vec<Draft> {
    drafts_of(rule, vec![made], OwnWork::default())
}

/// What a rule says of sites of one line, in a program that works so.
pub fn drafts_of(rule: RuleId, made: Vec<Made>, own: OwnWork) -> Vec<Draft> {
    with_facts(made, own, |facts| (rule.about().find)(facts))
}

/// What a question about one site answers.
pub fn site_of<T>(made: Made, question: impl Fn(&Site) -> T) -> T {
    with_facts(vec![made], OwnWork::default(), |facts| question(&facts.sites[0]))
}

/// What a question about facts answers.
pub fn with_facts<T>(made: Vec<Made>, own: OwnWork, question: impl FnOnce(&Facts) -> T) -> T {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/costs.memtoll");
    let recording = Recording::open(&file).unwrap();
    let sums = sums(&recording, Selection::default());
    let mut stacks = Stacks::new(&recording, &View::default());
    let lines = rows(&mut stacks, &sums, GroupBy::Site);
    let mut facts = Facts::of(&recording, &sums, &mut stacks, &mut EventPass::new(&recording, &sums));
    let is_known = |row: &&Row| row.frame.is_some_and(|frame| recording.frames.frame(frame).line.is_some());
    let known = lines.iter().find(is_known).expect("a line of the program");
    facts.sites = made.into_iter().map(|made| site(made, known)).collect();
    facts.own = own;
    question(&facts)
}

/// A site on a line that is known.
fn site(made: Made, known: &Row) -> Site {
    let metrics = Priced {
        counts: made.counts,
        allocator_ns: Nanoseconds(made.allocator as u64),
        fault_time_ns: Nanoseconds(made.faults as u64),
        mapping_ns: Nanoseconds(made.mapping as u64),
        waiting_ns: Nanoseconds(made.waiting as u64),
        touched_bytes: Bytes(made.counts.small_faults * 4096),
        ..Priced::default()
    };
    let about = |ns: f64| Range::new(ns * 0.9, ns, ns * 1.1);
    Site {
        costs: Costs { allocator: made.allocator, faults: made.faults, waiting: made.waiting, ..Costs::default() },
        allocator: about(made.allocator),
        faults: about(made.faults),
        mapping: about(made.mapping),
        nodes: known.nodes.clone(),
        row: Row {
            type_name: (!made.type_name.is_empty()).then(|| made.type_name.to_owned()),
            element: (made.element > 0).then_some(Element { size: made.element, layout: Layout::Elements }),
            metrics,
            ..known.clone()
        },
        under_way: 0.0,
        pattern: made.pattern,
        through: made.through.into_iter().map(str::to_owned).collect(),
    }
}

/// Blocks of one size, all live at once, then released in bulk.
pub fn blocks(number: u64, size: u64) -> (Metrics, Pattern) {
    let bytes = number * size;
    let counts = Metrics {
        new_blocks: number,
        bytes: Bytes(bytes),
        largest_bytes: Bytes(size),
        peak_bytes: Bytes(bytes),
        peak_blocks: number,
        events: 2 * number,
        timed_calls: 2 * number,
        small_faults: bytes / 4096,
        ..Metrics::default()
    };
    let heap_bytes = number * crate::pattern::heap_bytes(size);
    let pattern = Pattern {
        blocks: number,
        bytes,
        heap_bytes,
        instances: number,
        finals: [(size, number)].into_iter().collect(),
        in_bulk: number,
        most_live: number,
        most_live_bytes: bytes,
        heap_alone: heap_bytes,
        ..Pattern::default()
    };
    (counts, pattern)
}
