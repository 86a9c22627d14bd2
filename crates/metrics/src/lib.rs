//! All that is counted of call sites ([`Metrics`]), what it costs ([`Priced`]), and the metrics that are shown of both
//! ([`Metric`]).
//!
//! Both lists are in one file, `list.rs`. Columns of recordings, options, JSON, CSV, Parquet, exports, stores, limits, both
//! viewers and `docs/metrics.md` come from them.

mod estimate;
mod list;

pub use estimate::Estimate;
pub use list::counts::{Adds, Chosen, Count, OF_CHAPTER, OF_PART, OF_SUMMARY, SAMPLED_COUNTS, place_of};
pub use list::metric::{About, Place, Price, Seen, Sees, Steadiness, Together, all_in, number_in};
pub use list::priced::{Costs, Priced};
pub use list::settled::{Ratio, Settled};
pub use list::{COUNTS, Metric, Metrics, TABLE};
pub use memtoll_text::format::Unit;
