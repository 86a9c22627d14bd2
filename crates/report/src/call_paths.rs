//! The section of the first screen with the call paths that allocate most.

use crate::numbers::Numbers;
use crate::section::{FAINT, Limits, title};
use memtoll_analysis::alike::Alike;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::names;
use memtoll_analysis::stacks::{Stacks, Texts};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::top_paths::{TopPaths, top_paths};
use memtoll_model::{FrameId, Recording};
use memtoll_text::format;

/// The call paths that allocate most.
pub fn render(recording: &Recording, sums: &Sums, stacks: &mut Stacks, limits: Limits) -> String {
    let by = Metric::Allocations;
    let TopPaths { rows: largest, number, all } = top_paths(stacks, sums, by, limits.rows.min(3));
    if largest.is_empty() {
        return String::new();
    }
    let tariff = Tariff::of(recording);
    let functions = largest.iter().flat_map(|row| &row.path);
    let alike = Alike::among(functions.map(|frame| Texts::of(&recording.frames, *frame).function));
    let mut text = title("Call paths that allocate most");
    for (index, row) in largest.iter().enumerate() {
        let of = Numbers { of: &row.metrics, tariff: &tariff };
        text += &format!(
            "{:>14} {}  {}{FAINT}{}{FAINT:#}\n",
            of.cell(by),
            of.share(by, &sums.total),
            of.cell(Metric::Bytes),
            names::ran_in(recording, row)
        );
        let frame = |frame: &FrameId| {
            let line = names::function_and_place_among(&recording.frames, *frame, &alike);
            format::wrapped(&" ".repeat(16), &line, limits.width)
        };
        let remark = |remark: String| format!("{:>16}{FAINT}… {remark}{FAINT:#}\n", "");
        const SHOWN: usize = 8;
        // What is as in a path above needs no second look.
        let known = largest[..index].iter().map(|other| in_common(&row.path, &other.path)).max().unwrap_or(0);
        let skipped = if known >= SHOWN { known - 1 } else { 0 };
        let (head, tail) = row.path.split_at(skipped);
        if let Some(allocation) = head.first() {
            text += &frame(allocation);
            text += &remark(format::counted(skipped as u64 - 1, "caller") + " as above");
        }
        text.extend(tail.iter().take(SHOWN).map(frame));
        if tail.len() > SHOWN {
            text += &remark(format::counted((tail.len() - SHOWN) as u64, "more caller"));
        }
    }
    let rest = number - largest.len();
    if rest > 0 {
        let left = largest.iter().fold(all, |left, row| left.without(&row.metrics));
        let left = Numbers { of: &left, tariff: &tariff };
        text += &format!(
            "{:>14} {}  {FAINT}… allocations on {}{FAINT:#}\n",
            left.cell(by),
            left.share(by, &sums.total),
            format::counted(rest as u64, "more path")
        );
    }
    text
}

/// How many frames two paths have in common, from the allocation outwards.
fn in_common(a: &[FrameId], b: &[FrameId]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
