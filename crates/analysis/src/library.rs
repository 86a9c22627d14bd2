//! Which functions belong to a language's library and not to the program: they are folded away, so that the first line
//! of the program's own code leads.

use memtoll_trace::nodes::BEFORE_ATTACH;
use memtoll_trace::path::last_part;

/// The name of a function without its return type, template arguments of the last part included, and without its
/// parameters: `void std::vector<int>::_M_grow<true>(int&)` gives `std::vector<int>::_M_grow<true>`. A name whose brackets do
/// not match, or that has no parameters, as JavaScript's `get size`, is no such name, and stays whole.
pub fn qualified_name(function: &str) -> &str {
    if function == BEFORE_ATTACH {
        // No function, so no return type.
        return function;
    }
    if !has_matching_brackets(function) {
        return function.trim();
    }
    let bytes = function.as_bytes();
    let mut depth = 0usize;
    let mut start = after_decltype(function);
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'<' if !is_operator(function, at) => depth += 1,
            b'>' if !is_operator(function, at) && !function[..at].ends_with('-') => depth = depth.saturating_sub(1),
            b'(' if depth == 0 && !opens_a_name(function, at) && start < at => {
                return function[start..at].trim();
            }
            b'(' | b'{' | b'[' => depth += 1,
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && !belongs_to_operator(function, at) => start = at + 1,
            _ => {}
        }
        at += 1;
    }
    function.trim()
}

/// Where the last `::` of a qualified name stands, not counting those in brackets.
pub fn end_of_scope(name: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut end = None;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' | b'>' if is_operator(name, at) => {}
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && name[at..].starts_with("::") => end = Some(at),
            _ => {}
        }
    }
    end
}

/// Whether each bracket has its other half. `<` and `>` may be operators.
fn has_matching_brackets(function: &str) -> bool {
    let mut depths = [0i32; 3];
    for letter in function.bytes() {
        let (kind, step) = match letter {
            b'(' => (0, 1),
            b')' => (0, -1),
            b'[' => (1, 1),
            b']' => (1, -1),
            b'{' => (2, 1),
            b'}' => (2, -1),
            _ => continue,
        };
        depths[kind] += step;
        if depths[kind] < 0 {
            return false;
        }
    }
    let angles = || {
        let mut depth = 0i32;
        function.bytes().enumerate().all(|(at, letter)| {
            depth += match letter {
                b'<' if !is_operator(function, at) => 1,
                b'>' if !is_operator(function, at) && !function[..at].ends_with('-') => -1,
                _ => 0,
            };
            depth >= 0
        }) && depth == 0
    };
    // Comparisons stand in parentheses or braces.
    depths == [0; 3] && (function.contains(['(', '{']) || angles())
}

/// Where what follows a return type of the form `decltype (...)` begins.
fn after_decltype(function: &str) -> usize {
    const WORD: &str = "decltype";
    let Some(open) = function.strip_prefix(WORD).map(str::trim_start).filter(|rest| rest.starts_with('(')) else {
        return 0;
    };
    let mut depth = 0usize;
    for (at, c) in open.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return function.len() - open.len() + at + 1;
        }
    }
    0
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

/// Whose a function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// The program's.
    Program,
    /// A library's that is compiled into programs: the compiler may have inlined the program's code into it.
    Library,
    /// What is around every stack: the allocator's inner functions, the start of a thread, the C library.
    MachineFacts,
    /// The recorder stands between the program and what allocates for it: dlclose frees what the loader has kept,
    /// pthread_create allocates a thread's local storage.
    Recorder,
}

const LIBRARIES: &[&str] =
    &["std::", "__gnu_cxx::", "__cxxabiv1::", "boost::", "fmt::", "alloc::", "core::", "hashbrown::"];
const SURROUNDINGS: &[&str] = &[
    "operator new", "operator delete", "std::allocator<", "std::allocator_traits<", "std::__new_allocator<",
    "__gnu_cxx::new_allocator<", "std::_Vector_base<", "alloc::alloc::", "alloc::raw_vec::", "std::rt::",
    "std::sys::pal::", "std::sys::thread::", "__rust_", "__rustc", "__rdl_", "__rg_", "__libc_start", "_start",
    "start_thread", "clone3", "__clone", "_dl_",
];
const FOLDERS: &[&str] = &[
    "/include/c++/", "/include/boost/", "/include/fmt/", "/include/memtoll/", "/memtoll.h", "/rustc/", "/rust/deps/",
    "/library/std/src/", "/library/alloc/src/", "/library/core/src/",
];
/// Folders of headers whose functions have names of [`LIBRARIES`] wherever they are compiled.
const HEADERS: &[&str] = &["/include/c++/", "/include/boost/", "/include/fmt/"];
/// Beginnings of the names of the C library's files, with those that it loads to look up users and hosts.
const C_LIBRARY: &[&str] =
    &["libc.so.", "libnss_", "libresolv.so.", "libnsl.so.", "libanl.so.", "libutil.so.", "librt.so.", "libcrypt.so."];
const MODULES: &[&str] = &[
    "libstdc++.so.", "libc++.so.", "libgcc_s.so.", "libm.so.", "libpthread.so.", "libfmt.so.", "ld-linux", "libdl.so.",
];
const RECORDER: &str = "libmemtoll.so";

/// Whose a function in `module` with code of `file` is.
pub fn owner(function: &str, file: Option<&str>, module: &str) -> Owner {
    let loaded = last_part(module);
    let name = without_reference(function);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if loaded == RECORDER {
        Owner::Recorder
    } else if starts(SURROUNDINGS) || MODULES.iter().any(|prefix| loaded.starts_with(prefix)) || is_c_library(module) {
        Owner::MachineFacts
    } else if starts(LIBRARIES) || file.is_some_and(|file| FOLDERS.iter().any(|folder| file.contains(folder))) {
        Owner::Library
    } else {
        Owner::Program
    }
}

/// Whether a loaded file is a part of the C library.
pub fn is_c_library(module: &str) -> bool {
    let loaded = last_part(module);
    C_LIBRARY.iter().any(|prefix| loaded.starts_with(prefix))
}

/// Whether a compiled function, one that was not inlined, only looks like a library's: compilers lose inlined frames, and
/// what remains is the program's function with a line in a header of the standard library.
pub fn lost_inlined_frames(function: &str, file: Option<&str>) -> bool {
    let name = without_reference(function);
    let has_library_name = LIBRARIES.iter().chain(SURROUNDINGS).any(|prefix| name.starts_with(prefix));
    !has_library_name && file.is_some_and(|file| HEADERS.iter().any(|folder| file.contains(folder)))
}

/// Whether Rust's runtime calls the program here: what is further outwards starts the thread.
pub fn starts_program(function: &str) -> bool {
    without_reference(function).starts_with("std::sys::backtrace::__rust_begin_short_backtrace")
}

/// The name without what Rust puts before it: `<&alloc::vec::Vec<T> as ...>::f` starts with `alloc::`.
fn without_reference(function: &str) -> &str {
    let name = qualified_name(function).trim_start_matches(['<', '&']);
    name.strip_prefix("dyn ").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_ends_before_the_last_part() {
        for (name, scope) in [
            ("main", None),
            ("a::b<c::d, e<f::g>>::h", Some("a::b<c::d, e<f::g>>")),
            ("g::{lambda(a::B)#1}::operator()", Some("g::{lambda(a::B)#1}")),
            ("a::operator< <b::c>", Some("a")),
            ("a::B::operator->", Some("a::B")),
        ] {
            assert_eq!(end_of_scope(name).map(|end| &name[..end]), scope, "{name}");
        }
    }

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
            ("Table<(A > B)>::find(int)", "Table<(A > B)>::find"),
            ("get size", "get size"),
            ("StubRoutines (1)", "StubRoutines (1)"),
            ("set [Symbol.toStringTag]", "set [Symbol.toStringTag]"),
            ("boolean java.lang.String.equals(java.lang.Object)", "java.lang.String.equals"),
            ("open(file", "open(file"),
            ("closed) by nobody", "closed) by nobody"),
            ("less < more", "less < more"),
            ("more > less", "more > less"),
            ("operator->", "operator->"),
            ("bool std::operator< <char>(a, b)", "std::operator< <char>"),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
            (
                "decltype (::new((void*)(0)) T(declval<A>())) std::construct_at<T, A>(T*, A&&)",
                "std::construct_at<T, A>",
            ),
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
        use Owner::{Library, MachineFacts, Program, Recorder};
        let cases = [
            ("void std::vector<ROW>::push_back(ROW&&)", None, "/bin/a", Library),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", None, "/bin/a", Library),
            ("strdup", None, "/lib/libc.so.6", MachineFacts),
            ("_nss_systemd_getpwuid_r", None, "/lib/libnss_systemd.so.2", MachineFacts),
            ("NSS_Init", None, "/lib/libnss3.so", Program),
            ("dlclose", Some("/src/recorder/src/hooks/loader.cpp"), "/tmp/memtoll-x/libmemtoll.so", Recorder),
            ("allocate", Some("/usr/include/c++/12/bits/new_allocator.h"), "/bin/a", Library),
            ("operator new(unsigned long)", None, "/bin/a", MachineFacts),
            ("alloc::raw_vec::RawVec<T,A>::grow_one", None, "/bin/a", MachineFacts),
            ("memtoll::region::region(unsigned long)", Some("/src/include/memtoll/region.hpp"), "/bin/a", Library),
            ("memtoll_alloc", Some("/src/third_party/memtoll.h"), "/bin/a", Library),
            ("insert<u8>", Some("/rust/deps/hashbrown-0.16.1/src/map.rs"), "/bin/a", Library),
            ("fmt::v9::vformat(fmt::v9::string_view)", None, "/lib/libfmt.so.9", MachineFacts),
            ("ROW::ROW(std::vector<int> const&)", Some("/src/row.cpp"), "/bin/a", Program),
            ("std_like", None, "/bin/a", Program),
            ("f", None, "/usr/lib/libmemtoll.so.1", Program),
            ("PyObject_Malloc", None, "/usr/bin/python3.11", Program),
        ];
        for (function, file, module, expected) in cases {
            assert_eq!(owner(function, file, module), expected, "{function}");
        }
    }
}
