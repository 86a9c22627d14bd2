//! Which code is the allocator's, in the C libraries and allocators that this machine has.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::common::*;
use memtoll_processor::HERE;
use memtoll_symbols::{AllocatorCode, ModuleFile, Resolver};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};

/// A library of the system.
fn library(name: &str) -> String {
    format!("/usr/lib/{}/{name}", HERE.library_folder)
}

fn code(path: impl AsRef<Path>) -> AllocatorCode {
    Resolver::new().allocator_code(&ModuleFile { path: path.as_ref(), build_id: &[] }).unwrap()
}

fn length(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

/// A function, with the source file that it is from. `None` for one that other files can name.
struct Function {
    name: String,
    addresses: Range<u64>,
    file: Option<String>,
}

/// The functions of a symbol table.
fn functions(file: &object::File<'_>) -> Vec<Function> {
    let mut source = None;
    let mut all = Vec::new();
    for symbol in file.symbols() {
        let name = symbol.name().unwrap().to_owned();
        match symbol.kind() {
            SymbolKind::File => source = Some(name),
            SymbolKind::Text if symbol.is_definition() => {
                let addresses = symbol.address()..symbol.address() + symbol.size();
                all.push(Function { name, addresses, file: source.clone().filter(|_| symbol.is_local()) });
            }
            _ => {}
        }
    }
    all
}

/// The addresses of functions by their names.
fn named<'a>(functions: &'a [Function], name: &str) -> &'a Range<u64> {
    &functions.iter().find(|function| function.name == name).unwrap_or_else(|| panic!("no {name}")).addresses
}

/// glibc is stripped: nothing tells where its inner functions are but the functions around them. The package with its
/// debug information says what is true.
#[test]
fn glibc() {
    let code = code(library("libc.so.6"));
    assert!(!code.is_partial());
    let id: String = build_id(Path::new(&library("libc.so.6"))).iter().map(|byte| format!("{byte:02x}")).collect();
    let path = format!("/usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}; install libc6-dbg"));
    let all = functions(&object::File::parse(&*bytes).unwrap());
    let is_inner = |function: &&Function| function.file.as_deref() == Some("malloc.c");
    assert!(all.iter().filter(is_inner).count() > 30);
    for function in all.iter().filter(is_inner) {
        let Range { start, end } = function.addresses;
        assert!(start == end || code.has_address(start) && code.has_address(end - 1), "{} is missing", function.name);
    }
    for inner in ["_int_malloc", "_int_free", "sysmalloc", "malloc_consolidate", "unlink_chunk.constprop.0"] {
        assert!(code.has_address(named(&all, inner).start), "{inner}");
    }
    for other in ["strdup", "munmap", "obstack_free", "mcheck", "qsort", "printf"] {
        assert!(!code.has_address(named(&all, other).start), "{other}");
    }
    // At the ends and in gaps there may be other functions, but not many.
    let mut own: Vec<_> = all.iter().filter(is_inner).map(|function| function.addresses.clone()).collect();
    own.extend(["malloc", "free", "realloc", "calloc", "posix_memalign"].map(|name| named(&all, name).clone()));
    own.sort_by_key(|range| range.start);
    let span = own.last().unwrap().end - own[0].start;
    assert!(length(code.addresses()) < span + span / 20, "{:x?}, {span:x}", code.addresses());
}

/// Where it is in the file: the functions' own bytes.
#[test]
fn offsets_are_those_of_the_file() {
    let bytes = fs::read(library("libc.so.6")).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let malloc = file.dynamic_symbols().find(|symbol| symbol.name() == Ok("malloc")).unwrap();
    let text = file.section_by_name(".text").unwrap();
    let offset = malloc.address() - text.address() + text.file_range().unwrap().0;
    let code = code(library("libc.so.6"));
    assert!(code.has_offset(offset) && code.has_address(malloc.address()) && !code.maps_at_offset(offset));
    for (name, maps) in [("munmap", true), ("brk", true), ("madvise", true), ("read", false)] {
        let function = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        assert_eq!(
            code.maps_at_offset(function.address() - text.address() + text.file_range().unwrap().0),
            maps,
            "{name}"
        );
    }
    assert_eq!(length(code.offsets()), length(code.addresses()));
}

#[test]
fn musl() {
    let path = format!("/usr/lib/{}/libc.so", HERE.library_folder.replace("gnu", "musl"));
    let path = Path::new(&path);
    let code = code(path);
    let bytes = fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let has = |name| {
        let symbol = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name)).unwrap();
        code.has_address(symbol.address())
    };
    assert!(["malloc", "free", "calloc", "realloc", "aligned_alloc", "memalign"].into_iter().all(has));
    assert!(!["memcpy", "strdup", "munmap", "wcsxfrm", "__fpclassify"].into_iter().any(has));
    // The functions that do the work are not exported: between free and malloc, and behind them.
    assert!(length(code.addresses()) > 8 << 10 && length(code.addresses()) < 16 << 10, "{:x?}", code.addresses());
}

/// An allocator's library is the allocator with all its code.
#[test]
fn libraries_that_are_allocators() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"] {
        let path = PathBuf::from(library(name));
        let code = code(&path);
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = object::File::parse(&*bytes).unwrap();
        let text: Vec<_> = file.sections().filter(|section| section.kind() == SectionKind::Text).collect();
        assert!(!text.is_empty());
        for section in text {
            let (start, size) = (section.address(), section.size());
            assert!(code.has_address(start) && code.has_address(start + size - 1), "{name} {:?}", section.name());
        }
        assert!(!code.is_partial());
    }
    // Also under another name.
    let copy = directory.path().join("libown.so");
    fs::copy(library("libjemalloc.so.2"), &copy).unwrap();
    assert_eq!(code(&copy), code(library("libjemalloc.so.2")));
}

/// The operators only call malloc and free; nothing else of the library is the allocator's.
#[test]
fn operators_of_the_cxx_library() {
    let path = PathBuf::from(library("libstdc++.so.6"));
    let code = code(&path);
    let bytes = fs::read(&path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let address = |name| file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name)).unwrap().address();
    assert!(["_Znwm", "_ZdlPvm", "_ZnamSt11align_val_t"].into_iter().all(|name| code.has_address(address(name))));
    assert!(!["__cxa_throw", "__gxx_personality_v0"].into_iter().any(|name| code.has_address(address(name))));
    assert!(!code.is_partial() && length(code.addresses()) < 2000, "{:x?}", code.addresses());
}

#[test]
fn files_without_an_allocator() {
    for path in ["/usr/bin/env", &library("libm.so.6"), HERE.loader] {
        assert!(code(path).is_empty(), "{path}");
    }
    let missing = Resolver::new().allocator_code(&ModuleFile { path: Path::new("/no/such/file"), build_id: &[] });
    assert!(missing.unwrap_err().contains("cannot be read"));
    assert!(
        Resolver::new().allocator_code(&ModuleFile { path: Path::new("[vdso]"), build_id: &[] }).unwrap().is_empty()
    );
}

/// A program with a malloc of its own: what its symbol table names, and the static functions between.
#[test]
fn a_program_with_its_own_malloc() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("own.c");
    fs::write(&source, OWN_MALLOC).unwrap();
    let program = directory.path().join("own");
    run("gcc", &["-O1", "-rdynamic", "-fno-toplevel-reorder", "-o", text(&program), text(&source)]);
    let bytes = fs::read(&program).unwrap();
    let all = functions(&object::File::parse(&*bytes).unwrap());
    let full = code(&program);
    for name in ["malloc", "free", "helper"] {
        let Range { start, end } = *named(&all, name);
        assert!(full.has_address(start) && full.has_address(end - 1), "{name}");
    }
    assert!(!["main", "before", "after"].into_iter().any(|name| full.has_address(named(&all, name).start)));
    assert!(!full.is_partial());

    run("strip", &[text(&program)]);
    let stripped = code(&program);
    let has = |name| stripped.has_address(named(&all, name).start);
    assert!(has("malloc") && has("free") && !has("helper") && !has("main"));
    assert!(stripped.is_partial());
}

const OWN_MALLOC: &str = "
#include <stddef.h>
static char memory[1 << 20];
static size_t used;
int before(int number) { return number * 3; }
void *malloc(size_t size) {
    used += size;
    return memory + used;
}
__attribute__((noinline)) static void helper(void *block) { if (block) --used; }
void free(void *block) { helper(block); }
int after(int number) { return number * 5; }
int main(int count, char **arguments) { return arguments[count] == malloc(7) || before(count) == after(count); }
";
