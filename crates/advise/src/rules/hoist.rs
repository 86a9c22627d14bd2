//! See hoist.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::Confidence;
use crate::range::Range;
use crate::saving::{calls, pages, saves};
use crate::site::{Site, through};
use memtoll_analysis::library::qualified_name;
use memtoll_text::format;
use memtoll_trace::metrics::Metrics;
use rustc_hash::{FxHashMap, FxHashSet};

/// Turns of the loop.
const FEWEST_TURNS: u64 = 20;
/// Allocations of a turn: what makes fewer is cheap, or has a rule of its own.
const FEWEST_A_TURN: u64 = 16;
/// Call paths that each turn goes.
const FEWEST_PATHS: usize = 5;
/// The same of what is known to be dear, whatever it allocates.
const DEAR: &[&str] = &[
    "regex::regex", "regex::builders", "std::__cxx11::basic_regex", "std::__cxx11::regex", "boost::basic_regex",
    "std::locale::locale", "pcre2_compile", "regcomp", "XML_ParserCreate", "curl_easy_init", "iconv_open",
    "globset::GlobSetBuilder",
];

pub fn find(facts: &Facts) -> Vec<Draft> {
    let changeable = facts.lines.iter().enumerate().filter(|(_, line)| facts.is_changeable(line));
    let mut all: Vec<(&str, u64, Draft)> = Vec::new();
    for (index, line) in changeable {
        let Some((turns, draft)) = draft(facts, index, line) else { continue };
        // What each turn makes anew from the first one goes with it.
        match all.iter_mut().find(|(function, known, _)| *function == facts.function(line) && *known == turns) {
            None => all.push((facts.function(line), turns, draft)),
            Some((.., first)) => {
                first.with.push(draft.site);
                first.with.extend(draft.with);
                let place = facts.line(line).map_or(String::new(), |line| format!(" in line {line}"));
                let blocks = format::counted(line.acquired() / turns, "block");
                first.evidence.say(format!("each turn makes {blocks} more{place}, which may go with it"));
            }
        }
    }
    all.into_iter().map(|(.., draft)| draft).collect()
}

/// How often a loop does the same, and of its line, the call path that allocates most.
struct Turns {
    count: u64,
    most: usize,
}

/// How a loop makes the same thing in each turn.
struct Loop<'a> {
    turns: u64,
    /// The function that the line calls for it.
    callee: String,
    /// Functions in which the thing is made, by name.
    within: FxHashSet<&'a str>,
}

/// Sums of the call paths of a line.
fn paths(facts: &Facts, line: &Site) -> Vec<(usize, Metrics)> {
    let nodes: FxHashMap<_, usize> = line.nodes.iter().enumerate().map(|(index, node)| (*node, index)).collect();
    let own = facts.sums.sites.iter().filter_map(|site| Some((*nodes.get(&site.node)?, site.metrics().counts)));
    own.filter(|(_, metrics)| metrics.new_blocks + metrics.reallocations > 0).collect()
}

/// The largest number of turns of which nearly all call paths' calls and bytes are whole multiples: each turn does the same.
fn turns(paths: &[(usize, Metrics)]) -> Option<u64> {
    let acquired = |metrics: &Metrics| metrics.new_blocks + metrics.reallocations;
    let all: u64 = paths.iter().map(|(_, metrics)| acquired(metrics)).sum();
    let mut candidates: Vec<u64> = paths.iter().map(|(_, metrics)| acquired(metrics)).collect();
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    // Only paths with at least as many calls can have a multiple of them: nearly all calls have to be of these.
    let mut of_larger = 0;
    let too_large = candidates.iter().take_while(|calls| {
        of_larger += **calls;
        of_larger * 10 < all * 9
    });
    candidates.drain(..too_large.count());
    candidates.dedup();
    let is_equal = |turns: u64| {
        let equal = paths
            .iter()
            .filter(|(_, metrics)| acquired(metrics).is_multiple_of(turns) && metrics.bytes.0.is_multiple_of(turns));
        let equal: Vec<u64> = equal.map(|(_, metrics)| acquired(metrics)).collect();
        equal.len() >= FEWEST_PATHS && equal.iter().sum::<u64>() * 10 >= all * 9
    };
    candidates.into_iter().filter(|turns| *turns >= FEWEST_TURNS).find(|turns| is_equal(*turns))
}

/// `None`: the line is no such loop, whatever its functions are.
fn turns_of(facts: &Facts, line: &Site) -> Option<Turns> {
    let metrics = line.metrics();
    let paths = paths(facts, line);
    let turns = turns(&paths)?;
    // What outlives its turn is no temporary of the loop: then the mean lifetime is longer than a turn.
    let lifetime = metrics.mean_lifetime_ns() as f64;
    let is_dropped = metrics.live_blocks * 20 <= metrics.allocations() && lifetime * turns as f64 <= facts.duration();
    if !is_dropped {
        return None;
    }
    let most = paths.iter().max_by_key(|(_, metrics)| metrics.new_blocks + metrics.reallocations)?;
    Some(Turns { count: turns, most: most.0 })
}

fn loop_of<'a>(line: &Site, of: &Turns, functions: &'a [Vec<String>]) -> Option<Loop<'a>> {
    let turns = of.count;
    let callee = qualified_name(functions[of.most].last()?).to_owned();
    let within: FxHashSet<&str> = functions.iter().flatten().map(String::as_str).collect();
    let is_dear = within.iter().any(|function| DEAR.iter().any(|dear| qualified_name(function).starts_with(dear)));
    (is_dear || line.acquired() / turns >= FEWEST_A_TURN).then_some(Loop { turns, callee, within })
}

fn draft(facts: &Facts, index: usize, line: &Site) -> Option<(u64, Draft)> {
    let turns = turns_of(facts, line)?;
    let functions: Vec<Vec<String>> =
        line.nodes.iter().map(|node| through(facts.recording, *node, line.row.frame)).collect();
    let found = loop_of(line, &turns, &functions)?;
    let goes = 1.0 - 1.0 / found.turns as f64;
    let gone = pages(facts, line, 1.0 - goes);
    let memory = calls(facts, line, goes).plus(gone.ns);
    // Making it is more than its allocations. Plain runs found the program in its functions; without them, its cost is
    // unknown.
    let work = facts.own.inside(|function| found.within.contains(function));
    // Without samples, the time between its calls tells: of the recorded run, that is about the same share as of a plain
    // one.
    let share = (line.under_way / (facts.duration() * facts.threads() as f64).max(1.0)).min(1.0);
    let between = (facts.processor().unwrap_or(0.0) * share - line.allocator.likely).max(0.0);
    let work = work.map_or(between, |work| work.likely.max(between)) * goes;
    let own_work = Range::new(0.0, work, work);
    let cpu = memory.plus(own_work).or_more();
    let metrics = line.metrics();
    let mut draft = Draft::of_line(facts, index)?;
    draft.evidence.say(format!(
        "the same in each of {}: {} of {} together, of {} kinds, all gone before the next turn",
        format::counted(found.turns, "turn"),
        format::counted(line.acquired() / found.turns, "block"),
        format::bytes(metrics.bytes / found.turns),
        format::count(line.nodes.len() as u64)
    ));
    if !found.callee.is_empty() {
        draft.evidence.say(format!("they are made in {}", found.callee));
    }
    draft.evidence.number("turns", found.turns as f64);
    draft.evidence.number("blocks", line.acquired() as f64);
    draft.evidence.number("bytes", metrics.bytes.0 as f64);
    draft.change = "Make it once, outside of the loop".to_owned();
    draft.snippet = match facts.language(line) {
        Language::Rust => {
            "// before the loop; or once for the program\nstatic MADE: std::sync::LazyLock<T> = std::sync::LazyLock::new(|| \
             ...);"
                .to_owned()
        }
        Language::Cxx => "// before the loop; or once for the program\nstatic const auto made = ...;".to_owned(),
        Language::C => "/* before the loop; or once for the program, in a static variable */".to_owned(),
    };
    draft.saves = saves(facts, line, cpu, gone.faults, goes);
    draft.own_work = own_work;
    draft.assumptions = vec![
        "it is made from the same each time, as its equal blocks suggest, or from something that can be kept with it"
            .to_owned(),
        "making it costs more than its memory: that comes on top".to_owned(),
    ];
    draft.at_most = Confidence::Medium;
    Some((found.turns, draft))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Bytes;

    fn path(calls: u64, bytes: u64) -> Metrics {
        Metrics { new_blocks: calls, bytes: Bytes(bytes), ..Metrics::default() }
    }

    fn turns_of(paths: &[Metrics]) -> Option<u64> {
        turns(&paths.iter().copied().enumerate().collect::<Vec<_>>())
    }

    #[test]
    fn equal_turns_are_found() {
        let same = [path(500, 4000), path(1500, 9000), path(500, 500), path(5000, 80_000), path(1000, 64_000)];
        assert_eq!(turns_of(&same), Some(500));
        let once = [&same[..], &[path(1, 77)]].concat();
        assert_eq!(turns_of(&once), Some(500), "what happens once does not matter");
    }

    #[test]
    fn what_differs_from_turn_to_turn_is_another_thing() {
        let lengths = [path(500, 4001), path(1500, 9007), path(500, 503), path(5000, 80_009), path(1000, 64_003)];
        assert_eq!(turns_of(&lengths), None, "of other sizes each time");
        let counts = [path(501, 4000), path(1499, 9000), path(503, 500), path(5003, 80_000), path(1009, 64_000)];
        assert_eq!(turns_of(&counts), None);
        assert_eq!(turns_of(&[path(500, 4000), path(500, 9000)]), None, "too little of it");
    }
}
