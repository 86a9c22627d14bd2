//! What a recording says of spans of time: the same, whether its chapters are used or all events are read. And the same of
//! one that was cut off, of which chapters are made when it is read.

use memtoll_analysis::finer_chapters::Sliced;
use memtoll_analysis::live_blocks::{Block, live_blocks};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::processor::ImageOrThread;
use memtoll_analysis::stack_chart::{self, StackChart, columns, stack_chart};
use memtoll_analysis::stacked_timeline::{Amount, Asked, Grouped, stacked};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_e2e::{Target, program};
use memtoll_model::Recording;
use memtoll_query::{Query, ask};
use memtoll_tally::{Charge, Selection};
use memtoll_trace::costs::{Cost, CostKind};
use memtoll_trace::ids::{Bytes, Units};
use serde_json::{Value, json};
use std::path::Path;

/// What is asked of a recording with a duration in ns, and of one of its threads.
fn questions(ns: f64, thread: &str) -> Vec<Query> {
    let times = [0.0, 0.02, 0.31, 0.5, 0.98].map(|share| (ns * share) as u64);
    let span = |from: u64, to: Option<u64>| json!({"span": {"from_ns": from, "to_ns": to}});
    let table = |group: &str| json!({"table": {"group": group}});
    let mut asked = Vec::new();
    for (index, &from) in times[..4].iter().enumerate() {
        let all = json!({"view": table("site"), "findings": true, "patterns": true, "details": true});
        let mut add = |when: Value, of: Value| {
            let mut query = json!({"when": when, "findings": true, "details": true});
            query.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
            asked.push(serde_json::from_value(query).unwrap());
        };
        add(json!({"at": {"ns": from}}), all.clone());
        times[index + 1..].iter().for_each(|to| add(span(from, Some(*to)), all.clone()));
        add(span(from, None), json!({"view": {"tree": {"direction": "callees"}}}));
        add(span(from, None), json!({"view": table("size")}));
        add(span(from, Some(times[4])), json!({"view": table("thread")}));
        add(span(from, None), json!({"view": table("path"), "paid": true}));
        add(span(from, None), json!({"view": table("site"), "min_size": 100, "max_size": 300, "patterns": true}));
        add(span(from, None), json!({"view": table("site"), "threads": [thread], "patterns": true}));
        let paid = json!({"view": table("size"), "paid": true, "threads": [thread], "max_size": 999});
        add(span(0, Some(from)), paid);
        add(span(from, Some(times[4])), json!({"view": {"lanes": {"intervals": 50}}}));
        add(span(from, Some(times[4])), json!({"view": {"activity": {"intervals": 200}}}));
    }
    asked
}

fn answers(recording: &Recording, questions: &[Query]) -> Vec<String> {
    let answer = |query: &Query| match ask(recording, query) {
        Ok(answer) => serde_json::to_string(&answer).unwrap(),
        Err(why) => why.to_string(),
    };
    questions.iter().map(answer).collect()
}

/// 100 parts of a recording's time.
fn cuts(recording: &Recording) -> Vec<u64> {
    (0..=100).map(|part| part * (recording.ended() / 100)).collect()
}

/// What three groups of stacks have over time: of all threads, of one, and charged to who paid.
fn layers(recording: &Recording, metric: Metric, thread: &str, sliced: Option<&Sliced>) -> [Vec<Vec<u64>>; 3] {
    let cuts = cuts(recording);
    let (amount, groups) = (Amount::of(metric).unwrap(), Grouped::new(recording, 3, |stack| Some(stack.index() % 3)));
    let filters = [ThreadFilter::default(), ThreadFilter::select(recording, &[], &[thread.to_owned()]).unwrap()];
    let [all, one] = &filters;
    let asked = [(all, Charge::Allocation), (one, Charge::Allocation), (all, Charge::Payment)];
    asked.map(|(thread_filter, charge)| {
        let selection = Selection { charge, ..Selection::default() };
        stacked(recording, &Asked { metric, amount, selection, thread_filter, cuts: &cuts, groups: &groups, sliced })
            .groups
    })
}

/// Stacks in the order of time: those of a thread in equal columns, and in columns that are chapters; those of the thread and of the
/// process in [`cuts`].
fn charts(recording: &Recording, metric: Metric, chapters: &[(u64, u64)], sliced: Option<&Sliced>) -> [StackChart; 4] {
    let mut stacks = Stacks::new(recording, &View::default());
    let (end, tariff) = (recording.ended() + 1, Tariff::of(recording));
    let process = ImageOrThread { image: 0, thread: None };
    let thread = ImageOrThread { thread: Some(recording.images[0].threads[1].number), ..process };
    let equal = columns(recording, thread, (0, recording.ended()), 200, None);
    let borders = chapters.iter().map(|(first, _)| *first).chain([end]);
    let sliced_at: Vec<u64> = cuts(recording).into_iter().chain([end]).collect();
    let asked = [(thread, equal), (thread, borders.collect()), (thread, sliced_at.clone()), (process, sliced_at)];
    asked.map(|(of, cuts)| {
        let selection = Selection::default();
        let (tariff, cuts, numbers) = (&tariff, &cuts, &|of: &Priced| vec![of.bytes.0 as f64, of.frees as f64]);
        let asked = stack_chart::Asked { metric, tariff, selection, of, cuts, by_line: false, sliced, numbers };
        rounded(stack_chart(recording, &mut stacks, &asked))
    })
}

/// Without the last bits of numbers, which depend on the order in which parts were added up.
fn rounded(mut chart: StackChart) -> StackChart {
    let bars = chart.bars.iter_mut().flat_map(|bar| std::iter::once(&mut bar.value).chain(&mut bar.numbers));
    let all = chart.columns.iter_mut().chain(&mut chart.numbers).chain(bars);
    all.for_each(|number| *number = (*number * 1e6).round() / 1e6);
    chart
}

/// The live blocks of the first process at some instants.
fn blocks_at(recording: &Recording, instants: &[u64]) -> Vec<Vec<Block>> {
    let of = |at: &u64| {
        let (blocks, missing) = live_blocks(recording, 0, *at);
        assert!(missing.is_none(), "{missing:?}");
        blocks
    };
    instants.iter().map(of).collect()
}

/// The answers about a file are those of a plain reading, to one in `one_in` questions.
fn compare(file: &Path, what: &str, one_in: usize) {
    let mut recording = Recording::open(file).unwrap();
    let ns = recording.about.clock.seconds(recording.ended()) * 1e9;
    let thread = recording.images[0].threads[1].tid.to_string();
    let questions: Vec<Query> = questions(ns, &thread).into_iter().step_by(one_in).collect();
    let usual = answers(&recording, &questions);
    let divided: Vec<Metric> =
        [Metric::Live, Metric::Bytes, Metric::Freed, Metric::Faults].into_iter().step_by(one_in).collect();
    let layers_of = |recording: &Recording, sliced| -> Vec<_> {
        divided.iter().map(|metric| layers(recording, *metric, &thread, sliced)).collect()
    };
    let usual_layers = layers_of(&recording, None);
    assert!(usual_layers[0].iter().flatten().flatten().any(|value| *value > 0), "{what}: no layers");
    let sliced = Sliced::new(cuts(&recording));
    sliced.cut(&recording);
    assert!(sliced.bytes() > 0, "{what}: no slices");
    assert_eq!(layers_of(&recording, Some(&sliced)), usual_layers, "{what}: layers from slices");
    assert!(recording.chapters(0).is_some_and(|chapters| chapters.times().len() >= 3), "{what}: nothing to compare");
    // The ends of chapters, their neighbors, and instants between.
    let times: Vec<(u64, u64)> = recording.chapters(0).iter().flat_map(|chapters| chapters.times().to_vec()).collect();
    let instants =
        times.iter().flat_map(|&(first, last)| [first, first + (last - first) / 2, last - 1, last, last + 1]);
    let instants: Vec<u64> = instants.step_by(one_in).collect();
    let live = blocks_at(&recording, &instants);
    let drawn: Vec<Metric> = [Metric::Bytes, Metric::Frees].into_iter().step_by(one_in).collect();
    let charts_of = |recording: &Recording, sliced| -> Vec<_> {
        drawn.iter().map(|metric| charts(recording, *metric, &times, sliced)).collect()
    };
    let usual_charts = charts_of(&recording, Some(&sliced));
    let is_drawn =
        |chart: &StackChart| !chart.bars.is_empty() && chart.columns.iter().filter(|value| **value > 0.0).count() > 1;
    assert!(usual_charts.iter().flatten().all(is_drawn), "{what}: no charts");
    recording.read_plainly();
    assert_eq!(charts_of(&recording, None), usual_charts, "{what}: charts");
    assert!(recording.chapters(0).is_none());
    assert_eq!(layers_of(&recording, None), usual_layers, "{what}: layers");
    assert!(live.iter().any(|blocks| blocks.len() > 100), "{what}: nothing to compare");
    assert!(live == blocks_at(&recording, &instants), "{what}: live blocks");
    for ((query, usual), plain) in questions.iter().zip(usual).zip(answers(&recording, &questions)) {
        assert_eq!(usual, plain, "{what}: {query:?}");
    }
}

/// A free that gives the heap back works on mappings until it returns: wherever a span ends meanwhile, it has both the call and that
/// work, or neither, and what a line costs in two spans is what it costs in both together.
#[test]
fn two_spans_cost_what_both_cost_together() {
    let recording = Target::new(program("heap_thrash.c")).record();
    let recording = Recording::open(&recording.file).unwrap();
    let mut trims: Vec<Cost> = Vec::new();
    let is_of_free = |cost: &Cost| cost.kind == CostKind::Mapping && cost.counts_at() < cost.time;
    recording.for_each_cost(0, |cost| trims.extend(is_of_free(cost).then_some(*cost))).unwrap();
    let longest = trims.iter().max_by_key(|cost| cost.amount).expect("no free that gives memory back");
    let within = Units(longest.time.0 - longest.amount / 2);
    assert!(longest.counts_at() < within, "{longest:?}");
    let cost_of = |from, to| {
        let sums = sums(&recording, Selection { from, to, ..Selection::default() });
        (sums.total.allocator_ns.0, sums.total.cost_ns().0, sums.sites.iter().count() as u64)
    };
    let (before, after) = (cost_of(Units::ZERO, within), cost_of(Units(within.0 + 1), Units::MAX));
    let (allocator, cost, sites) = cost_of(Units::ZERO, Units::MAX);
    let rounded = 8 * sites;
    assert!((before.0 + after.0).abs_diff(allocator) <= rounded, "{before:?} and {after:?} of {allocator}");
    assert!((before.1 + after.1).abs_diff(cost) <= rounded, "{before:?} and {after:?} of {cost}");
}

/// A group has dear and cheap call sites, each at its own time. A span costs the same in its time line and in its table.
#[test]
fn a_span_costs_the_same_over_time_and_in_sums() {
    let recording = Target::new(program("uneven.c")).record();
    let recording = Recording::open(&recording.file).unwrap();
    let (groups, thread_filter) = (Grouped::new(&recording, 1, |_| Some(0)), &ThreadFilter::default());
    let mut costs = Vec::new();
    for sizes in [Selection::default(), Selection { min_size: Bytes(20), ..Selection::default() }] {
        // From the first to the last call, in which the time changes from quick to slow ones.
        let parts = cuts(&recording);
        for cuts in [&parts[..], &parts[..30], &parts[30..70], &parts[70..]] {
            let selection = Selection { from: Units(cuts[0]), to: Units(cuts[cuts.len() - 1] - 1), ..sizes };
            let sums = sums(&recording, selection);
            let (metric, amount) = (Metric::Allocator, Amount::During);
            let asked = Asked { metric, amount, selection, thread_filter, cuts, groups: &groups, sliced: None };
            let found: u64 = stacked(&recording, &asked).groups.iter().flatten().sum();
            let expected = sums.total.allocator_ns.0;
            let rounded = sums.sites.iter().count() as u64 + 1;
            assert!(found.abs_diff(expected) <= rounded, "{cuts:?}: {found}, {expected}");
            costs.push(expected);
        }
    }
    assert!(costs.iter().any(|cost| *cost > 1_000_000), "{costs:?}");
}

#[test]
fn chapters_say_what_all_events_say() {
    // What is lost at the end, no event says.
    let recording = Target::new(program("busy.cpp")).option("--no-leak-search").record();
    compare(&recording.file, "as it was recorded", 1);
    let file = std::fs::read(&recording.file).unwrap();
    // An unknown index is not used: blocks are found one by one.
    let mut other = file.clone();
    *other.last_mut().unwrap() ^= 1;
    std::fs::write(&recording.file, other).unwrap();
    compare(&recording.file, "without an index", 5);
    std::fs::write(&recording.file, &file[..file.len() / 10 * 8]).unwrap();
    compare(&recording.file, "cut off", 2);
}
