//! The viewer. A browser shows it, either from a server on this machine ([`serve`]) or from one self-contained page
//! ([`page`]). Both show the same front end (`viewer/`, embedded in [`bundle`]), which gets the same packs of columns
//! ([`pack`]): from the server, one for each selection; in the page, one of the whole recording and one of each slice of
//! its time.

mod about;
mod activity;
mod advice;
pub mod ask;
mod branches;
pub mod bundle;
mod changed_trees;
mod changes;
pub mod engine;
mod frames;
mod generations;
mod groups;
mod lanes;
mod layout;
mod memory;
pub mod metrics;
pub mod pack;
mod packs;
pub mod page;
mod patterns;
mod private;
mod profile;
mod recordings;
mod selections;
pub mod serve;
pub mod settings;
mod source;
mod source_file;
pub mod timeline;
pub mod tree;

pub use ask::Ask;
pub use engine::Engine;
pub use recordings::{Compared, Recordings};
pub use settings::{Editor, Settings};
