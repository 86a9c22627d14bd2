//! Turns call addresses into functions, files and lines.
//!
//! A recording holds addresses only. This crate reads the ELF files that were loaded, finds their debug information
//! (in the file itself, or in a separate file found by build id or by `.gnu_debuglink`), and gives for each address the
//! chain of inlined functions with names as a programmer writes them.
//!
//! Nothing here trusts the files: a damaged file leads to fewer names and a [`Resolved::problem`], never to a panic.

mod address_book;
mod address_ranges;
mod allocator_code;
mod allocator_functions;
mod build_id;
mod builtin_type;
mod callee;
mod canonical_type;
mod cxx_scopes;
mod debug_files;
mod default_suppressions;
mod demangle;
mod distribution;
mod dwarf;
mod element_types;
mod elf;
mod folder_index;
mod frame;
mod function;
mod function_bounds;
mod functions_hash;
mod inline_depth;
pub mod layout;
mod malloc_name;
mod mini_debug_info;
mod name_search;
mod names;
mod open_files;
mod own_allocator;
mod packed_names;
mod parallel_naming;
mod perf_map;
mod resolver;
mod rust_names;
mod sections;
mod source_path;
mod split_files;
mod symbol_table;
mod type_lookup;
mod type_sizes;
mod variable_lines;
mod variables;
mod wanted_types;

pub use address_book::AddressBook;
pub use address_ranges::merged;
pub use allocator_code::AllocatorCode;
pub use allocator_functions::{Form, Signature};
pub use callee::{Callee, calls_allocator};
pub use debug_files::{DebugFolders, is_debug_file};
pub use default_suppressions::default_suppressions;
pub use demangle::demangle;
pub use distribution::{System, is_of_distribution};
pub use elf::{Extent, FileId, loaded_content};
pub use frame::{Frame, ModuleFile, Resolved};
pub use name_search::{Asked, Findings, Search, Servers, Wish};
pub use open_files::OpenFiles;
pub use own_allocator::{AllocatorFunction, Family, OwnAllocator};
pub use perf_map::PerfMap;
pub use resolver::Allocators;
pub use resolver::Resolver;
pub use variables::variables_of;
