//! All integration tests of this crate, as one program: it is linked once.

mod events_round_trip;
mod format_document;
mod tables_document;
