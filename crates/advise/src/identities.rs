//! Ids of findings: the same from run to run and on each machine, and no two the same in a recording.

use crate::facts::{Draft, Facts};
use crate::rules::RuleId;
use memtoll_trace::fnv::Fnv64;
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;

/// The rule, what else tells a draft from all others of one program, and the program's or library's file.
type Described = (RuleId, Vec<String>, String);

/// The ids of all drafts, with the ids of their rules, in their order.
pub fn ids<'d>(facts: &Facts, drafts: impl Iterator<Item = (RuleId, &'d Draft)>) -> Vec<String> {
    let all: Vec<Described> = drafts.map(|(rule, draft)| described(facts, rule, draft)).collect();
    distinct(&all)
}

fn described(facts: &Facts, rule: RuleId, draft: &Draft) -> Described {
    let site = draft.subject(facts);
    let place = draft.place.clone().unwrap_or_else(|| facts.place(site));
    let line = |line: Option<u32>| line.map_or(String::new(), |line| line.to_string());
    let mut parts = vec![place.function, line(place.line)];
    // A line can make blocks of several types, in several functions into which it is inlined.
    parts.extend(site.row.type_name.clone().filter(|_| draft.line.is_none()));
    let inlined = site.row.inlined.iter().map(|frame| facts.place_of(*frame));
    parts.extend(inlined.filter(|_| draft.place.is_none()).map(|of| format!("{}:{}", of.function, line(of.line))));
    // Static functions of two files may have one name.
    parts.extend(place.file.as_deref().map(|file| file_name(file).to_owned()));
    (rule, parts, site.row.frame.map_or(String::new(), |frame| file_name(facts.module(frame)).to_owned()))
}

fn file_name(path: &str) -> &str {
    last_part(path)
}

fn distinct(all: &[Described]) -> Vec<String> {
    let mut used: FxHashMap<String, usize> = FxHashMap::default();
    let plain: Vec<String> = all.iter().map(|(rule, parts, _)| id(*rule, parts)).collect();
    plain.iter().for_each(|id| *used.entry(id.clone()).or_default() += 1);
    let mut times: FxHashMap<String, usize> = FxHashMap::default();
    let own = all.iter().zip(plain).map(|((rule, parts, module), plain)| {
        // Names of test programs change with each build: the file is only asked where one header is in two of them.
        let own = if used[&plain] > 1 {
            id(*rule, &[parts.as_slice(), std::slice::from_ref(module)].concat())
        } else {
            plain
        };
        let before = times.entry(own.clone()).or_default();
        *before += 1;
        if *before > 1 { format!("{own}-{before}") } else { own }
    });
    own.collect()
}

/// A digest of the rule and what else there is: the same on each machine, and in each version.
fn id(rule: RuleId, parts: &[String]) -> String {
    let whole = Fnv64::EMPTY.with(rule.name().bytes());
    let Fnv64(hash) = parts.iter().fold(whole, |hash, part| hash.with([0]).with(part.bytes()));
    format!("{rule}-{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&str], module: &str) -> Described {
        (RuleId::Growth, parts.iter().map(|part| (*part).to_owned()).collect(), module.to_owned())
    }

    #[test]
    fn ids_are_stable() {
        assert_eq!(id(RuleId::Growth, &["f".to_owned(), "7".to_owned()]), "growth-71599445");
    }

    #[test]
    fn no_two_findings_share_one() {
        let all = [
            of(&["f", "7", "std::vector<int>", "a.cpp"], "app"),
            of(&["f", "7", "std::vector<long>", "a.cpp"], "app"),
            of(&["f", "7", "std::vector<int>", "b.cpp"], "app"),
            of(&["f", "7", "std::vector<int>", "g:9", "a.cpp"], "app"),
            of(&["h", "1", "x.hpp"], "app"),
            of(&["h", "1", "x.hpp"], "liba.so"),
            of(&["h", "1", "x.hpp"], "liba.so"),
        ];
        let ids = distinct(&all);
        let different: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(different.len(), all.len(), "{ids:?}");
        assert_eq!(ids[0], distinct(&all[..1])[0], "whatever else is found");
    }
}
