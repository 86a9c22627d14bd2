//! All integration tests of this crate, as one program: it is linked once.

mod allocator_code;
mod callees;
mod common;
mod damaged_files;
mod function_bounds;
mod inline_chains;
mod layouts;
mod own_allocators;
mod separate_files;
mod type_sizes;
