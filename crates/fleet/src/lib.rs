//! What recordings of many machines say together: a store that they are added to, and four questions.
//!
//! * [`columns`]: what a row has: one table, from which tables, statements and output come
//! * [`run`]: a recording as the rows of a store; [`identity`]: keys on which machines agree without talking
//! * [`schema`]: the tables, each with its [`layout`]; [`dialect`]: where SQLite and ClickHouse differ
//! * [`cluster`]: the tables of a server, and those of a cluster
//! * [`selection`], [`grouping`]: which runs, and what is added up of them; [`statement`]: the SQL of all questions
//! * [`rollup`]: sums of whole days; [`rolls`]: those that stand for their runs
//! * [`store`]: what an engine does; [`sqlite`] and [`clickhouse`] do it, and [`open`] finds which
//! * [`question`]: top, trend and compare; [`check`]: budgets; [`spread`]: how much runs differ
//! * [`table`], [`show`]: answers, as text, JSON, CSV and Markdown; [`pages`]: as pages with links

pub mod check;
pub mod chosen_rollups;
pub mod clickhouse;
pub mod cluster;
pub mod columns;
pub mod day;
pub mod dialect;
mod error;
pub mod grouping;
pub mod identity;
pub mod layout;
pub mod open;
pub mod pages;
pub mod question;
mod rolled_statement;
pub mod rollup;
mod row_binary;
pub mod run;
pub mod run_figures;
mod run_means;
pub mod schema;
pub mod selection;
pub mod show;
mod spread;
pub mod sql;
pub mod sqlite;
pub mod statement;
pub mod store;
pub mod table;

pub use error::Error;
