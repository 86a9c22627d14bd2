//! What to change in a program, on which line, and what that would save: rules over a recording's call sites.
//!
//! Vocabulary: a *site* is a line of the program's own code that allocates, maps or frees, with what its blocks cost and
//! how they live; a *rule* looks for one pattern among the sites; what it says of a site is a *draft*, and a *finding*
//! if it is worth it; a *saving* is a range with what it assumes.

mod byte_costs;
mod c_library_callers;
mod delayed_coalescing;
mod facts;
mod finding;
mod formatters;
mod identities;
mod patch;
mod pattern;
mod program_work;
mod range;
mod rules;
mod saving;
mod saving_ceiling;
mod savings;
mod show;
mod site;
mod source;
mod sources;
#[cfg(test)]
mod testing;
mod wall_time;

pub use finding::{Advice, CallPaths, Confidence, Evidence, Finding, Place, Remedy};
pub use patch::{Patch, Refusal, patch};
pub use range::Range;
pub use rules::{RULES, Rule, RuleId};
pub use savings::{Saves, Saving};
pub use show::{json, markdown, sarif, text, verified};
pub use source::Root;
pub use sources::read_sources;

use facts::{Draft, Facts};
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::findings::{Share, Whole};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_tally::Selection;
use memtoll_text::format;
use saving_ceiling::Ceiling;
use source::Places;

/// What to look for.
pub struct Wish<'w> {
    /// None: all of them.
    pub rules: &'w [RuleId],
    /// Findings that cost or save less of the CPU time, or of the peak, are left out. From 0 to 1.
    pub threshold: f64,
    /// Whether these are there all the same, marked [`Finding::is_minor`].
    pub minor: bool,
}

impl Default for Wish<'_> {
    fn default() -> Self {
        Wish { rules: &[], threshold: 0.005, minor: false }
    }
}

/// A draft with its rule, and how much it matters.
struct Weighed {
    rule: &'static Rule,
    draft: Draft,
    /// Empty until all drafts are there: no two have the same.
    id: String,
    /// Likely saving, as a share of the CPU time.
    of_time: f64,
    /// Likely saving of memory, as a share of the peak.
    of_memory: f64,
}

impl Weighed {
    /// Whether it saves less than is asked for. A change of source for memory alone has to be worth more than one for time. What
    /// piles up is worth more with each hour.
    fn is_minor(&self, wish: &Wish) -> bool {
        self.rule.id != RuleId::NeverFreed
            && self.of_time < wish.threshold
            && (self.of_memory < wish.threshold * MEMORY || self.of_time <= -wish.threshold)
    }
}

/// Looks for what is worth changing.
pub fn advise(recording: &Recording, sums: &Sums, stacks: &mut Stacks, wish: &Wish) -> Advice {
    advise_in(&mut EventPass::new(recording, sums), recording, sums, stacks, wish)
}

/// The same, in a pass over the events that may have other readers.
pub fn advise_in(pass: &mut EventPass, recording: &Recording, sums: &Sums, stacks: &mut Stacks, wish: &Wish) -> Advice {
    let facts = Facts::of(recording, sums, stacks, pass);
    let processor = facts.processor();
    let peak = sums.total.peak_bytes;
    let wanted = |rule: &&Rule| wish.rules.is_empty() || wish.rules.contains(&rule.id);
    let can_tell = |rule: &&Rule| !rule.needs_frees || facts.tariff.sees().frees;
    let drafts = RULES
        .iter()
        .filter(wanted)
        .filter(can_tell)
        .flat_map(|rule| (rule.find)(&facts).into_iter().map(move |draft| (rule, draft)));
    let drafts = drafts.map(|(rule, mut draft)| {
        if !matches!(rule.id, RuleId::Contention | RuleId::HeapThrash) {
            c_library_callers::tell(&facts, &mut draft);
        }
        (rule, draft)
    });
    let mut weighed: Vec<Weighed> = drafts
        .filter(|(_, draft)| draft.is_affordable(&facts))
        .map(|(rule, mut draft)| {
            Ceiling::of(&facts, &draft).hold(&mut draft.saves);
            draft.saves.without_little_memory(peak.0 as f64 * LITTLE);
            draft.saves.at_least_as_wide_as_chance(facts.faults(), facts.resident(), facts.page());
            let saves = &draft.saves;
            // Without CPU time, wall time has to do.
            let whole = processor.unwrap_or_else(|| facts.duration()).max(1.0);
            let time = saves.cpu_ns.likely.max(saves.wall_ns.likely);
            let memory =
                saves.peak_bytes.likely.max(saves.resident_peak_bytes.likely).max(saves.resident_end_bytes.likely);
            Weighed { rule, id: String::new(), of_time: time / whole, of_memory: memory / peak.0.max(1) as f64, draft }
        })
        .collect();
    let ids = identities::ids(&facts, weighed.iter().map(|of| (of.rule.id, &of.draft)));
    weighed.iter_mut().zip(ids).for_each(|(of, id)| of.id = id);
    let below_threshold = weighed.iter().filter(|of| of.is_minor(wish)).count();
    weighed.retain(|of| wish.minor || !of.is_minor(wish));
    weighed.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    let places = Places::new(recording);
    let conflicts: Vec<Vec<String>> = (0..weighed.len()).map(|at| conflicts(&weighed, at)).collect();
    let findings = weighed.into_iter().zip(conflicts);
    let findings = findings.map(|(of, conflicts)| finish(&facts, &places, of, conflicts, wish)).collect();
    let mut advice = Advice {
        findings,
        bound: Saves::default(),
        processor_ns: processor,
        wall_ns: facts.wall.most(),
        peak_bytes: peak.0,
        threshold: wish.threshold,
        below_threshold,
        unnamed_ns: facts.unnamed(),
        notes: facts.notes.clone(),
    };
    advice.bound = advice.together();
    advice
}

/// Estimates of rules that are larger than what their lines cost at all, in words. There is none, unless a rule is wrong: for
/// tests.
pub fn overestimates(recording: &Recording) -> Vec<String> {
    let sums = memtoll_analysis::sums::sums(recording, Selection::default());
    let mut stacks = Stacks::new(recording, &View::default());
    let facts = Facts::of(recording, &sums, &mut stacks, &mut EventPass::new(recording, &sums));
    let drafts = RULES.iter().flat_map(|rule| (rule.find)(&facts).into_iter().map(move |draft| (rule.id, draft)));
    let told = drafts.flat_map(|(rule, draft)| {
        let more = Ceiling::of(&facts, &draft).exceeded(&draft.saves);
        let place = facts.place(draft.subject(&facts));
        more.into_iter().map(move |what| format!("{rule} at {} {:?}: {what}", place.function, place.line))
    });
    told.collect()
}

/// Work for blocks of other lines that is a smaller share of a line's time in the allocator needs no word.
const SAID: f64 = 0.2;
/// A share of the peak too small to matter.
const LITTLE: f64 = 0.001;
/// By how much a share of the peak has to be larger than one of the CPU time.
const MEMORY: f64 = 10.0;

fn rank(of: &Weighed) -> f64 {
    of.of_time.max(of.of_memory / MEMORY)
}

/// Whether two drafts are about the same calls or pages.
fn meet(a: &Draft, b: &Draft) -> bool {
    let sites = |of: &Draft| -> Vec<usize> { std::iter::once(of.site).chain(of.with.iter().copied()).collect() };
    let (a, b) = (sites(a), sites(b));
    a.iter().any(|site| b.contains(site))
}

fn conflicts(all: &[Weighed], at: usize) -> Vec<String> {
    let others = all.iter().enumerate().filter(|(other, _)| *other != at);
    others.filter(|(_, of)| meet(&of.draft, &all[at].draft)).map(|(_, of)| of.id.clone()).collect()
}

fn finish(facts: &Facts, places: &Places, of: Weighed, conflicts: Vec<String>, wish: &Wish) -> Finding {
    let (processor, is_minor) = (facts.processor(), of.is_minor(wish));
    let Weighed { rule, mut draft, id, .. } = of;
    let site = draft.subject(facts);
    let others = facts.delayed.for_others(site);
    if !draft.saves.cpu_ns.is_nothing() && others > site.allocator.likely * SAID {
        draft.assumptions.push(format!(
            "some of its calls take long, {} together: glibc puts small blocks together there that other lines freed, which \
             stays and is not counted",
            format::seconds(others / 1e9)
        ));
    }
    let mut stack = site.nodes.first().map_or(Vec::new(), |node| places.stack(&facts.packages, *node, site.row.frame));
    let mut inlined: Vec<Place> = site.row.inlined.iter().map(|frame| places.of(*frame)).collect();
    let mut cost = site.processor().likely;
    if let Some(place) = &draft.place {
        stack.insert(0, place.clone());
        inlined.clear();
        cost += draft.with.iter().map(|site| facts.sites[*site].processor().likely).sum::<f64>();
    }
    let place = draft.place.unwrap_or_else(|| facts.place(site));
    let confidence = match draft.saves.cpu_ns.is_nothing() {
        true if draft.saves.resident_peak_bytes.is_nothing() => Confidence::of(&draft.saves.resident_end_bytes),
        true => Confidence::of(&draft.saves.resident_peak_bytes),
        false => Confidence::of(&draft.saves.cpu_ns),
    };
    Finding {
        rule: rule.id,
        verified: facts.recording.verified.iter().find(|known| known.finding == id).cloned(),
        id,
        inlined,
        stack,
        type_name: site.row.type_name.clone(),
        share: processor.and_then(|all| Share::new(cost, all, Whole::ProcessorTime)),
        evidence: draft.evidence,
        change: draft.change,
        snippet: draft.snippet,
        called: draft.called,
        filled_at: draft.filled_at,
        remedy: draft.remedy,
        module: site.row.frame.map_or("", |frame| facts.module(frame)).to_owned(),
        is_minor,
        paths: CallPaths { nodes: site.nodes.clone(), line: site.row.frame },
        saves: draft.saves,
        assumptions: draft.assumptions,
        conflicts,
        confidence: confidence.min(draft.at_most),
        function: place.function,
        file: place.file,
        line: place.line,
    }
}
