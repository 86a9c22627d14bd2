//! What the lines that a finding is about cost at all. No change of them saves more, whatever a rule makes of it.

use crate::facts::{Draft, Facts};
use crate::range::Range;
use crate::saving;
use crate::savings::{Saves, Saving};
use crate::site::Site;
use memtoll_text::Quantity;

/// The most that any change of some lines saves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Of the lines, in the units of [`Saves`].
    lines: Saves,
    /// CPU time of the whole program, ns. Prices are means, and may be too dear: what lines cost by them can be more.
    program: Range,
}

impl Ceiling {
    /// Of the lines that a draft is about.
    pub fn of(facts: &Facts, draft: &Draft) -> Ceiling {
        let subject = draft.subject(facts);
        // A line as a whole has its sites inside.
        let others = if draft.line.is_some() { &[][..] } else { &draft.with[..] };
        let sites = || std::iter::once(subject).chain(others.iter().map(|index| &facts.sites[*index]));
        let sum = |of: &dyn Fn(&Site) -> f64| Range::exact(sites().map(of).sum());
        let faults = sum(&|site| (site.metrics().small_faults + site.metrics().huge_faults) as f64);
        let lines = Saves {
            cpu_ns: Range::exact(sum(&|site| saving::most(facts, site)).likely + draft.own_work.high),
            wall_ns: Range::exact(facts.wall.most()),
            faults: Range::exact(faults.likely + draft.faults_elsewhere),
            allocations: sum(&|site| site.acquired() as f64),
            bytes: sum(&|site| site.metrics().bytes.0 as f64),
            peak_bytes: sum(&|site| site.metrics().peak_bytes.0 as f64),
            resident_peak_bytes: Range::exact(facts.resident()),
            resident_end_bytes: Range::exact(facts.pages.as_ref().map_or(0.0, |pages| pages.resident as f64)),
        };
        let likely = facts.processor().unwrap_or(f64::INFINITY);
        let most = facts.balance.program().map_or(f64::INFINITY, |program| program.high);
        Ceiling { lines, program: Range::new(likely, likely, most) }
    }

    /// A rule predicts a larger saving than there is: a mistake of the rule, for tests.
    pub fn exceeded(&self, saves: &Saves) -> Vec<String> {
        let all =
            Saving::ALL.iter().map(|saving| (saving.key(), saves.of(*saving).likely, self.lines.of(*saving).high));
        // Sums of the same numbers in another order.
        let more = all.filter(|(_, likely, most)| *likely > most * (1.0 + 1e-9) + 1.0);
        more.map(|(key, likely, most)| format!("{key}: {likely} of {most}")).collect()
    }

    /// A saving that is no more than what there is. An open end stays one.
    pub fn hold(&self, saves: &mut Saves) {
        saves.cut_to_program(self.program.likely);
        saves.cpu_ns = saves.cpu_ns.up_to(self.program.high);
        for saving in Saving::ALL {
            *saves.of_mut(*saving) = saves.of(*saving).up_to(self.lines.of(*saving).high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Made, blocks, with_facts};
    use memtoll_model::Recording;
    use std::path::Path;

    /// What the tests of programs say of theirs (`bounded_advice`), of recordings that are kept.
    #[test]
    fn no_rule_says_more_of_a_line_than_it_costs() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let recordings: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "memtoll")).collect();
        assert!(recordings.len() > 1, "{recordings:?}");
        for file in recordings {
            assert_eq!(crate::overestimates(&Recording::open(&file).unwrap()), Vec::<String>::new(), "{file:?}");
        }
    }

    #[test]
    fn what_is_more_than_there_is_is_told_and_cut() {
        let (counts, pattern) = blocks(1000, 100);
        let made = || Made { counts, pattern: pattern.clone(), allocator: 1e6, ..Made::default() };
        with_facts(vec![made()], crate::program_work::OwnWork::default(), |facts| {
            let draft = Draft::of(0);
            let ceiling = Ceiling::of(facts, &draft);
            let mut saves = Saves {
                allocations: Range::new(0.0, 900.0, 5000.0),
                bytes: Range::exact(100_001.5),
                wall_ns: Range::new(0.0, 1.0, facts.wall.most() * 2.0),
                cpu_ns: Range::exact(1.0).or_more(),
                ..Saves::default()
            };
            assert_eq!(ceiling.exceeded(&saves), ["bytes: 100001.5 of 100000"]);
            ceiling.hold(&mut saves);
            assert_eq!((saves.allocations.high, saves.wall_ns.high), (1000.0, facts.wall.most()));
            assert!(saves.cpu_ns.is_open(), "an open end");
            // By prices that are three times too dear, a line costs more than the program takes: that is no mistake of a rule.
            let program = facts.processor().unwrap();
            let dear = Draft { own_work: Range::exact(4.0 * program), ..Draft::of(0) };
            let too_much = Range::new(program, 2.0 * program, 6.0 * program);
            let mut saves = Saves { cpu_ns: too_much, wall_ns: too_much, ..Saves::default() };
            let ceiling = Ceiling::of(facts, &dear);
            assert_eq!(ceiling.exceeded(&Saves { wall_ns: Range::default(), ..saves }), Vec::<String>::new());
            ceiling.hold(&mut saves);
            assert_eq!((saves.cpu_ns.low, saves.cpu_ns.likely), (program / 2.0, program));
            assert_eq!((saves.wall_ns.low, saves.wall_ns.likely), (program / 2.0, program));
            assert!(saves.cpu_ns.high < 1.5 * program, "{saves:?}");
            let both = Draft { with: vec![1], ..Draft::of(0) };
            with_facts(vec![made(), made()], crate::program_work::OwnWork::default(), |facts| {
                let saves = Saves { bytes: Range::exact(150_000.0), ..Saves::default() };
                assert_eq!(Ceiling::of(facts, &both).exceeded(&saves), Vec::<String>::new(), "of two lines");
            });
        });
    }
}
