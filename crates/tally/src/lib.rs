//! Adds up the events of one process image, by call site.
//!
//! The same code runs while the program is recorded (its result goes into the file, so that the first report is there at
//! once) and over the events of a file, when a report asks for a span of time, for threads or for sizes.

mod aggregator;
mod block_table;
mod curve;
mod in_order;
mod live_block;
mod number_order;
mod scan;
mod selection;
mod site;
mod site_index;
mod sites_by_part;
pub mod span;
mod tally;
mod timeline_builder;
mod usual_call;
pub mod zeroed_memory;

pub use aggregator::Aggregator;
pub use block_table::BlockTable;
pub use curve::CurveBuilder;
pub use in_order::in_order;
pub use live_block::LiveBlock;
pub use memtoll_trace::costs::Charge;
pub use scan::Scan;
pub use selection::{Everything, Part, Select, Selection, Split, Threads};
pub use tally::{Replaced, Tally};
pub use timeline_builder::{Cells, TimelineBuilder};
