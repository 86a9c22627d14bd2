//! Why a table or a tree is empty, in words.

use crate::head::first_capital;
use memtoll_analysis::metric::{About, Metric};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_trace::ids::Units;

/// That no row has any of what rows are sorted by.
pub fn of(recording: &Recording, sums: &Sums, by: Metric) -> String {
    let sees = Tariff::of(recording).of_sums(sums).sees();
    let then = if sums.selection.to < Units::MAX { "then" } else { "at the end" };
    let sentence = match by {
        Metric::Faults if !sees.faults => "Page faults are unknown: the kernel did not show them.",
        Metric::Waiting if !sees.switches => "Waiting is unknown: the kernel refused to report context switches.",
        of if of.about().seen.is_of_blocks() && !of.is_known_of(&sums.total, sees) => {
            let About { title, seen, .. } = of.about();
            return format!("{} is not known: {}.\n", first_capital((*title).to_owned()), seen.why_not());
        }
        Metric::Allocations | Metric::Bytes => "Nothing was allocated.",
        Metric::Peak => "Nothing was live at the peak.",
        Metric::Live => return format!("Nothing was live {then}.\n"),
        Metric::Resident => return format!("No live block was in memory {then}.\n"),
        Metric::NeverTouched => return format!("All live blocks were in memory {then}.\n"),
        Metric::Pinned => return format!("No live block pinned free memory {then}.\n"),
        Metric::Temporary => "No block was temporary.",
        Metric::Lifetime => "No block was released.",
        Metric::Cost => "Nothing cost any time.",
        Metric::Faults => "No page fault was charged to anybody.",
        Metric::Mapping => "No time went into mappings.",
        Metric::Waiting => "No thread waited in the allocator.",
        other => return format!("Nothing to show: {} is 0 everywhere.\n", other.about().title),
    };
    sentence.to_owned() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::golden;
    use memtoll_query::query::Query;
    use memtoll_query::{View, ask};

    /// The search for lost blocks knows no span of time, threads or sizes.
    #[test]
    fn what_is_not_known_is_not_0() {
        let recording = golden("tiny.memtoll");
        let answer = ask(&recording, &Query { view: View::Totals, ..Query::default() }).ok().unwrap();
        let sums = answer.basis.sums.as_ref().unwrap();
        assert_eq!(
            of(&recording, sums, Metric::Lost),
            "Lost is not known: the program's memory was not searched at its end, or the selection leaves out times, threads or \
             sizes.\n"
        );
        assert_eq!(of(&recording, sums, Metric::Failed), "Nothing to show: failed is 0 everywhere.\n");
    }
}
