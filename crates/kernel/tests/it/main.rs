//! All integration tests of this crate, as one program: it is linked once.

mod common;
mod faults;
mod processes;
mod storms;
