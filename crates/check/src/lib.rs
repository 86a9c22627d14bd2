//! Budgets: limits for what memory may cost, which recordings keep or break.
//!
//! * [`metric`]: what can be limited, and of what
//! * [`limit`]: a limit as a user writes it: `27_018`, `"12 MiB"`, `"+5 %"`
//! * [`budget`]: the budget file
//! * [`measured`]: a recording with its sums, and the value of a metric in it
//! * [`verdict`]: whether a limit is kept, and which lines broke it
//! * [`framework`]: the tests of a test program, and how each is run alone
//! * [`suite`]: what each test takes, and which limits it keeps
//! * [`first`]: `memtoll budget`, a first budget from a recording
//! * [`text`], [`json`], [`junit`], [`sarif`], [`annotations`]: the verdicts, for people and for machines

pub mod annotations;
mod blame;
pub mod budget;
pub mod first;
pub mod framework;
pub mod json;
pub mod junit;
pub mod limit;
pub mod measured;
pub mod metric;
pub mod nearest;
pub mod sarif;
pub mod suite;
pub mod text;
pub mod unknown;
pub mod verdict;
