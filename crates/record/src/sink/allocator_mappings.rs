//! Mappings that an allocator makes outside of its hooked calls: when it starts, or in a thread of its own. They are its memory
//! and none of the program's own mappings, as are those that it makes inside a call, of which the recorder tells nothing.

use super::Sink;
use crate::arena::Arena;
use memtoll_symbols::OpenFiles;
use memtoll_trace::ids::NodeId;
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::Arc;

/// Whether calls come from an allocator's code, by their stack nodes.
#[derive(Default)]
pub struct Callers(FxHashMap<NodeId, bool>);

impl Sink {
    /// Whether the code that called with this stack is an allocator's.
    pub(super) fn is_allocators(&mut self, arena: &Arena, node: Option<NodeId>) -> bool {
        let Some(node) = node else { return false };
        if let Some(known) = self.mapping_callers.0.get(&node) {
            return *known;
        }
        let Some(caller) = arena.node(node) else { return false };
        // A file of which nothing is known yet may still turn out to have one.
        let Some(module) = self.facts.modules.iter().rfind(|module| module.number == caller.module) else {
            return false;
        };
        let open = || if module.path.starts_with('/') { self.run.files.open_files() } else { OpenFiles::default() };
        let of_file = self.run.own_allocators.in_file(Path::new(&module.path), open);
        // To read all symbols of a large program takes a while.
        let may_be = !of_file.own.is_empty() || of_file.malloc.is_some();
        let path: Arc<str> = module.path.as_str().into();
        let is_it = may_be && self.run.allocator_code(&path).has_address(caller.address.wrapping_sub(module.bias));
        self.mapping_callers.0.insert(node, is_it);
        is_it
    }
}
