//! All integration tests of this crate, as one program: it is linked once.

mod sql_document;
mod sums;
