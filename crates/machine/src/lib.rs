//! What memory costs on this machine.
//!
//! The measuring is done by small C++ programs (`machine/`), which are built into this crate and run as processes of
//! their own: each has a heap of its own, and disturbs no other.
//!
//! [`prices`] measures single operations in a few milliseconds, for a recording. [`measure`] compares the ways to take
//! memory and to give it back; [`text`] and [`chart`] show the [`Report`].

mod about;
mod advice;
mod chart;
mod measure;
mod measured;
mod prices;
mod program;
mod report;
mod statistics;
mod text;
mod units;
mod ways;

pub use about::About;
pub use chart::{ChartFormat, chart};
pub use measure::{Progress, Settings, measure};
pub use prices::prices;
pub use program::{Error, Program};
pub use report::{
    Costs, Falls, PureTouch, Report, SCHEMA_VERSION, Spread, Unavailable, UseCosts, Uses, WayCosts, Write,
};
pub use text::text;
