//! See copies.md.

use crate::facts::{Draft, Facts, Language};
use crate::finding::{Confidence, Remedy};
use crate::range::Range;
use crate::saving::{calls, making, pages, saves};
use crate::site::{Site, part};
use memtoll_text::format;

const FEWEST: u64 = 1000;
/// What of making the copies goes.
const GOES: Range = Range { low: 0.0, likely: 1.0, high: 1.0 };

pub fn find(facts: &Facts) -> Vec<Draft> {
    let changeable = facts.lines.iter().enumerate().filter(|(_, line)| facts.is_changeable(line));
    changeable.filter_map(|(index, line)| draft(facts, index, line)).collect()
}

/// Whether a function copies an object with all that it owns.
fn is_copy(function: &str) -> bool {
    is_rust_clone(function) || is_copy_constructor(function)
}

fn is_rust_clone(function: &str) -> bool {
    let ends = ["as core::clone::Clone>::clone", "::clone"];
    let is_shared = ["alloc::rc::Rc<", "alloc::sync::Arc<"].iter().any(|of| function.contains(of));
    !is_shared && !function.contains('(') && ends.iter().any(|end| function.ends_with(end))
}

/// What makes an owner from a view, which the line itself calls: below a parser, it is the parser's matter.
fn is_owned_copy(function: &str) -> bool {
    !function.contains('(') && ["::to_owned", "::to_vec"].iter().any(|end| function.ends_with(end))
}

/// `Rec::Rec(Rec const&)`.
fn is_copy_constructor(function: &str) -> bool {
    let Some((head, parameters)) = function.split_once("const&)").and_then(|(head, _)| split_parameters(head)) else {
        return false;
    };
    let Some((class, name)) = head.rsplit_once("::") else { return false };
    let bare = class.split('<').next().unwrap_or(class);
    bare.rsplit("::").next() == Some(name) && parameters.trim().starts_with(bare)
}

/// What stands before and behind the first parenthesis outside of template arguments.
fn split_parameters(head: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    for (at, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '(' if depth == 0 => return Some((&head[..at], &head[at + 1..])),
            _ => {}
        }
    }
    None
}

fn draft(facts: &Facts, index: usize, line: &Site) -> Option<Draft> {
    let copies = part(facts.recording, facts.sums, &facts.tariff, line, |through| {
        through.iter().any(|function| is_copy(function))
            || through.last().is_some_and(|function| is_owned_copy(function))
    })?;
    let metrics = copies.metrics();
    // Copies that are dropped at once are temporaries.
    let is_kept = metrics.temporary * 2 <= copies.acquired();
    if copies.acquired() < FEWEST || !is_kept {
        return None;
    }
    let gone = pages(facts, &copies, 0.0);
    let made = making(facts, &copies, GOES);
    let cpu = calls(facts, &copies, 1.0).plus(gone.ns).plus(made);
    // Nothing goes where both are needed.
    let cpu = Range::new(0.0, cpu.likely, cpu.high);
    let mut draft = Draft::of_line(facts, index)?;
    draft.evidence.say(format!(
        "{} of {} together are copies of something that is there already",
        format::counted(copies.acquired(), "block"),
        format::bytes(metrics.bytes)
    ));
    draft.evidence.number("blocks", copies.acquired() as f64);
    draft.evidence.number("bytes", metrics.bytes.0 as f64);
    let language = facts.language(line);
    draft.change = match language {
        Language::Rust => "Move it instead of cloning it, or keep references or Rc",
        _ => "Move it instead of copying it, or keep pointers or views",
    }
    .to_owned();
    draft.snippet = match language {
        Language::Rust => "items.push(item);  // the last use of item: no clone\n\
            let mut items: Vec<&Item> = Vec::new(); // where the original lives as long\n\
            items.push(std::rc::Rc::clone(&item));  // where both are owners"
            .to_owned(),
        _ => "items.push_back(std::move(item)); // the last use of item\n\
            std::vector<const Item*> items;   // where the original lives as long"
            .to_owned(),
    };
    draft.remedy = Some(Remedy::Move);
    draft.own_work = made;
    draft.saves = saves(facts, &copies, cpu, Range::new(0.0, gone.faults.likely, gone.faults.high), 1.0);
    draft.saves.cpu_ns.low = 0.0;
    draft.saves.wall_ns.low = 0.0;
    draft.saves.allocations = Range::new(0.0, copies.acquired() as f64, copies.acquired() as f64);
    draft.saves.bytes = Range::new(0.0, metrics.bytes.0 as f64, metrics.bytes.0 as f64);
    draft.saves.peak_bytes = Range::new(0.0, metrics.peak_bytes.0 as f64, metrics.peak_bytes.0 as f64);
    draft.saves.resident_peak_bytes =
        Range::new(0.0, gone.faults.likely * facts.page(), gone.faults.high * facts.page());
    draft.assumptions = vec!["the original lives as long as the copy, or is not needed after it".to_owned()];
    draft.at_most = Confidence::Low;
    Some(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_a_line_makes_are_copies() {
        assert!(
            is_owned_copy("alloc::slice::<impl [T]>::to_vec")
                && is_owned_copy("<str as alloc::borrow::ToOwned>::to_owned")
        );
        assert!(!is_owned_copy("app::owner"));
    }

    #[test]
    fn copies_are_told_from_moves_and_shares() {
        for copy in [
            "<alloc::string::String as core::clone::Clone>::clone",
            "<alloc::vec::Vec<T> as core::clone::Clone>::clone",
            "Rec::Rec(Rec const&)",
            "app::Rec<int>::Rec(app::Rec<int> const&)",
            "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::basic_string(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)",
            "std::vector<int, std::allocator<int> >::vector(std::vector<int, std::allocator<int> > const&)",
        ] {
            assert!(is_copy(copy), "{copy}");
        }
        for other in [
            "<alloc::sync::Arc<T> as core::clone::Clone>::clone",
            "Rec::Rec(Rec&&)",
            "Rec::Rec(std::string const&)",
            "std::vector<int, std::allocator<int> >::push_back(int const&)",
            "f(Rec const&)",
            "app::clone(int)",
        ] {
            assert!(!is_copy(other), "{other}");
        }
    }
}
