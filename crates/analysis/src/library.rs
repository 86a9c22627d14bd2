//! Which functions belong to a language's library and not to the program: they are folded away, so that the first line
//! of the program's own code leads.

/// The name of a function without its return type, template arguments of the last part included, and without its
/// parameters: `void std::vector<int>::_M_grow<true>(int&)` gives `std::vector<int>::_M_grow<true>`.
pub fn qualified_name(function: &str) -> &str {
    let bytes = function.as_bytes();
    let mut depth = 0usize;
    let mut start = 0;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'<' if !is_operator(function, at) => depth += 1,
            b'>' if !is_operator(function, at) && !function[..at].ends_with('-') => depth = depth.saturating_sub(1),
            b'(' if depth == 0 && !opens_a_name(function, at) => {
                return function[start..at].trim();
            }
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && !belongs_to_operator(function, at) => start = at + 1,
            _ => {}
        }
        at += 1;
    }
    function[start.min(function.len())..].trim()
}

/// `operator<`, `operator->` and their like are names, not brackets.
fn is_operator(function: &str, at: usize) -> bool {
    let before = function[..at].trim_end_matches(['<', '>', '-', '=']);
    before.ends_with("operator")
}

/// "operator()(" and "(anonymous namespace)::" begin with a parenthesis that is part of the name.
fn opens_a_name(function: &str, at: usize) -> bool {
    function[..at].ends_with("operator")
        || function[at..].starts_with("(anonymous")
        || function[at..].starts_with("()") && function[..at].ends_with("operator")
}

/// "operator new[]", "operator int", "operator< <char>": the blank belongs to the name.
fn belongs_to_operator(function: &str, at: usize) -> bool {
    function[..at].ends_with("operator") || function[at + 1..].starts_with('<')
}

const NAMES: &[&str] = &[
    "std::",
    "__gnu_cxx::",
    "__cxxabiv1::",
    "boost::",
    "operator new",
    "operator delete",
    "alloc::",
    "core::",
    "hashbrown::",
    "__rust_",
    "__rustc",
    "__rdl_",
    "__rg_",
    "__libc_start",
    "_start",
    "start_thread",
    "clone3",
    "__clone",
    "_dl_",
];
const FOLDERS: &[&str] = &[
    "/include/c++/",
    "/include/boost/",
    "/include/memtoll/",
    "/rustc/",
    "/library/std/src/",
    "/library/alloc/src/",
    "/library/core/src/",
];
/// Folders of headers whose functions have names of [`NAMES`] wherever they are compiled.
const HEADERS: &[&str] = &["/include/c++/", "/include/boost/"];
const MODULES: &[&str] = &[
    "libc.so.",
    "libstdc++.so.",
    "libc++.so.",
    "libgcc_s.so.",
    "libm.so.",
    "libpthread.so.",
    "ld-linux",
    "libdl.so.",
    RECORDER,
];
/// The recorder stands between the program and what allocates for it: dlclose frees what the loader has kept,
/// pthread_create allocates a thread's local storage.
const RECORDER: &str = "libmemtoll.so";

/// Whether `module` is the recorder, whose frames are not the program's.
pub fn is_recorder(module: &str) -> bool {
    module.rsplit('/').next() == Some(RECORDER)
}

/// Whether a function in `module`, with code of `file`, is a library's.
pub fn is_library(function: &str, file: Option<&str>, module: &str) -> bool {
    let loaded = module.rsplit('/').next().unwrap_or_default();
    has_library_name(function)
        || file.is_some_and(|file| FOLDERS.iter().any(|folder| file.contains(folder)))
        || MODULES.iter().any(|prefix| loaded.starts_with(prefix))
}

/// Whether a compiled function, one that was not inlined, only looks like a library's: compilers lose inlined frames, and
/// what remains is the program's function with a line in a header of the standard library.
pub fn lost_inlined_frames(function: &str, file: Option<&str>) -> bool {
    !has_library_name(function) && file.is_some_and(|file| HEADERS.iter().any(|folder| file.contains(folder)))
}

fn has_library_name(function: &str) -> bool {
    let name = qualified_name(function).trim_start_matches(['<', '&']);
    let name = name.strip_prefix("dyn ").unwrap_or(name);
    NAMES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_types_and_parameters() {
        let cases = [
            ("main", "main"),
            (
                "void std::vector<int, std::allocator<int> >::_M_grow<true>(int&)",
                "std::vector<int, std::allocator<int> >::_M_grow<true>",
            ),
            ("ROW::ROW(short, (anonymous namespace)::X*)", "ROW::ROW"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
            ("auto g::{lambda(int)#1}::operator()(int) const", "g::{lambda(int)#1}::operator()"),
            ("operator new[](unsigned long)", "operator new[]"),
            ("bool std::operator< <char>(a, b)", "std::operator< <char>"),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
            (
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            ),
        ];
        for (full, name) in cases {
            assert_eq!(qualified_name(full), name);
        }
    }

    #[test]
    fn a_compiled_function_is_not_its_headers() {
        let header = Some("/usr/include/c++/12/bits/new_allocator.h");
        assert!(lost_inlined_frames("TextBuffer::TextBuffer(unsigned short)", header));
        assert!(!lost_inlined_frames("std::vector<ROW>::reserve(unsigned long)", header));
        assert!(!lost_inlined_frames("TextBuffer::TextBuffer(unsigned short)", Some("/src/text_buffer.cpp")));
    }

    #[test]
    fn libraries_are_told_from_programs() {
        assert!(is_library("void std::vector<ROW>::push_back(ROW&&)", None, "/bin/a"));
        assert!(is_library("<alloc::vec::Vec<T> as core::clone::Clone>::clone", None, "/bin/a"));
        assert!(is_library("strdup", None, "/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(is_library("dlclose", Some("/src/recorder/src/hooks/loader.cpp"), "/tmp/memtoll-x/libmemtoll.so"));
        assert!(is_recorder("/tmp/memtoll-x/libmemtoll.so") && !is_recorder("/usr/lib/libmemtoll.so.1"));
        assert!(is_library("allocate", Some("/usr/include/c++/12/bits/new_allocator.h"), "/bin/a"));
        assert!(is_library(
            "memtoll::region::region(unsigned long)",
            Some("/src/include/memtoll/region.hpp"),
            "/bin/a"
        ));
        assert!(!is_library("ROW::ROW(std::vector<int> const&)", Some("/src/row.cpp"), "/bin/a"));
        assert!(!is_library("std_like", None, "/bin/a"));
        assert!(!is_library("PyObject_Malloc", None, "/usr/bin/python3.11"));
    }
}
