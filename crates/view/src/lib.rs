//! The viewer. A browser shows it, either from a server on this machine ([`serve`]) or from one self-contained page
//! ([`page`]). Both show the same front end (`viewer/`, embedded in [`bundle`]), which gets the same packs of columns
//! ([`pack`]): from the server, one for each selection; in the page, one of the whole recording and one of each slice of
//! its time.

pub mod about;
mod activity;
pub mod ask;
mod branches;
pub mod bundle;
mod compare;
mod compare_trees;
pub mod engine;
mod frames;
mod generations;
mod lanes;
mod layout;
mod memory;
pub mod metrics;
pub mod pack;
pub mod page;
mod patterns;
mod private;
mod profile;
pub mod serve;
pub mod settings;
mod source;
mod source_file;
pub mod timeline;
pub mod tree;
mod wrappers;

pub use ask::Ask;
pub use compare::Compared;
pub use engine::Engine;
pub use settings::{Editor, Settings};
