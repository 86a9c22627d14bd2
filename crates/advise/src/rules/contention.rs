//! See contention.md.

use crate::facts::{Draft, Facts};
use crate::finding::{Confidence, Remedy};
use crate::formatters::formatter;
use crate::range::Range;
use crate::savings::Saves;
use crate::site::Site;
use memtoll_analysis::detectors::is_much_waiting;
use memtoll_analysis::tariff::waits;
use memtoll_text::format;
use memtoll_text::shell;
use memtoll_trace::ids::Bytes;
use memtoll_trace::meta::MallocSetting;

pub fn find(facts: &Facts) -> Vec<Draft> {
    let waiting: f64 = facts.sites.iter().map(|site| site.costs.waiting).sum();
    if !is_much_waiting(waiting, facts.balance.program().map_or(0.0, |program| program.value)) {
        return Vec::new();
    }
    let settings = &facts.recording.about.malloc_settings;
    let forced = settings.iter().find(|setting| arenas(setting).is_some_and(|arenas| arenas < facts.threads() as u64));
    let small_steps = if forced.is_none() { small_steps(facts) } else { None };
    // Threads wait at any of their lines for the one that makes arenas grow.
    let dearest = match &small_steps {
        Some(steps) => {
            let growing = facts.changeable().filter(|(index, _)| steps.sites.contains(index));
            growing.max_by_key(|(_, site)| site.metrics().grown_calls)
        }
        None => facts.changeable().max_by(|a, b| a.1.costs.waiting.total_cmp(&b.1.costs.waiting)),
    };
    // Calls with null pointers have a rule of their own.
    let only_null = |site: &Site| site.metrics().null_frees * 2 > site.metrics().events;
    let Some((index, site)) = dearest.filter(|(_, site)| !only_null(site)) else { return Vec::new() };
    let mut draft = Draft::of(index);
    let (pattern, evidence) = (&site.pattern, &mut draft.evidence);
    evidence.say(format!(
        "threads wait {} for each other in the allocator, {} of it here",
        waits(waiting).time_with_error(),
        format::percent(site.costs.waiting as u64, waiting as u64)
    ));
    evidence.number("waiting_ns", waiting);
    evidence.number("waiting_here_ns", site.costs.waiting);
    let others = pattern.by_others as f64 / pattern.blocks.max(1) as f64;
    if others >= 0.1 {
        evidence.say(format!(
            "{} of its blocks are freed by another thread",
            format::percent(pattern.by_others, pattern.blocks)
        ));
        evidence.number("freed_by_others", pattern.by_others as f64);
    }
    if let Some(setting) = forced {
        evidence.say(format!(
            "{} threads allocate, and {}={} in the environment lets them share fewer arenas: they wait for one lock",
            facts.threads(),
            setting.name,
            setting.value
        ));
        evidence.number("threads", facts.threads() as f64);
    }
    if let Some(steps) = &small_steps {
        evidence.say(format!(
            "arenas of threads take {} from the system in {}, {} each: every one is a call of mprotect, for which the kernel \
             locks the memory of the whole process, and threads wait there",
            format::bytes(steps.bytes),
            format::counted(steps.calls, "step"),
            format::bytes(steps.bytes / steps.calls)
        ));
        evidence.number("grown_calls", steps.calls as f64);
        evidence.number("grown_bytes", steps.bytes.0 as f64);
    }
    draft.change = match (formatter(site), others >= 0.5) {
        _ if small_steps.is_some() => "Let the arenas of threads grow at once (M_TOP_PAD)".to_owned(),
        _ if forced.is_some() => {
            "Take the setting out of the environment: glibc then has an arena for each thread".to_owned()
        }
        (Some(_), _) => "Format into memory of the thread's own, so that the allocator is not needed".to_owned(),
        (None, true) => "Return blocks to the thread that made them, or use an allocator made for that".to_owned(),
        (None, false) => {
            "Allocate less in the threads' loop, or use an allocator with a heap for each thread".to_owned()
        }
    };
    let name = facts.recording.about.command.first().map_or("./program".into(), |name| shell::word(name));
    draft.snippet = format!(
        "memtoll try -- {name} ...   # measures jemalloc, tcmalloc and mimalloc, without the recorder\n\
         thread_local std::vector<std::byte> scratch; // kept from call to call: no allocation, no lock"
    );
    if small_steps.is_some() {
        draft.snippet = format!(
            "#include <malloc.h>\nmallopt(M_TOP_PAD, {HEAP_OF_ARENA}); // first thing in main\n\
             // or, without a change: MALLOC_TOP_PAD_={} {name} ...",
            64 << 20
        );
    }
    if let Some(setting) = forced {
        draft.snippet = match setting.name.as_str() {
            "GLIBC_TUNABLES" => "# GLIBC_TUNABLES without glibc.malloc.arena_max".to_owned(),
            variable => format!("env -u {variable} {name} ..."),
        };
    }
    // Of one lock, all lines wait.
    let gone = facts.wall.waited(if forced.is_some() || small_steps.is_some() { waiting } else { site.costs.waiting });
    let gone = if forced.is_some() { Range { low: gone.likely / 2.0, ..gone } } else { gone };
    // Sleeping and waking take the processor, too.
    let cpu = site.allocator.scaled(0.5).widened(0.0, 2.0).or_more();
    draft.saves = Saves { wall_ns: gone, cpu_ns: cpu, ..Saves::default() };
    if let Some(steps) = small_steps {
        let mapping = steps.mapping.widened(0.3, 1.0);
        let side_by_side = Range { low: 0.0, ..mapping.scaled(1.0 / facts.wall.at_work()) };
        draft.saves = Saves { wall_ns: gone.with(side_by_side), cpu_ns: mapping, ..draft.saves };
        draft.with = steps.sites.into_iter().filter(|other| *other != index).collect();
        draft.remedy = Some(Remedy::Mallopt { options: vec![("M_TOP_PAD", HEAP_OF_ARENA.to_owned())] });
    }
    draft.assumptions = vec![
        "waiting was measured under the recorder, which spreads calls out: without it, threads may wait more or less"
            .to_owned(),
        "with fewer processors than threads, time that is no longer waited for may go to other threads".to_owned(),
    ];
    if draft.remedy.is_some() {
        draft.assumptions.push(
            "an arena is made with all the memory it may grow by, which takes none until it is touched; with the setting, \
             glibc no longer learns which blocks are large: from 128 KiB on, each has a mapping of its own"
                .to_owned(),
        );
    }
    draft.at_most = if forced.is_some() { Confidence::Medium } else { Confidence::Low };
    vec![draft]
}

/// How much the heap of an arena holds at the most, in C: with as much room on top, it never grows. glibc's `HEAP_MAX_SIZE`.
const HEAP_OF_ARENA: &str = "64 << 20";
/// The main heap grows by at least glibc's `DEFAULT_TOP_PAD`, bytes; arenas of threads by what the next block needs.
const STEP_OF_MAIN: Bytes = Bytes(128 << 10);
/// Fewer steps are not what threads wait for.
const FEWEST_STEPS: u64 = 1000;

/// How arenas of threads grow.
struct Steps {
    calls: u64,
    bytes: Bytes,
    /// Work on mappings of the lines whose calls make them grow, ns.
    mapping: Range,
    sites: Vec<usize>,
}

/// Steps by which arenas of threads grow, if there are many small ones.
fn small_steps(facts: &Facts) -> Option<Steps> {
    let is_small = |site: &Site| {
        let metrics = site.metrics();
        metrics.grown_calls > 0 && metrics.grown_bytes / metrics.grown_calls < STEP_OF_MAIN / 2
    };
    let mut steps = Steps { calls: 0, bytes: Bytes::ZERO, mapping: Range::default(), sites: Vec::new() };
    for (index, site) in facts.sites.iter().enumerate().filter(|(_, site)| is_small(site)) {
        steps.calls += site.metrics().grown_calls;
        steps.bytes += site.metrics().grown_bytes;
        steps.mapping = steps.mapping.with(site.mapping);
        steps.sites.push(index);
    }
    (facts.threads() > 1 && steps.calls >= FEWEST_STEPS).then_some(steps)
}

/// To how many arenas a setting of the environment limits glibc.
fn arenas(setting: &MallocSetting) -> Option<u64> {
    let value = match setting.name.as_str() {
        "MALLOC_ARENA_MAX" => &setting.value,
        "GLIBC_TUNABLES" => {
            setting.value.split(':').find_map(|tunable| tunable.strip_prefix("glibc.malloc.arena_max="))?
        }
        _ => return None,
    };
    value.parse().ok().filter(|arenas| *arenas > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::RuleId;
    use crate::testing::{Made, blocks, drafts};
    use memtoll_trace::metrics::Metrics;

    fn waits(waiting: f64) -> Made {
        let (counts, pattern) = blocks(10_000, 40);
        Made { counts, pattern, allocator: 4e6, waiting, ..Made::default() }
    }

    #[test]
    fn waiting_is_said_where_it_matters() {
        let found = drafts(RuleId::Contention, waits(10e9));
        assert!(found[0].saves.wall_ns.high >= 10e9 && found[0].saves.wall_ns.low == 0.0, "{:?}", found[0].saves);
        assert!(drafts(RuleId::Contention, waits(1.0)).is_empty());
    }

    #[test]
    fn settings_that_limit_arenas_are_read() {
        let of = |name: &str, value: &str| arenas(&MallocSetting { name: name.to_owned(), value: value.to_owned() });
        assert_eq!(of("MALLOC_ARENA_MAX", "1"), Some(1));
        assert_eq!(of("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=2"), Some(2));
        for (name, value) in
            [("MALLOC_ARENA_MAX", "0"), ("GLIBC_TUNABLES", "glibc.malloc.top_pad=1"), ("LD_PRELOAD", "1")]
        {
            assert_eq!(of(name, value), None, "{name}={value}");
        }
    }

    #[test]
    fn null_pointers_have_a_rule_of_their_own() {
        let mut nulls = waits(10e9);
        nulls.counts = Metrics { null_frees: 10_000, events: 10_000, ..Metrics::default() };
        assert!(drafts(RuleId::Contention, nulls).is_empty());
    }
}
