//! Advice as people and programs read it: a file for each format.

mod json;
mod markdown;
mod sarif;
mod text;
mod words;

pub use json::json;
pub use markdown::markdown;
pub use sarif::sarif;
pub use text::text;
pub use words::verified;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Advice, Confidence, Evidence, Finding, Place};
    use crate::range::Range;
    use crate::rules::RuleId;
    use crate::savings::Saves;
    use crate::source::Root;

    pub(super) fn finding(file: &str) -> Finding {
        let place = Place { function: "f".into(), file: Some(file.into()), line: Some(12) };
        Finding {
            rule: RuleId::Growth,
            id: "growth-71599445".to_owned(),
            function: "f".into(),
            file: Some(file.into()),
            line: Some(12),
            inlined: vec![],
            stack: vec![place.clone(), Place { function: "main".into(), line: Some(30), ..place }],
            type_name: Some("std::vector<int>".into()),
            share: None,
            evidence: Evidence { text: vec!["it grows".into()], ..Evidence::default() },
            change: "Make room once".into(),
            snippet: "v.reserve(8);".into(),
            called: None,
            filled_at: vec![],
            remedy: None,
            module: String::new(),
            is_minor: false,
            paths: crate::CallPaths::default(),
            saves: Saves { cpu_ns: Range::new(1e6, 2e6, 3e6), ..Saves::default() },
            verified: None,
            assumptions: vec![],
            conflicts: vec![],
            confidence: Confidence::High,
        }
    }

    pub(super) fn advice(findings: Vec<Finding>) -> Advice {
        Advice {
            findings,
            bound: Saves::default(),
            processor_ns: Some(1e9),
            wall_ns: 2e9,
            peak_bytes: 1,
            threshold: 0.005,
            below_threshold: 0,
            unnamed_ns: 0.0,
            notes: vec![],
        }
    }

    /// By prices that are too dear, two findings promise 1.4 s of a program that takes 1.
    #[test]
    fn wall_time_of_all_is_cut_with_the_cpu_time() {
        let half = Saves { cpu_ns: Range::exact(0.7e9), wall_ns: Range::exact(0.7e9), ..Saves::default() };
        let one = |file, id: &str| Finding { saves: half, id: id.to_owned(), ..finding(file) };
        let all = advice(vec![one("a.cpp", "a"), one("b.cpp", "b")]).together();
        assert_eq!((all.cpu_ns.likely, all.wall_ns.likely), (1e9, 1e9));
    }

    #[test]
    fn what_saves_nothing_together_has_no_sum() {
        let shown = |bound: Saves| {
            let advice = Advice { bound, ..advice(vec![finding("a.cpp")]) };
            let root = Root::at(std::path::Path::new("/"));
            [text(&advice, &root, "a.memtoll", None, None), markdown(&advice, &root)]
        };
        let saves = Saves { cpu_ns: Range::new(1e6, 2e6, 3e6), ..Saves::default() };
        assert!(shown(saves).iter().all(|text| text.contains("All of them together")));
        assert!(shown(Saves::default()).iter().all(|text| !text.contains("All of them together")));
    }
}
