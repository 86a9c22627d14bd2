//! Programs and libraries that a process has loaded without any call of theirs being recorded: the recorder does not show them,
//! but their variables are in memory.

use memtoll_symbols::Extent;
use memtoll_trace::meta::Module;
use memtoll_trace::snapshot::Mapping;
use memtoll_trace::symbols::path_of;
use rustc_hash::FxHashSet;
use std::path::Path;

/// Those of an image.
#[derive(Default)]
pub struct MappedFiles {
    /// Mappings that need not be looked at again: where they begin, and paths.
    seen: FxHashSet<(u64, String)>,
    pub all: Vec<Module>,
    written: usize,
}

impl MappedFiles {
    /// Looks at what a process has mapped. `known`: what the recorder has shown. Returns those that are new.
    pub fn look(&mut self, pid: u32, mappings: &[Mapping], known: &[Module]) -> &mut [Module] {
        let before = self.all.len();
        for first in mappings.iter().filter(|mapping| mapping.offset == 0 && mapping.path.starts_with('/')) {
            let is_known = known.iter().any(|module| (module.start..module.end).contains(&first.start));
            if !is_known && self.seen.insert((first.start, first.path.clone())) {
                let path = path_of(&first.path);
                let extent = [format!("/proc/{pid}/root{path}"), path.to_owned()]
                    .iter()
                    .find_map(|place| Extent::of(Path::new(place)));
                self.all.extend(extent.and_then(|extent| loaded(first, &extent, mappings)));
            }
        }
        &mut self.all[before..]
    }

    /// Those that are not written yet.
    pub fn take(&mut self) -> &[Module] {
        let from = std::mem::replace(&mut self.written, self.all.len());
        &self.all[from..]
    }
}

/// The file whose mapping is `first`, if its segments lie where a loader puts them.
fn loaded(first: &Mapping, extent: &Extent, mappings: &[Mapping]) -> Option<Module> {
    let bias = first.start.wrapping_sub(extent.first);
    let is_there = |segment: &u64| {
        let address = segment.wrapping_add(bias);
        mappings.iter().any(|mapping| mapping.path == first.path && (mapping.start..mapping.end).contains(&address))
    };
    extent.segments.iter().all(is_there).then(|| Module {
        number: 0,
        start: first.start,
        end: extent.end.wrapping_add(bias),
        bias,
        path: first.path.clone(),
        build_id: extent.build_id.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proc_files;

    fn own_mappings() -> Vec<Mapping> {
        let lines = proc_files::maps(std::process::id()).into_iter();
        lines
            .map(|line| Mapping {
                start: line.start,
                end: line.end,
                offset: line.offset,
                path: line.path,
                ..Mapping::default()
            })
            .collect()
    }

    #[test]
    fn loaded_files_are_found_once() {
        static VARIABLE: u64 = 7;
        let (pid, mappings) = (std::process::id(), own_mappings());
        let mut files = MappedFiles::default();
        let found = files.look(pid, &mappings, &[]).to_vec();
        let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
        let program = found.iter().find(|module| module.path == own).expect("the program");
        assert!((program.start..program.end).contains(&(&raw const VARIABLE as u64)));
        assert!(found.iter().any(|module| module.path.contains("libc.so.6")), "{found:?}");
        assert_eq!(files.take(), found);
        assert!(files.look(pid, &mappings, &[]).is_empty() && files.take().is_empty());
        let others = MappedFiles::default().look(pid, &mappings, std::slice::from_ref(program)).to_vec();
        assert_eq!(others.len(), found.len() - 1);
    }

    #[test]
    fn a_file_that_is_read_through_a_mapping_is_not_loaded() {
        let own = std::env::current_exe().unwrap();
        let bytes = std::fs::metadata(&own).unwrap().len();
        let path = own.to_string_lossy().into_owned();
        let mapping =
            Mapping { start: 0x7000_0000, end: 0x7000_0000 + bytes / 4096 * 4096, path, ..Mapping::default() };
        let cut = Mapping { end: 0x7000_1000, ..mapping.clone() };
        assert!(MappedFiles::default().look(std::process::id(), &[cut], &[]).is_empty());
    }
}
