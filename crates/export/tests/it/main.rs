//! All integration tests of this crate, as one program: it is linked once.

mod errors;
mod ids_of_processes;
mod sql_document;
mod sums;
