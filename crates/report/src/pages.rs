//! What lies in memory at the end: the columns of tables that are sorted by it.

use crate::numbers::{LIVE_AT_END, Numbers, SHARE};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;

const SHOWN: [Metric; 5] = [Metric::Resident, Metric::NeverTouched, Metric::Slack, Metric::Pinned, Metric::LiveBlocks];

/// Their titles, with the share behind the first one, and what is live behind those in memory.
pub const COLUMNS: [&str; 7] = {
    let [resident, never, slack, pinned, blocks] = SHOWN;
    let [resident, never, slack] = [resident.about().title, never.about().title, slack.about().title];
    [resident, SHARE, never, slack, pinned.about().title, LIVE_AT_END, blocks.about().title]
};

/// The cells of a row.
pub fn numbers(of: Numbers, total: &Priced, sort: Metric) -> Vec<String> {
    let [resident, never, slack, pinned, blocks] = SHOWN.map(|metric| of.cell(metric));
    vec![resident, of.share(sort, total), never, slack, pinned, of.cell(Metric::Live), blocks]
}
