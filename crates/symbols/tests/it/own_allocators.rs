//! Which allocators programs have inside themselves, told from their files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::*;
use memtoll_symbols::{Family, ModuleFile, OwnAllocator, Resolver};

fn own(path: &Path) -> Vec<OwnAllocator> {
    Resolver::new().own_allocators(&ModuleFile { path, build_id: &[] }).unwrap().own
}

/// The program that gcc makes of a source.
fn program(folder: &Path, source: &str, options: &[&str]) -> PathBuf {
    let (file, program) = (folder.join("a.c"), folder.join("a"));
    fs::write(&file, source).unwrap();
    let mut arguments = vec!["-O1", "-o", text(&program), text(&file)];
    arguments.extend(options);
    run("gcc", &arguments);
    program
}

/// Families, and whether other files call them.
fn families(path: &Path) -> Vec<(Family, bool, bool)> {
    own(path).iter().map(|own| (own.family, own.is_exported, own.is_named())).collect()
}

const OF_C: &str = "
#include <stddef.h>
static char memory[1 << 20];
static size_t used;
void *malloc(size_t size) { return memory + (used += size); }
void free(void *block) { (void)block; }
int main(int count, char **arguments) { void *block = malloc(count); free(block); return block == arguments; }
";

#[test]
fn malloc_of_the_program_itself() {
    let folder = tempfile::tempdir().unwrap();
    let exported = program(folder.path(), OF_C, &["-rdynamic"]);
    assert_eq!(families(&exported), [(Family::Own, true, true)]);
    let functions: Vec<String> = own(&exported)[0].functions.iter().map(|function| function.name.clone()).collect();
    assert_eq!(functions, ["malloc", "free"], "in the order of their addresses");
    run("strip", &[text(&exported)]);
    assert_eq!(families(&exported), [(Family::Own, true, true)], "what is exported keeps its name");

    let hidden = program(folder.path(), OF_C, &["-fvisibility=hidden"]);
    assert_eq!(families(&hidden), [(Family::Own, false, true)], "only the program calls it");
    run("strip", &[text(&hidden)]);
    assert_eq!(families(&hidden), [], "nothing tells of it");
}

/// As Rust's crates have it.
const PREFIXED: &str = "
#include <stdlib.h>
const char *message = \"<jemalloc>: Malformed conf string\";
__attribute__((noinline)) void *_rjem_malloc(size_t size) { return malloc(size); }
__attribute__((noinline)) void *_rjem_mallocx(size_t size, int flags) { return malloc(size + flags); }
__attribute__((noinline)) void _rjem_sdallocx(void *block, size_t size, int flags) { if (size > flags) free(block); }
__attribute__((noinline)) void _rjem_je_arena_init(void *block) { free(block); }
int main(int count, char **arguments) {
    _rjem_sdallocx(_rjem_malloc(count), count, 0);
    _rjem_je_arena_init(_rjem_mallocx(count, 1));
    return message == arguments[0];
}
";

#[test]
fn one_with_a_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let named = program(folder.path(), PREFIXED, &[]);
    assert_eq!(families(&named), [(Family::Jemalloc, false, true)]);
    let mut functions: Vec<String> = own(&named)[0].functions.iter().map(|of| of.name.clone()).collect();
    functions.sort();
    assert_eq!(functions, ["_rjem_malloc", "_rjem_mallocx", "_rjem_sdallocx"]);
    run("strip", &[text(&named)]);
    assert_eq!(families(&named), [(Family::Jemalloc, false, false)], "its messages still tell");
}

#[test]
fn several_names_are_one_allocator() {
    let folder = tempfile::tempdir().unwrap();
    let aliases = format!(
        "{OF_C}
        void *tc_malloc(size_t size) __attribute__((alias(\"malloc\")));
        void tc_free(void *block) __attribute__((alias(\"free\")));"
    );
    let program = program(folder.path(), &aliases, &["-rdynamic"]);
    assert_eq!(families(&program), [(Family::Tcmalloc, true, true)]);
    assert_eq!(own(&program)[0].functions.len(), 4);
}

#[test]
fn others_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let uses = "#include <stdlib.h>\nint mi_free_time(void *p) { free(p); return 0; }\nint main(void) { return mi_free_time(malloc(9)); }";
    assert_eq!(families(&program(folder.path(), uses, &[])), []);
    assert_eq!(families(Path::new("/bin/sh")), []);
    let c_library = format!("/usr/lib/{}/libc.so.6", memtoll_processor::HERE.library_folder);
    assert_eq!(families(Path::new(&c_library)), []);
    let missing = Resolver::new().own_allocators(&ModuleFile { path: Path::new("/no/such/file"), build_id: &[] });
    assert!(missing.unwrap_err().contains("cannot be read"));
}
