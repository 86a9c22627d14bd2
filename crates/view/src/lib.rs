//! The viewer. A browser shows it, either from a server on this machine ([`serve`]) or from one self-contained page
//! ([`page`]). Both show the same front end (`viewer/`, embedded in [`bundle`]), which gets the same packs of columns
//! ([`pack`]): from the server, one for each selection; in the page, one of the whole recording and one of each slice of
//! its time.

mod about;
mod activity;
mod advice;
pub mod ask;
pub mod bounded_tree;
pub mod bundle;
mod changed_trees;
mod changes;
pub mod engine;
mod frame_table;
mod functions;
mod generations;
mod groups;
mod home_folders;
mod layout;
mod memory_map;
pub mod metrics;
pub mod no_answer;
pub mod pack;
mod packs;
pub mod page;
mod patterns;
mod profile;
mod recordings;
mod resident_set;
mod selections;
pub mod serve;
pub mod settings;
mod source_file;
mod source_lines;
mod stack_chart;
mod stacked_timeline;
mod thread_lanes;
pub mod timeline;
mod tree_level;

pub use ask::Ask;
pub use engine::Engine;
pub use recordings::{Compared, Recordings};
pub use settings::{Editor, Settings};
