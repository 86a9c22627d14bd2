//! Collects the call addresses of all processes, so that each of them is resolved once, when the run is over.

use crate::packed_names::Table;
use crate::parallel_naming::{FileAddresses, name_all};
use crate::variables::variables_of;
use crate::{Frame, PerfMap, Resolver};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::{FileVariables, Module};
use memtoll_trace::symbols::Symbols;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Call addresses by file.
#[derive(Default)]
pub struct AddressBook {
    files: BTreeMap<(String, String), FxHashSet<u64>>, // path, build id -> addresses in the file
    generated: Vec<(ImageNo, u64, Frame)>,
    with_pages: BTreeSet<(String, String)>, // path, build id of files of which it is known which pages are in memory
}

impl AddressBook {
    /// Adds addresses in memory of calls in `module`.
    pub fn add(&mut self, module: &Module, addresses: impl IntoIterator<Item = u64>) {
        let known = self.files.entry((module.path.clone(), module.build_id.clone())).or_default();
        known.extend(addresses.into_iter().map(|address| address.wrapping_sub(module.bias)));
    }

    /// Adds a file of which it is known which of its pages are in memory.
    pub fn add_pages(&mut self, module: &Module) {
        self.with_pages.insert((module.path.clone(), module.build_id.clone()));
    }

    /// The variables of the files of which it is known which pages are in memory.
    pub fn variables(&self, resolver: &Resolver) -> Vec<FileVariables> {
        self.with_pages.iter().filter_map(|(path, build_id)| variables_of(resolver, path, build_id)).collect()
    }

    /// Adds addresses of code outside all files: made at run time, and perhaps described by a perf map file.
    pub fn add_generated(&mut self, image: ImageNo, pid: u32, addresses: impl IntoIterator<Item = u64>) {
        let Ok(text) = std::fs::read(format!("/tmp/perf-{pid}.map")) else { return };
        let map = PerfMap::parse(&String::from_utf8_lossy(&text));
        for address in addresses {
            self.generated.extend(map.frame(address).map(|frame| (image, address, frame)));
        }
    }

    /// Resolves everything with what lies on this machine, on as many processors as there are.
    pub fn resolve(self, resolver: &Resolver) -> Symbols {
        let files = self.files.into_iter().map(|((path, build_id), addresses)| {
            let mut addresses: Vec<u64> = addresses.into_iter().collect();
            addresses.sort_unstable();
            FileAddresses { path, build_id, addresses }
        });
        let mut table = Table::default();
        for named in name_all(resolver, files.collect()) {
            table.add(named);
        }
        for (image, address, frame) in self.generated {
            table.add_generated(image, address, &frame);
        }
        table.finish()
    }
}
