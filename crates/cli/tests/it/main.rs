//! All integration tests of this crate, as one program: it is linked once.

mod diff;
mod golden;
mod metric_places;
mod report;
mod verify;
