//! The cause that lines have in common: a function that they call, and that ends with a jump to the allocator.

use crate::facts::Facts;
use crate::finding::Place;
use crate::site::Site;
use memtoll_model::StackId;
use memtoll_symbols::{Callee, ModuleFile, Resolver};
use rustc_hash::FxHashSet;
use std::path::Path;

/// Whose calls a site's are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The line calls the allocator itself.
    Own,
    /// A function that the line calls, and that leaves no frame.
    Called {
        /// The file of the line.
        file: String,
        /// The function, where it begins.
        place: Place,
    },
    /// Not known; the line is in this file.
    File(String),
}

/// Functions that programs call to release a block.
const RELEASES: [&str; 6] = ["free", "cfree", "free_sized", "free_aligned_sized", "operator delete", "realloc"];

/// The cause of a site's releases, from the code of its most frequent call of free with a null pointer.
pub fn cause(facts: &Facts, site: &Site) -> Cause {
    let nodes: FxHashSet<StackId> = site.nodes.iter().copied().collect();
    let own = facts.sums.sites.iter().filter(|sums| nodes.contains(&sums.node));
    let Some(most) = own.max_by_key(|sums| sums.metrics().null_frees) else { return Cause::Own };
    let node = facts.recording.stacks.node(most.node);
    let Some(code) = facts.addresses().of(&node) else { return Cause::Own };
    let file = code.path.to_owned();
    let build_id: Vec<u8> = (0..code.build_id.len() / 2)
        .filter_map(|at| u8::from_str_radix(code.build_id.get(2 * at..2 * at + 2)?, 16).ok())
        .collect();
    let module = ModuleFile { path: Path::new(code.path), build_id: &build_id };
    let is_release =
        |name: &str| RELEASES.iter().any(|release| name.strip_prefix(release).is_some_and(|rest| !is_word(rest)));
    match Resolver::new().callee(&module, code.address) {
        None => Cause::File(file),
        Some(Callee::Other(name)) if is_release(&name) => Cause::Own,
        Some(Callee::Other(name)) => Cause::Called { file, place: Place { function: name, file: None, line: None } },
        Some(Callee::Own { frame, .. }) if is_release(&frame.function) => Cause::Own,
        Some(Callee::Own { frame, .. }) => {
            let place = Place { function: plain(&frame.function).to_owned(), file: frame.file, line: frame.line };
            Cause::Called { file, place }
        }
    }
}

fn is_word(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// A function's name without parameters.
fn plain(function: &str) -> &str {
    memtoll_analysis::library::qualified_name(function)
}
