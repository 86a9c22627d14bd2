//! One way to ask what is in a recording: a [`Query`], and its [`Answer`].
//!
//! The command line, exports, advice and the viewer ask the same way, so they never disagree.
//!
//! ```no_run
//! use memtoll_analysis::metric::Metric;
//! use memtoll_analysis::sites::GroupBy;
//! use memtoll_query::{Query, View, ask, query::When};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recording = memtoll_model::Recording::open(std::path::Path::new("app.memtoll"))?;
//! let answer = ask(
//!     &recording,
//!     &Query {
//!         when: When::Span { from_ns: Some(2_000_000_000), to_ns: None },
//!         metric: Some(Metric::Cost),
//!         findings: true,
//!         ..Query::of(View::Table { group: GroupBy::Function, limit: Some(20) })
//!     },
//! )?;
//! println!("{}", serde_json::to_string(&answer)?);
//! # Ok(())
//! # }
//! ```
//!
//! # The contract
//!
//! * A [`Query`] is plain data. Its JSON is what a viewer sends; unknown fields are an error. It names things as people
//!   do (`"threads": ["io"]`); times are ns since the recording began.
//! * An [`Answer`] is plain data, too. `serde_json::to_string(&answer)` is what `memtoll report --format json` prints;
//!   `docs/json.md` describes it, `docs/metrics.md` the metrics. Fields that are marked `serde(skip)` are for code that
//!   prints or goes on calculating: the sums ([`Answer::basis`]), rows and findings as the analysis has them.
//! * [`Impossible`] is the one error: nothing in the recording is what was asked for, and here is what there is. As text
//!   it is a sentence for a person; as JSON it has the choices as lists.
//! * Numbers add up. A table's rows and its `left_out` are the total of what matches; a node's children and `smaller`
//!   are never more than the node. Metrics come from one table, [`memtoll_analysis::metric::TABLE`]: their names in
//!   JSON, units, titles, help. A value that was not observed is `null`, not 0. Times are estimates, with `intervals`.
//! * [`rows::Row::key`], [`tree::Node::key`] and [`findings::Finding::key`] are digests of names. They stay the same in
//!   all answers about a recording, whatever is selected, so a viewer can keep a selection across queries. A finding's
//!   key is that of its row in a table by [`GroupBy::Site`](memtoll_analysis::sites::GroupBy::Site).
//! * [`comparison`] puts the answers of several recordings side by side: what `memtoll diff` shows.
//! * Trees are asked lazily: `View::Tree(TreeQuery { depth: Some(2), .. })` gives two levels; a node with `has_more`
//!   gives the next ones with `node: Some(its key)` and else the same query.

mod activity;
mod answer;
mod ask;
mod calibration;
pub mod choices;
pub mod comparison;
pub mod export;
pub mod figures;
pub mod findings;
pub mod findings_in_brief;
pub mod findings_in_words;
mod fresh_memory;
pub mod grown;
mod impossible;
pub mod lanes;
pub mod layout;
mod left_out;
pub mod looks;
pub mod notes;
pub mod patterns;
mod pools;
pub mod processor;
pub mod query;
pub mod regions;
pub mod resident;
pub mod resident_map;
pub mod resident_words;
pub mod rows;
pub mod run_details;
mod run_id;
mod schema_version;
mod selection;
mod session;
pub mod threads;
pub mod timeline;
mod totals;
pub mod tree;
mod types_of_blocks;
pub mod unnamed_functions;
pub mod wastes;
mod without_tables;

pub use activity::Activity;
pub use answer::{About, Answer, Basis, Shown, Span, Table};
pub use ask::ask;
pub use figures::Figures;
pub use impossible::Impossible;
pub use left_out::LeftOut;
pub use memtoll_analysis::intervals::{Interval, Intervals};
pub use query::{Query, View};
pub use run_details::Details;
pub use run_id::{run_digest, run_id};
pub use schema_version::SCHEMA_VERSION;
pub use session::Session;
pub use totals::Totals;
