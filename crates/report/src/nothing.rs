//! Why a table or a tree is empty, in words.

use memtoll_analysis::sites::SortBy;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;

/// That no row has any of what rows are sorted by.
pub fn of(recording: &Recording, sums: &Sums, by: SortBy) -> String {
    let sees = Tariff::of(recording).sees();
    let then = if sums.selection.to < u64::MAX { "then" } else { "at the end" };
    let sentence = match by {
        SortBy::Faults if !sees.faults => "Page faults are unknown: the kernel refused to show them.",
        SortBy::Waiting if !sees.switches => "Waiting is unknown: the kernel refused to show who had the processor.",
        SortBy::Allocations | SortBy::Bytes => "Nothing was allocated.",
        SortBy::Peak => "Nothing was live at the peak.",
        SortBy::Live => return format!("Nothing was live {then}.\n"),
        SortBy::Temporary => "No block was temporary.",
        SortBy::Lifetime => "No block was released.",
        SortBy::Cost => "Nothing cost any time.",
        SortBy::Faults => "No page fault was charged to anybody.",
        SortBy::Mapping => "No time went into mappings.",
        SortBy::Waiting => "Nobody waited in the allocator.",
    };
    sentence.to_owned() + "\n"
}
