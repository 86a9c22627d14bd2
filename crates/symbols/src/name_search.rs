//! Looks for names that a recording lacks: debug files that were installed, fetched or built since, here or elsewhere.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::Path;

use memtoll_trace::symbols::{NameSource, Symbols, file_name};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::build_id::bytes;
use crate::packed_names::Table;
use crate::parallel_naming::{FileAddresses, complete, is_c_library, name_all};
use crate::{DebugFolders, ModuleFile, Resolver};

/// Servers that have debug files.
pub trait Servers {
    /// Fetches the debug file with this build id (hexadecimal digits) into the cache, which is one of the [`DebugFolders`].
    /// `name` is what the file is called that it belongs to. Returns whether it is there now.
    fn fetch(&mut self, build_id: &str, name: &str) -> bool;

    /// What the servers answered, each a statement for the user.
    fn answers(&self) -> Vec<String>;
}

/// For which files servers are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Those with functions that have no names at all, the C library left out. A report asks so: it may not take long.
    Names,
    /// All whose lines are not known.
    Lines,
}

/// A search for names.
pub struct Search<'a> {
    resolver: Resolver,
    folders: Vec<String>,
    servers: Option<(&'a mut dyn Servers, Wish)>,
}

/// What a search led to.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Files that have better names now, without their folders, sorted.
    pub found: Vec<String>,
    /// Where names were looked for: folders, and servers with their answers. Empty if nothing was missing.
    pub looked_in: Vec<String>,
    /// Whether servers were asked.
    pub asked: Asked,
}

/// Whether servers were asked for names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Asked {
    /// There are none.
    #[default]
    NoServer,
    NotYet,
    /// They were.
    Yes,
}

impl<'a> Search<'a> {
    /// A search in the folders of this machine.
    pub fn new(folders: DebugFolders) -> Self {
        Search { folders: folders.names(), resolver: Resolver::with_folders(folders), servers: None }
    }

    /// Asks servers, too.
    pub fn with_servers(mut self, servers: &'a mut dyn Servers, wish: Wish) -> Self {
        self.servers = Some((servers, wish));
        self
    }

    /// What names addresses, with the files of this machine.
    pub fn resolver(&self) -> &Resolver {
        &self.resolver
    }

    /// Looks for better names than those in `symbols`, and puts them there. Only files with the right build id are used,
    /// and each is looked for once.
    pub fn improve(&mut self, symbols: &mut Symbols) -> Findings {
        let mut wanting: Vec<usize> = (0..symbols.modules.len()).filter(|&index| is_wanting(symbols, index)).collect();
        // Those with most functions to name first: a server may be given up on the way.
        wanting.sort_by_cached_key(|&index| Reverse(unnamed(symbols, index)));
        if wanting.is_empty() {
            return Findings::default();
        }
        let mut known: FxHashMap<String, NameSource> = FxHashMap::default();
        let mut better: FxHashSet<usize> = FxHashSet::default();
        for index in wanting {
            let module = &symbols.modules[index];
            let source = match known.get(&module.build_id) {
                Some(&source) => source,
                None => self.best_source(symbols, index),
            };
            known.insert(module.build_id.clone(), source);
            if source.min(complete(&module.path)) > module.source {
                better.insert(index);
            }
        }
        let found = if better.is_empty() { Vec::new() } else { self.replace(symbols, &better) };
        let answers = self.servers.as_ref().map(|(servers, _)| servers.answers()).unwrap_or_default();
        Findings {
            found,
            looked_in: self.folders.iter().cloned().chain(answers).collect(),
            asked: if self.servers.is_some() { Asked::Yes } else { Asked::NoServer },
        }
    }

    /// The best source of names for a module that this machine has, or that a server hands out.
    fn best_source(&mut self, symbols: &Symbols, index: usize) -> NameSource {
        let module = &symbols.modules[index];
        let id = bytes(&module.build_id);
        let file = ModuleFile { path: Path::new(&module.path), build_id: &id };
        let mut available = self.resolver.source(&file);
        let Some((servers, wish)) = &mut self.servers else { return available.source };
        let is_asked = *wish == Wish::Lines || unnamed(symbols, index) > 0 && !is_c_library(&module.path);
        let name = file_name(&module.path);
        if is_asked && available.source < NameSource::PartOfDebugInfo && servers.fetch(&module.build_id, name) {
            available = self.resolver.source(&file);
        }
        // What dwz moved out of several debug files is a file of its own.
        if let Some(missing) = available.missing.filter(|_| is_asked)
            && servers.fetch(&crate::elf::hex(&missing.build_id), name)
        {
            return self.resolver.source(&file).source;
        }
        available.source
    }

    /// Names the files again that stand at these indices. Returns which of them have better names now.
    fn replace(&self, symbols: &mut Symbols, better: &FxHashSet<usize>) -> Vec<String> {
        let again = better.iter().map(|&index| {
            let module = &symbols.modules[index];
            let (path, build_id) = (module.path.clone(), module.build_id.clone());
            FileAddresses { path, build_id, addresses: module.addresses.clone() }
        });
        let mut found = BTreeSet::new();
        let mut table = Table::default();
        let before: FxHashMap<(&str, &str), NameSource> = symbols
            .modules
            .iter()
            .map(|module| ((module.path.as_str(), module.build_id.as_str()), module.source))
            .collect();
        for named in name_all(&self.resolver, again.collect()) {
            if before.get(&(named.file.path.as_str(), named.file.build_id.as_str())) < Some(&named.resolved.source) {
                found.insert(file_name(&named.file.path).to_owned());
            }
            table.add(named);
        }
        table.keep(symbols, |index| !better.contains(&index));
        table.keep_generated(symbols);
        *symbols = table.finish();
        found.into_iter().collect()
    }
}

/// Whether names of a file may be missing for which another file can stand in: what has no build id cannot be told from
/// what another build made.
fn is_wanting(symbols: &Symbols, index: usize) -> bool {
    let module = &symbols.modules[index];
    let is_file = module.path.starts_with('/') && !module.build_id.is_empty();
    is_file && module.source < complete(&module.path) && (!is_c_library(&module.path) || unnamed(symbols, index) > 0)
}

/// Addresses in a file that nothing names.
fn unnamed(symbols: &Symbols, index: usize) -> usize {
    let module = &symbols.modules[index];
    (0..module.addresses.len()).filter(|&at| module.unnamed_at(symbols, at).is_some()).count()
}
