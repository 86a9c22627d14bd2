//! All integration tests of this crate, as one program: it is linked once.

mod report;
mod verify;
