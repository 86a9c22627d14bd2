//! From a file and addresses to frames: which source of names is asked in which order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use memtoll_trace::symbols::{DELETED, NameSource, path_of, version_of};
use rustc_hash::FxHashMap;

use crate::allocator_code::AllocatorCode;
use crate::debug_files::{DebugFile, DebugFolders, MissingFile};
use crate::dwarf::{DebugInfo, DebugSections};
use crate::element_types;
use crate::elf::{self, MappedFiles};
use crate::frame::{Frame, ModuleFile, Resolved};
use crate::malloc_name;
use crate::mini_debug_info;
use crate::names::Names;
use crate::open_files::OpenFiles;
use crate::own_allocator::{self, OwnAllocator};
use crate::parallel_naming::is_c_library;
use crate::type_lookup::TypeLookup;
use crate::type_sizes;
use crate::variable_lines;
use crate::variables::{self, Variables};

/// Finds functions, files and lines of addresses.
#[derive(Debug, Clone)]
pub struct Resolver {
    folders: DebugFolders,
    open: OpenFiles,
}

impl Default for Resolver {
    fn default() -> Self {
        Self::new()
    }
}

/// Where the names of a module would come from.
pub(crate) struct Available {
    pub(crate) source: NameSource,
    /// A file that the debug information refers to, and that is not there.
    pub(crate) missing: Option<MissingFile>,
}

/// The files that say something about a module.
struct Sources<'a> {
    /// The module itself, if it is the one that was recorded.
    module: Option<DebugFile<'a>>,
    /// A separate file with its debug information.
    separate: Option<DebugFile<'a>>,
    /// Why the module cannot be used.
    problem: Option<String>,
}

impl<'a> Sources<'a> {
    /// The file with the debug information, if there is any.
    fn holder(&self) -> Option<&DebugFile<'a>> {
        let holder = self.separate.as_ref().or(self.module.as_ref())?;
        elf::has_debug_info(&holder.file).then_some(holder)
    }
}

/// The allocators of a file.
#[derive(Debug, Clone, Default)]
pub struct Allocators {
    /// Those that it has inside itself.
    pub own: Vec<OwnAllocator>,
    /// What people call the `malloc` that it exports: `glibc 2.36`, `jemalloc`. Nothing if it exports none.
    pub malloc: Option<String>,
}

impl Resolver {
    /// A resolver that looks for separate debug files beside the modules, and where distributions install them, in
    /// `/usr/lib/debug`.
    pub fn new() -> Self {
        Self::with_folders(DebugFolders::of_system())
    }

    /// A resolver that looks for separate debug files beside the modules and in these folders.
    pub fn with_folders(folders: DebugFolders) -> Self {
        Resolver { folders, open: OpenFiles::default() }
    }

    /// A resolver that reads these modules where they are open, whatever is at their paths now.
    pub fn with_open_files(self, open: OpenFiles) -> Self {
        Resolver { open, ..self }
    }

    /// A resolver that looks in these directories, in this order. Each is laid out like `/usr/lib/debug`.
    pub fn with_debug_directories(debug_directories: Vec<PathBuf>) -> Self {
        Self::with_folders(DebugFolders::like_system(debug_directories))
    }

    /// Where the names of a module would come from now. Only headers are read.
    pub(crate) fn source(&self, module: &ModuleFile<'_>) -> Available {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let all = || sources.separate.iter().chain(&sources.module);
        let source = match sources.holder().map(|holder| self.folders.supplementary(&files, holder)) {
            Some(Some(Err(missing))) => {
                return Available { source: NameSource::PartOfDebugInfo, missing: Some(missing) };
            }
            Some(_) => NameSource::DebugInfo,
            None if all().any(|found| elf::has_symbol_table(&found.file)) => NameSource::Symbols,
            None if sources.module.as_ref().is_some_and(|own| elf::has_exported_names(&own.file)) => {
                NameSource::Exported
            }
            None => NameSource::Nothing,
        };
        Available { source, missing: None }
    }

    /// Finds the functions around addresses of one file.
    ///
    /// The addresses are those of calls, relative to the file: the address at run time, less the bias at which the file
    /// was loaded, and for a return address less one. They need not be sorted, and may repeat.
    ///
    /// Where debug information is missing the names come from `.symtab`, then from `.dynsym`, and in the end each
    /// address is shown as `libfoo.so+0x1234`. Nothing is kept between calls, so that all addresses of a file should be
    /// asked for at once.
    pub fn resolve(&self, module: &ModuleFile<'_>, addresses: &[u64]) -> Resolved {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let mut problem = sources.problem.clone();
        let sections = self.load_sections(&files, module.path, &sources, &mut problem);
        resolve_from(&files, module, &sources, sections.as_ref(), addresses, problem)
    }

    /// As [`Resolver::resolve`], of places in the file, in bytes, as a mapping of it has them.
    pub fn resolve_offsets(&self, module: &ModuleFile<'_>, offsets: &[u64]) -> Resolved {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let mut problem = sources.problem.clone();
        let sections = self.load_sections(&files, module.path, &sources, &mut problem);
        let address = |offset: &u64| {
            let own = &sources.module.as_ref()?.file;
            elf::address_of(own, *offset)
        };
        let addresses: Vec<u64> = offsets.iter().map(|offset| address(offset).unwrap_or(*offset)).collect();
        resolve_from(&files, module, &sources, sections.as_ref(), &addresses, problem)
    }

    /// As [`Resolver::resolve`], but from the symbol tables only: names without lines and inline chains, at a fraction of
    /// the price.
    pub fn resolve_names(&self, module: &ModuleFile<'_>, addresses: &[u64]) -> Resolved {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        resolve_from(&files, module, &sources, None, addresses, sources.problem.clone())
    }

    /// As [`Resolver::resolve`], and the sizes, in bytes, of the types of which containers in the frames are made, as
    /// [`Resolver::type_sizes`] finds them; the debug information is read only once for both.
    pub fn resolve_with_types(&self, module: &ModuleFile<'_>, addresses: &[u64]) -> (Resolved, FxHashMap<String, u64>) {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let mut problem = sources.problem.clone();
        let sections = self.load_sections(&files, module.path, &sources, &mut problem);
        let resolved = resolve_from(&files, module, &sources, sections.as_ref(), addresses, problem);
        let names = element_types::of(&resolved);
        let mut lookup = TypeLookup::new(&names);
        if let Some(sections) = &sections
            && !lookup.wanted.is_complete()
        {
            type_sizes::find(sections, &mut lookup.wanted);
        }
        let sizes = lookup.sizes();
        (resolved, sizes)
    }

    /// Sizes, in bytes, of types of one file by their names, which are spelled as in demangled names. Types that are not
    /// found are left out, and so are those of which the file has several, each its own, that differ in size.
    ///
    /// Numbers and pointers are known without debug information; then the file is not even opened.
    pub fn type_sizes(&self, module: &ModuleFile<'_>, names: &BTreeSet<String>) -> FxHashMap<String, u64> {
        let mut lookup = TypeLookup::new(names);
        if !lookup.wanted.is_complete() {
            let files = MappedFiles::default();
            let sources = self.find_sources(&files, module);
            if let Some(sections) = self.load_sections(&files, module.path, &sources, &mut None) {
                type_sizes::find(&sections, &mut lookup.wanted);
            }
        }
        lookup.sizes()
    }

    /// Which code of a file is the allocator's.
    pub fn allocator_code(&self, module: &ModuleFile<'_>) -> Result<AllocatorCode, String> {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let Some(own) = &sources.module else {
            return sources.problem.map_or_else(|| Ok(AllocatorCode::default()), Err);
        };
        let symbols = [Some(own), sources.separate.as_ref()].into_iter().flatten();
        let symbols = symbols.map(|source| &source.file).find(|file| elf::has_own_symbol_table(file));
        let name = own.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        Ok(AllocatorCode::of(&own.file, symbols, &name))
    }

    /// The allocators that a file has inside itself, and what it is as the `malloc` of others.
    ///
    /// # Errors
    /// Why the file cannot be read, or that it is not the one that was recorded.
    pub fn own_allocators(&self, module: &ModuleFile<'_>) -> Result<Allocators, String> {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let Some(own) = &sources.module else {
            return sources.problem.map_or_else(|| Ok(Allocators::default()), Err);
        };
        let mut symbols: Vec<&object::File<'_>> = [Some(own), sources.separate.as_ref()]
            .into_iter()
            .flatten()
            .map(|source| &source.file)
            .filter(|file| elf::has_own_symbol_table(file))
            .collect();
        let mini = symbols.is_empty().then(|| mini_debug_info::open(&files, &own.file).ok().flatten()).flatten();
        symbols.extend(&mini);
        let found = own_allocator::find(&own.file, &symbols);
        Ok(Allocators { malloc: malloc_name::find(&own.file, &found), own: found.own })
    }

    /// The global variables of a file, static locals included, with their lines where these are cheap to find.
    pub(crate) fn variables(&self, module: &ModuleFile<'_>) -> Variables {
        let files = MappedFiles::default();
        let sources = self.find_sources(&files, module);
        let [own, separate] = [&sources.module, &sources.separate].map(|found| found.as_ref().map(|found| &found.file));
        let mut found = variables::find(own, separate);
        let has_lines = |holder: &DebugFile<'_>| elf::debug_info_bytes(&holder.file) <= variable_lines::MOST_DEBUG_INFO;
        if !found.all.is_empty()
            && module.path.to_str().is_none_or(|path| !is_c_library(path))
            && sources.holder().is_some_and(has_lines)
            && let Some(sections) = self.load_sections(&files, module.path, &sources, &mut None)
        {
            variable_lines::find(&sections, &mut found.all);
        }
        found
    }

    fn find_sources<'a>(&self, files: &'a MappedFiles, module: &ModuleFile<'_>) -> Sources<'a> {
        let (own, problem) = open_module(files, module, &self.open);
        let by_id = |build_id| self.folders.by_build_id(files, module.path, build_id);
        let Some(own) = own else {
            // The debug file holds all names too. What was lost with the module itself is then of no interest.
            let separate = by_id(module.build_id);
            let problem = if separate.is_some() { None } else { problem };
            return Sources { module: None, separate, problem };
        };
        let separate = if elf::has_debug_info(&own.file) {
            None
        } else {
            let build_id = elf::build_id(&own.file);
            match by_id(build_id) {
                Some(found) if elf::has_debug_info(&found.file) => Some(found),
                symbols => self.folders.by_debug_link(files, &own.path, &own.file).or(symbols),
            }
        };
        Sources { module: Some(own), separate, problem }
    }

    /// Reads the debug information, if there is any. What stands in the way goes to `problem`.
    fn load_sections<'a>(
        &self,
        files: &'a MappedFiles,
        module: &Path,
        sources: &Sources<'a>,
        problem: &mut Option<String>,
    ) -> Option<DebugSections<'a>> {
        let holder = sources.holder()?;
        let supplementary = match self.folders.supplementary(files, holder) {
            None => None,
            Some(Ok(file)) => Some(file),
            Some(Err(missing)) => {
                problem.get_or_insert_with(|| {
                    format!("part of the debug information is missing: {} was not found", missing.name.display())
                });
                None
            }
        };
        let path = sources.module.as_ref().map_or(module, |own| &own.path);
        DebugSections::load(files, path, holder, supplementary.as_ref())
            .map_err(|error| problem.get_or_insert_with(|| damaged(&error)).len())
            .ok()
    }
}

/// The frames of all addresses. `problem` is what is known already to stand in the way.
fn resolve_from(
    files: &MappedFiles,
    module: &ModuleFile<'_>,
    sources: &Sources<'_>,
    sections: Option<&DebugSections<'_>>,
    addresses: &[u64],
    mut problem: Option<String>,
) -> Resolved {
    let mut order: Vec<usize> = (0..addresses.len()).collect();
    order.sort_unstable_by_key(|index| addresses[*index]);
    let mut sorted: Vec<u64> = order.iter().map(|index| addresses[*index]).collect();
    sorted.dedup();

    let path = module.path.to_string_lossy();
    let debug_info = sections.and_then(|sections| {
        DebugInfo::new(sections, &sorted).map_err(|error| problem.get_or_insert_with(|| damaged(&error)).len()).ok()
    });
    let own = sources.module.as_ref().map(|own| &own.file);
    let separate = sources.separate.as_ref().map(|separate| &separate.file);
    let has_table = own.into_iter().chain(separate).any(elf::has_own_symbol_table);
    let mini = own.filter(|_| !has_table).and_then(|own| {
        mini_debug_info::open(files, own).unwrap_or_else(|error| {
            problem.get_or_insert_with(|| format!(".gnu_debugdata is damaged: {error}"));
            None
        })
    });
    let mut names = Names::new(&path, own, separate, mini.as_ref(), debug_info.as_ref());

    let mut frames: Vec<Vec<Frame>> = vec![Vec::new(); addresses.len()];
    let mut previous: Option<usize> = None;
    for index in order {
        let address = addresses[index];
        frames[index] = match previous {
            Some(previous) if addresses[previous] == address => frames[previous].clone(),
            _ => {
                let chain = match &debug_info {
                    Some(debug_info) => debug_info.frames(address),
                    None => Ok(Vec::new()),
                };
                let chain = chain.unwrap_or_else(|error| {
                    problem.get_or_insert_with(|| damaged(&error));
                    Vec::new()
                });
                names.frames(address, &chain)
            }
        };
        previous = Some(index);
    }
    let has_lines = frames.iter().flatten().any(|frame| frame.line.is_some());
    let source = match names.source() {
        NameSource::DebugInfo if sections.is_some_and(DebugSections::lacks_a_part) => NameSource::PartOfDebugInfo,
        source => source,
    };
    Resolved { frames, problem, source, has_lines }
}

/// Opens the module, unless it is not the file that was recorded.
fn open_module<'a>(
    files: &'a MappedFiles,
    module: &ModuleFile<'_>,
    open: &OpenFiles,
) -> (Option<DebugFile<'a>>, Option<String>) {
    let text = module.path.as_os_str().as_encoded_bytes();
    if text.is_empty() || text.starts_with(b"[") || text.starts_with(b"//") {
        // `[vdso]` and `//anon`: not the names of files.
        return (None, None);
    }
    let path = module.path.to_str().map_or(module.path, |path| Path::new(path_of(path)));
    let place = open.find(module);
    if place.is_none() && module.build_id.is_empty() {
        let named = module.path.to_str().unwrap_or_default();
        let problem = match named.ends_with(DELETED) {
            true => Some("the file was deleted, and without a build id no other can stand in for it"),
            false => version_of(named).map(|_| "several files had this path, and without build ids they look alike"),
        };
        if let Some(problem) = problem {
            return (None, Some(problem.to_string()));
        }
    }
    let file = match files.open(place.unwrap_or(path)) {
        Ok(file) => file,
        Err(error) => return (None, Some(format!("cannot be read: {error}"))),
    };
    let found = elf::build_id(&file);
    if !module.build_id.is_empty() && found != module.build_id {
        let found = if found.is_empty() { "none".to_string() } else { elf::hex(found) };
        let problem = format!(
            "the file at this path is another one now: build id expected {}, found {found}",
            elf::hex(module.build_id)
        );
        return (None, Some(problem));
    }
    let path = path.to_path_buf();
    (Some(DebugFile { file, path }), None)
}

fn damaged(error: &dyn std::fmt::Display) -> String {
    format!("the debug information is damaged: {error}")
}
