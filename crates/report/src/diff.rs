//! The comparison of recordings as text and Markdown: one set of totals and rows, in two forms.

mod cells;
mod markdown;
mod text;

use memtoll_analysis::diff::{CONFIDENCE, Change, Fate};
use memtoll_query::comparison::Comparison;
use memtoll_query::run_details::answering;

pub use markdown::markdown;
pub use text::text;

/// Which allocators answered, where that is not the same on both sides.
fn allocators(comparison: &Comparison) -> Option<String> {
    let [before, after] = comparison.sides.each_ref().map(|runs| {
        let mut names: Vec<String> = runs.iter().map(|run| answering(run.recording)).collect();
        names.sort_unstable();
        names.dedup();
        names.join(" or ")
    });
    (before != after && !before.is_empty() && !after.is_empty())
        .then(|| format!("malloc: before {before}, after {after}"))
}

/// How to read the figures.
fn method(comparison: &Comparison) -> String {
    let thing = comparison.thing();
    if comparison.noise.has_intervals() {
        let [before, after] = comparison.sides.each_ref().map(Vec::len);
        return format!(
            "Figures are means of {before} recordings before and {after} after; ± is the {:.0} % confidence interval \
             of the difference (Welch's t-test). The {thing}s listed changed by more than chance explains, and by at \
             least 0.5 % of the total.",
            CONFIDENCE * 100.0,
        );
    }
    format!(
        "One recording per side does not tell how much runs vary; ± is how far the figures of these two may be off. A \
         {thing} whose calls, bytes and page faults stay the same is listed only if its cost changes by more than 10 ms and \
         a quarter of the total. Several recordings per side give intervals: memtoll diff --before A B C --after D E F"
    )
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What became of a row, in a word.
fn fate(change: &Change) -> &'static str {
    match change.fate {
        Fate::Changed => "",
        Fate::New => "new",
        Fate::Gone => "gone",
    }
}
