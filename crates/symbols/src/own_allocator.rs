//! Allocators that a program or a library has inside itself. Calls of their functions are bound inside their own file, so
//! that no preloaded library sees them.
//!
//! Their functions are looked for by name, in this order: `.dynsym`, which stripping leaves; `.symtab`, of the file or of its
//! debug file; `.gnu_debugdata`. Where all of these are stripped, messages of the allocator in the file still tell that it is
//! there.

use memtoll_processor::HERE;
use memtoll_trace::op::Op;
use object::elf::{STT_GNU_IFUNC, STV_HIDDEN, STV_INTERNAL};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolFlags};
use rustc_hash::FxHashMap;

use crate::allocator_code::AllocatorCode;
use crate::allocator_functions::{self, Form, Signature};
use crate::symbol_table::{code_sections, without_version};

/// Whose functions they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `malloc` and the like, of an allocator without a name that is known.
    Own,
    /// `operator new` and `operator delete`, which get their memory from no malloc.
    Operators,
    /// jemalloc, also with the prefixes of Rust's crates.
    Jemalloc,
    /// mimalloc.
    Mimalloc,
    /// tcmalloc, of gperftools.
    Tcmalloc,
    /// snmalloc, as Rust's crate has it.
    Snmalloc,
    /// Firefox's, which has arenas beside malloc.
    Mozjemalloc,
}

/// What is known of a family: its name, how names of its functions begin, one that acquires a block and one that releases one,
/// and a message that only its code contains.
struct About {
    family: Family,
    name: &'static str,
    prefixes: &'static [&'static str],
    acquires: &'static [&'static str],
    releases: &'static [&'static str],
    message: Message,
}

/// A text, with each byte inverted: memtoll's own file is not to contain what it looks for.
struct Message(&'static [u8]);

impl Message {
    fn text(&self) -> Vec<u8> {
        self.0.iter().map(|byte| !byte).collect()
    }
}

macro_rules! message {
    ($text:literal) => {{
        const INVERTED: [u8; $text.len()] = {
            let (mut bytes, mut at) = (*$text, 0);
            while at < bytes.len() {
                bytes[at] = !bytes[at];
                at += 1;
            }
            bytes
        };
        Message(&INVERTED)
    }};
}

const FAMILIES: [About; 5] = [
    About {
        family: Family::Jemalloc,
        name: "jemalloc",
        prefixes: &["je_", "_rjem_", "rjem_"],
        acquires: &["malloc", "mallocx"],
        releases: &["free", "sdallocx", "dallocx"],
        message: message!(b"<jemalloc>: Malformed conf string"),
    },
    About {
        family: Family::Mimalloc,
        name: "mimalloc",
        prefixes: &["mi_"],
        acquires: &["malloc", "malloc_aligned"],
        releases: &["free"],
        message: message!(b"environment option mimalloc_%s has an invalid value"),
    },
    About {
        family: Family::Tcmalloc,
        name: "tcmalloc",
        prefixes: &["tc_"],
        acquires: &["malloc"],
        releases: &["free"],
        message: message!(b"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD"),
    },
    About {
        family: Family::Snmalloc,
        name: "snmalloc",
        prefixes: &["sn_"],
        acquires: &["malloc", "rust_alloc"],
        releases: &["free", "rust_dealloc"],
        message: message!(b"Failed to initialise snmalloc"),
    },
    About {
        family: Family::Mozjemalloc,
        name: "mozjemalloc",
        prefixes: &["moz_"],
        acquires: &["arena_malloc"],
        releases: &["arena_free"],
        message: message!(b"MOZ_RELEASE_ASSERT(malloc_initialized)"),
    },
];

/// What each C library exports, and nothing else does.
pub(crate) const C_LIBRARY: &str = "__libc_start_main";
/// How names within a namespace or class begin: most of a large file's symbols, and no allocator's.
const NESTED: &str = "_ZN";
/// What tells jemalloc from all others, behind its prefix.
const JEMALLOC_ONLY: &str = "sdallocx";
/// How names of its functions end.
const JEMALLOC_ENDS: &[&str] =
    &["allocx", "malloc", "calloc", "realloc", "posix_memalign", "memalign", "aligned_alloc", "valloc", "free"];

impl Family {
    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Family::Operators => "an operator new of its own",
            _ => about(self).map_or("a malloc of its own", |about| about.name),
        }
    }

    /// Whether it may be `malloc` for others.
    pub fn has_malloc(self) -> bool {
        self != Family::Operators
    }

    /// The family with this name.
    pub fn named(name: &str) -> Option<Family> {
        let operators = (Family::Operators.name() == name).then_some(Family::Operators);
        FAMILIES.iter().find(|about| about.name == name).map(|about| about.family).or(operators)
    }
}

fn about(family: Family) -> Option<&'static About> {
    FAMILIES.iter().find(|about| about.family == family)
}

/// A function of an allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatorFunction {
    /// Its name, without a version.
    pub name: String,
    /// Where it begins: an address as the file has them, without the bias.
    pub address: u64,
    /// Bytes; 0 if the symbol does not say.
    pub size: u64,
    /// What it does.
    pub signature: Signature,
}

/// An allocator inside a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAllocator {
    /// Whose it is.
    pub family: Family,
    /// Whether it is `malloc` and `free` for the files that are loaded after this one, too.
    pub is_exported: bool,
    /// Its functions that allocate and release, by address; several names may have one. None where they have no names any
    /// more: then only a message tells of the allocator.
    pub functions: Vec<AllocatorFunction>,
    /// A copy of one of these that the compiler made, with another signature, and that other code calls.
    pub called_copy: Option<String>,
}

impl OwnAllocator {
    /// Whether its functions have names.
    pub fn is_named(&self) -> bool {
        !self.functions.is_empty()
    }
}

/// What a file is as an allocator.
pub(crate) struct InFile {
    /// All allocators inside it.
    pub own: Vec<OwnAllocator>,
    /// Whether it exports `malloc` and `free`.
    pub exports_malloc: bool,
    pub is_c_library: bool,
}

/// What a file is as an allocator. `symbols`: the files that have symbol tables of it, itself included.
pub(crate) fn find(file: &object::File<'_>, symbols: &[&object::File<'_>]) -> InFile {
    let mut functions = Functions::default();
    functions.add(file, file.dynamic_symbols(), true);
    let (exports_malloc, is_c_library) = (functions.exports_malloc(), functions.exported.contains_key(C_LIBRARY));
    // A C library's malloc is everybody's.
    let own = if is_c_library { Vec::new() } else { inside(functions, file, symbols) };
    InFile { own, exports_malloc, is_c_library }
}

/// All allocators inside a file that is no C library.
fn inside<'data>(
    mut functions: Functions<'data>,
    file: &object::File<'data>,
    symbols: &[&object::File<'data>],
) -> Vec<OwnAllocator> {
    for file in symbols {
        functions.add(file, file.symbols(), false);
    }
    let mut found: Vec<OwnAllocator> =
        FAMILIES.iter().filter_map(|about| functions.of_prefixes(about, &functions.prefixes(about))).collect();
    if let Some(own) = functions.of_c() {
        // The names of C are other names for the allocator that the file has.
        match found.first_mut() {
            Some(first) => {
                first.is_exported |= own.is_exported;
                first.functions.extend(own.functions);
                first.functions.sort_by_key(|function| function.address);
            }
            // Its other names may have been stripped.
            None => found
                .push(OwnAllocator { family: named_by_messages(file).first().copied().unwrap_or(Family::Own), ..own }),
        }
    }
    if found.is_empty() && !imports_malloc(file) {
        found.extend(functions.of_operators());
    }
    if !functions.copies.is_empty() {
        for own in &mut found {
            own.called_copy = functions.called_copy(file, symbols, own);
        }
    }
    if found.is_empty() && !functions.has_table {
        found.extend(named_by_messages(file).into_iter().map(|family| OwnAllocator {
            family,
            is_exported: false,
            functions: Vec::new(),
            called_copy: None,
        }));
    }
    found
}

/// The families that messages in the file tell of.
fn named_by_messages(file: &object::File<'_>) -> Vec<Family> {
    let is_there = |about: &&About| has_message(file, &about.message.text());
    FAMILIES.iter().filter(is_there).map(|about| about.family).collect()
}

/// Whether constants of the file contain `message`.
fn has_message(file: &object::File<'_>, message: &[u8]) -> bool {
    let is_constant = |section: &object::Section<'_, '_>| {
        matches!(section.kind(), SectionKind::ReadOnlyData | SectionKind::ReadOnlyString)
    };
    let finder = memchr::memmem::Finder::new(message);
    file.sections().filter(is_constant).any(|section| section.data().is_ok_and(|data| finder.find(data).is_some()))
}

/// The functions of a file that are an allocator's, by name.
#[derive(Default)]
struct Functions<'data> {
    exported: FxHashMap<&'data str, (u64, u64)>,
    all: FxHashMap<&'data str, (u64, u64)>,
    /// What the compiler made of such functions: name, address, size.
    copies: Vec<(&'data str, u64, u64)>,
    /// There was a table with more than exported functions.
    has_table: bool,
}

impl<'data> Functions<'data> {
    fn add<'file>(
        &mut self,
        file: &'file object::File<'data>,
        symbols: impl Iterator<Item = object::Symbol<'data, 'file>>,
        exported: bool,
    ) where
        'data: 'file,
    {
        let code = code_sections(file);
        for symbol in symbols {
            self.has_table |= !exported;
            let is_code = symbol.section_index().is_some_and(|index| code.contains_key(&index));
            if !is_code || chooses_another(&symbol) {
                continue;
            }
            let Some(name) = symbol.name().ok().filter(|name| !name.starts_with(NESTED)) else { continue };
            let name = without_version(name);
            if original(name).is_some_and(is_of_interest) {
                self.copies.push((name, symbol.address(), symbol.size()));
            }
            if !is_of_interest(name) {
                continue;
            }
            let place = (symbol.address(), symbol.size());
            self.all.entry(name).or_insert(place);
            if exported && is_visible(&symbol) {
                self.exported.insert(name, place);
            }
        }
    }

    fn of_prefixes(&self, about: &About, prefixes: &[&str]) -> Option<OwnAllocator> {
        let has = |stems: &[&str]| {
            let named = |prefix: &&str| stems.iter().any(|stem| self.all.contains_key(&*format!("{prefix}{stem}")));
            prefixes.iter().any(named)
        };
        if !(has(about.acquires) && has(about.releases)) {
            return None;
        }
        let its =
            |name: &str| prefixes.iter().find_map(|prefix| allocator_functions::of_stem(name.strip_prefix(prefix)?));
        Some(OwnAllocator { family: about.family, is_exported: false, functions: self.those(its), called_copy: None })
    }

    /// jemalloc's prefix is chosen when it is built, and there may be none.
    fn prefixes(&self, about: &About) -> Vec<&'data str> {
        let only = |name: &&'data str| name.strip_suffix(JEMALLOC_ONLY).filter(|_| about.family == Family::Jemalloc);
        about.prefixes.iter().copied().chain(self.all.keys().filter_map(only)).collect()
    }

    fn exports_malloc(&self) -> bool {
        ["malloc", "free"].iter().all(|name| self.exported.contains_key(name))
    }

    fn of_c(&self) -> Option<OwnAllocator> {
        let has = |name| self.all.contains_key(name);
        if !(has("malloc") && has("free")) {
            return None;
        }
        Some(OwnAllocator {
            family: Family::Own,
            is_exported: self.exports_malloc(),
            functions: self.those(allocator_functions::of_c),
            called_copy: None,
        })
    }

    fn of_operators(&self) -> Option<OwnAllocator> {
        let (new, delete) = (Op::NEW.symbol(), Op::DELETE.symbol());
        if !(self.all.contains_key(new) && self.all.contains_key(delete)) {
            return None;
        }
        let is_exported = self.exported.contains_key(new) && self.exported.contains_key(delete);
        let functions = self.those(allocator_functions::of_c);
        Some(OwnAllocator { family: Family::Operators, is_exported, functions, called_copy: None })
    }

    /// The first copy of one of the allocator's functions that code outside of the allocator calls.
    fn called_copy(
        &self,
        file: &object::File<'_>,
        symbols: &[&object::File<'_>],
        own: &OwnAllocator,
    ) -> Option<String> {
        let inside = AllocatorCode::of(file, symbols.first().copied(), "");
        let copies =
            || self.copies.iter().filter(|(name, ..)| own.functions.iter().any(|of| Some(&*of.name) == original(name)));
        let is_inside = |at: u64| {
            let of = |start: u64, size: u64| (start..start + size.max(1)).contains(&at);
            inside.has_address(at)
                || own.functions.iter().any(|function| of(function.address, function.size))
                || copies().any(|(_, start, size)| of(*start, *size))
        };
        let code: Vec<_> = file.sections().filter(|section| section.kind() == SectionKind::Text).collect();
        let is_called = |target: u64| {
            code.iter().any(|section| {
                let calls = |data: &[u8]| (HERE.calls_of)(data, section.address(), target);
                section.data().is_ok_and(|data| calls(data).into_iter().any(|at| !is_inside(at)))
            })
        };
        copies().find(|(_, address, _)| is_called(*address)).map(|(name, ..)| (*name).to_owned())
    }

    /// The functions that are `its`, and what they do.
    fn those(&self, its: impl Fn(&str) -> Option<Signature>) -> Vec<AllocatorFunction> {
        let found = self.all.iter().filter_map(|(name, place)| Some((*name, place, its(name)?)));
        let mut functions: Vec<AllocatorFunction> = found
            .map(|(name, (address, size), signature)| AllocatorFunction {
                name: name.to_owned(),
                address: *address,
                size: *size,
                signature,
            })
            .collect();
        functions.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
        functions
    }
}

/// The name of the function that the compiler made this one of: with constants for arguments, without some, or a part of it.
fn original(name: &str) -> Option<&str> {
    const COPIES: [&str; 4] = ["constprop.", "isra.", "part.", "specialized."];
    let (original, copy) = name.split_once('.')?;
    COPIES.iter().any(|kind| copy.starts_with(kind)).then_some(original)
}

/// Whether the file gets blocks from a malloc of another file.
fn imports_malloc(file: &object::File<'_>) -> bool {
    let is_it = |symbol: object::Symbol<'_, '_>| {
        let acquires = |name: &str| allocator_functions::of_c(name).is_some_and(|known| known.form != Form::Releases);
        let is_of_c = |name: &str| !name.starts_with("_Z") && acquires(name);
        symbol.is_undefined() && symbol.name().is_ok_and(|name| is_of_c(without_version(name)))
    };
    file.dynamic_symbols().any(is_it)
}

/// Whether there is no function at its address, but code that says which function is meant.
fn chooses_another(symbol: &object::Symbol<'_, '_>) -> bool {
    const TYPE: u8 = 15;
    matches!(symbol.flags(), SymbolFlags::Elf { st_info, .. } if st_info.0 & TYPE == STT_GNU_IFUNC.0)
}

/// Whether other files may be bound to it.
fn is_visible(symbol: &object::Symbol<'_, '_>) -> bool {
    const VISIBILITY: u8 = 3;
    let hidden = [STV_HIDDEN, STV_INTERNAL].map(|visibility| visibility.0);
    match symbol.flags() {
        SymbolFlags::Elf { st_other, .. } => !symbol.is_local() && !hidden.contains(&(st_other.0 & VISIBILITY)),
        _ => false,
    }
}

/// Whether a name may be that of a function which allocates or releases. A file may have a million symbols.
fn is_of_interest(name: &str) -> bool {
    let prefixed = || {
        let all = FAMILIES.iter().flat_map(|about| about.prefixes);
        all.filter_map(|prefix| name.strip_prefix(prefix)).any(|stem| allocator_functions::of_stem(stem).is_some())
    };
    let of_jemalloc = || JEMALLOC_ENDS.iter().any(|end| name.ends_with(end));
    name == C_LIBRARY || allocator_functions::of_c(name).is_some() || of_jemalloc() || prefixed()
}
