//! Verdicts for people.

use crate::blame::Line;
use crate::limit::Limit;
use crate::verdict::{Judged, Verdict, overall};
use memtoll_analysis::estimate::Estimate;
use memtoll_text::format;
use memtoll_text::format::Unit;
use std::fmt::Write;

/// What was measured and what is allowed: `allocations and reallocations: 30,018; the budget allows 27,018`.
pub fn sentence(judged: &Judged) -> String {
    let Judged { entry, measured, allowed, .. } = judged;
    let (unit, name) = (entry.unit(), entry.name());
    let (Some(measured), Some(allowed)) = (measured, allowed) else {
        return format!("{name}: {}", judged.note.as_deref().unwrap_or("not known"));
    };
    let mut text = format!("{name}: {}", value(unit, measured));
    text += match judged.verdict {
        Verdict::Kept => " of ",
        _ => "; the budget allows ",
    };
    text += &match entry.limit {
        Limit::AtMost(_) => unit.show(allowed.value),
        limit => format!("{} ({})", unit.show(allowed.value), limit.shown(unit)),
    };
    if judged.verdict == Verdict::WithinNoise {
        text += "; runs of the same program differ by as much";
    }
    if let Some(note) = &judged.note {
        text += &format!("; {note}");
    }
    text
}

fn value(unit: Unit, of: &Estimate) -> String {
    memtoll_text::format::ranged(unit, of.value, of.low, of.high)
}

/// A line that broke a limit, with its part and that in the baseline.
pub fn line(unit: Unit, line: &Line) -> String {
    let Some(value) = line.value else { return line.text.clone() };
    let mut text = format!("{}  {}", unit.show(value), line.text);
    match line.before {
        Some(0.0) => text += "; new since the baseline",
        Some(before) => text += &format!("; {} in the baseline", unit.show(before)),
        None => {}
    }
    text
}

/// The unit of the lines of a broken limit.
pub fn unit_of_lines(judged: &Judged) -> Unit {
    // Lines of the largest resident set are in page faults.
    if judged.entry.key().ends_with(".resident-peak") { Unit::Count } else { judged.entry.unit() }
}

/// One line, in words: what a CI's log shows at the end.
pub fn summary<'a>(all: impl IntoIterator<Item = &'a Judged>) -> String {
    let verdicts: Vec<Verdict> = all.into_iter().map(|judged| judged.verdict).collect();
    let number = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
    let mut parts = Vec::new();
    for (verdict, word) in [(Verdict::Broken, "broken"), (Verdict::Unknown, "not known")] {
        if number(verdict) > 0 {
            parts.push(format!("{} {word}", number(verdict)));
        }
    }
    parts.push(format!("{} kept", number(Verdict::Kept) + number(Verdict::WithinNoise)));
    format!("{}: {}", format::counted(verdicts.len() as u64, "limit"), parts.join(", "))
}

/// All verdicts, and a summary. `kept` shows the limits that are kept, too.
pub fn render(all: &[Judged], budget: &str, kept: bool, width: Option<usize>) -> String {
    let mut text = verdicts(all, budget, kept, width);
    if overall(all) != Verdict::Kept || kept {
        text += "\n";
    }
    let _ = writeln!(text, "{}", summary(all));
    text
}

/// All verdicts: broken ones first, with their lines. `kept` shows those that are kept, too.
pub fn verdicts(all: &[Judged], budget: &str, kept: bool, width: Option<usize>) -> String {
    let mut text = String::new();
    for (verdict, word) in [
        (Verdict::Broken, "broken"),
        (Verdict::Unknown, "cannot say"),
        (Verdict::WithinNoise, "kept"),
        (Verdict::Kept, "kept"),
    ] {
        let is_shown = kept || matches!(verdict, Verdict::Broken | Verdict::Unknown);
        for judged in all.iter().filter(|judged| judged.verdict == verdict && is_shown) {
            let head = format!("{word:<10}  ");
            let place = format!("{}:{}", budget, judged.entry.line);
            let body = format!("{}: {}  [{place}]", judged.entry.scope.shown(), sentence(judged));
            text += &format::wrapped(&head, &body, width);
            for one in &judged.lines {
                text += &format::wrapped(&format!("{:14}", ""), &line(unit_of_lines(judged), one), width);
            }
        }
    }
    text
}
