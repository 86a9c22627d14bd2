//! Names of Rust functions, made whole: the debug information tells what a symbol's name leaves out.
//!
//! The usual mangling says `alloc::vec::Vec<T,A>::push` for a vector of whatever, and `app::main::{{closure}}` for all closures
//! of a function. With `debug = "line-tables-only"` inlined functions have nothing but their last part, such as
//! `push<u8, alloc::alloc::Global>` and `{closure#0}`.

/// Longest type that stands for a parameter. Those of iterators can be of any length and help no reader.
const LONGEST_ARGUMENT: usize = 120;

/// Beginning of the plain name of a closure.
const CLOSURE: &str = "{closure#";

/// Where the standard library keeps the functions of a type: part of the path, the type, and how many parameters it has.
const TYPES_BY_FILE: &[(&str, &str, usize)] = &[
    ("/alloc/src/vec/", "alloc::vec::Vec", 1),
    ("/alloc/src/boxed.rs", "alloc::boxed::Box", 1),
    ("/alloc/src/rc.rs", "alloc::rc::Rc", 1),
    ("/alloc/src/sync.rs", "alloc::sync::Arc", 1),
    ("/alloc/src/string.rs", "alloc::string::String", 0),
    ("/alloc/src/str.rs", "alloc::str", 0),
    ("/alloc/src/fmt.rs", "alloc::fmt", 0),
    ("/alloc/src/collections/vec_deque/", "alloc::collections::vec_deque::VecDeque", 1),
    ("/alloc/src/collections/binary_heap/", "alloc::collections::binary_heap::BinaryHeap", 1),
    ("/alloc/src/collections/linked_list.rs", "alloc::collections::linked_list::LinkedList", 1),
    ("/alloc/src/collections/btree/map", "alloc::collections::btree::map::BTreeMap", 2),
    ("/alloc/src/collections/btree/set", "alloc::collections::btree::set::BTreeSet", 1),
    ("/std/src/collections/hash/map.rs", "std::collections::hash::map::HashMap", 2),
    ("/std/src/collections/hash/set.rs", "std::collections::hash::set::HashSet", 1),
    ("/std/src/path.rs", "std::path::PathBuf", 0),
    ("/std/src/ffi/os_str.rs", "std::ffi::os_str::OsString", 0),
];

/// Whether this is the `clone` of a type: derived, or the caller's business.
pub(crate) fn is_clone(function: &str) -> bool {
    let is_plain = function == "clone" || function.starts_with("clone<");
    is_plain || function.starts_with('<') && function.ends_with(" as core::clone::Clone>::clone")
}

/// The types in the name `push<u8, alloc::alloc::Global>`, and the name without them.
pub(crate) fn split_arguments(plain: &str) -> (&str, Vec<&str>) {
    let Some((base, list)) = plain.split_once('<') else { return (plain, Vec::new()) };
    let list = list.strip_suffix('>').unwrap_or(list);
    let mut arguments = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'>' if list[..at].ends_with('-') => {}
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                arguments.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(list[start..].trim());
    (base, arguments)
}

/// `alloc::vec::Vec<T,A>::push` with the types for its parameters. `names` are those of the parameters in their order, if
/// the debug information has them; else the types stand for those in the name, if there are as many.
pub(crate) fn with_arguments(function: &str, names: &[String], arguments: &[&str]) -> String {
    let found = parameters(function);
    let mut in_order: Vec<&str> = Vec::new();
    found.iter().for_each(|(_, name)| {
        if !in_order.contains(name) {
            in_order.push(name);
        }
    });
    let names: Vec<&str> = if names.is_empty() { in_order } else { names.iter().map(String::as_str).collect() };
    if names.len() != arguments.len() {
        return function.to_owned();
    }
    let mut text = String::new();
    let mut end = 0;
    for (at, name) in found {
        let argument = names.iter().position(|known| *known == name).map(|index| arguments[index]);
        if let Some(argument) = argument.filter(|argument| argument.len() <= LONGEST_ARGUMENT) {
            text += &function[end..at];
            text += argument;
            end = at + name.len();
        }
    }
    text + &function[end..]
}

/// The parameters that a name has within brackets, such as `T`, with their places.
fn parameters(function: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut depth = 0usize;
    let mut rest = 0;
    while let Some(c) = function[rest..].chars().next() {
        let length = match is_word(c) {
            true => function[rest..].find(|c| !is_word(c)).unwrap_or(function.len() - rest),
            false => c.len_utf8(),
        };
        let word = &function[rest..rest + length];
        let is_whole = !function[..rest].ends_with(':') && !function[rest + length..].starts_with(':');
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth > 0 && is_whole && c.is_ascii_uppercase() && word.len() <= 2 => found.push((rest, word)),
            _ => {}
        }
        rest += length;
    }
    found
}

/// `app::main::{{closure}}` with the number that its plain name or its full name in the debug information gives:
/// `app::main::{closure#2}`.
pub(crate) fn with_closure_numbers(function: &str, numbered: &str) -> String {
    const UNNUMBERED: &str = "{{closure}}";
    let numbers: Vec<&str> =
        numbered.match_indices(CLOSURE).filter_map(|(at, _)| closure_at(&numbered[at..])).collect();
    let unnumbered = function.matches(UNNUMBERED).count();
    // A plain name has the number of the innermost one.
    let Some(first) = unnumbered.checked_sub(numbers.len()) else { return function.to_owned() };
    let mut text = String::new();
    for (index, part) in function.split(UNNUMBERED).enumerate() {
        if index > 0 {
            text += (index - 1).checked_sub(first).and_then(|index| numbers.get(index)).unwrap_or(&UNNUMBERED);
        }
        text += part;
    }
    text
}

/// `{closure#0}` at the beginning of a text.
fn closure_at(text: &str) -> Option<&str> {
    Some(&text[..=text.find('}')?])
}

/// Whether this is the plain name of a closure.
pub(crate) fn is_closure(plain: &str) -> bool {
    plain.starts_with(CLOSURE)
}

/// The full name of the closure `{closure#0}`, from the plain names of the functions that it is inlined into: they are made
/// for the type of the closure, and have it among their arguments, as `app::main::{closure_env#0}`.
pub(crate) fn closure<'n>(plain: &str, is_library: bool, mut callers: impl Iterator<Item = &'n str>) -> Option<String> {
    let number = closure_at(plain)?.strip_prefix(CLOSURE)?;
    let environment = format!("::{{closure_env#{number}");
    let is_path = |c: char| c.is_ascii_alphanumeric() || "_:#{}".contains(c);
    let of_library =
        |path: &str| ["core::", "alloc::", "std::", "hashbrown::"].iter().any(|name| path.starts_with(name));
    let scope = |caller: &'n str| {
        let mut scopes = caller.match_indices(&environment).map(|(at, _)| {
            let start = caller[..at].rfind(|c| !is_path(c)).map_or(0, |before| before + 1);
            &caller[start..at]
        });
        scopes.find(|scope| !scope.is_empty() && of_library(scope) == is_library)
    };
    let scope = callers.find_map(scope)?;
    Some(format!("{scope}::{CLOSURE}{number}"))
}

/// `alloc::vec::Vec<u8>::push` for the plain name `push<u8, alloc::alloc::Global>` in the standard library's file of vectors.
pub(crate) fn in_type_of_file(plain: &str, file: &str) -> Option<String> {
    let in_library = &file[file.find("/library/")? + "/library".len()..];
    let (_, class, parameters) = TYPES_BY_FILE.iter().find(|(part, ..)| in_library.starts_with(part))?;
    let (base, arguments) = split_arguments(plain);
    // What boxed functions are called with comes before what is in the box.
    if is_closure(base) || base.starts_with("call") || arguments.len() < *parameters {
        return None;
    }
    Some(match arguments[..*parameters].join(", ") {
        none if none.is_empty() => format!("{class}::{base}"),
        list => format!("{class}<{list}>::{base}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_their_types() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (base, arguments) = split_arguments("push<(u8, a::B<c, d>), alloc::alloc::Global>");
        assert_eq!((base, &arguments[..]), ("push", &["(u8, a::B<c, d>)", "alloc::alloc::Global"][..]));
        assert_eq!(
            with_arguments("alloc::vec::Vec<T,A>::push", &names(&["T", "A"]), &arguments),
            "alloc::vec::Vec<(u8, a::B<c, d>),alloc::alloc::Global>::push"
        );
        let map = "<core::iter::adapters::map::Map<I,F> as core::iter::traits::iterator::Iterator>::next";
        assert_eq!(
            with_arguments(map, &names(&["B", "I", "F"]), &["u8", "x::I", "fn(u8) -> u8"]),
            "<core::iter::adapters::map::Map<x::I,fn(u8) -> u8> as core::iter::traits::iterator::Iterator>::next"
        );
        assert_eq!(with_arguments(map, &[], &["u8", "x::I", "y::F"]), map, "unknown which is which");
        assert_eq!(
            with_arguments("alloc::raw_vec::RawVec<T,A>::grow_one", &[], &["u8", "G"]),
            "alloc::raw_vec::RawVec<u8,G>::grow_one"
        );
        assert_eq!(with_arguments("a::T::f", &[], &["u8"]), "a::T::f");
    }

    #[test]
    fn closures_have_numbers_and_functions() {
        assert_eq!(
            with_closure_numbers("app::main::{{closure}}::{{closure}}", "app::main::{closure#1}::{closure#0}<u8>"),
            "app::main::{closure#1}::{closure#0}"
        );
        assert_eq!(
            with_closure_numbers("app::main::{{closure}}::{{closure}}", "{closure#2}"),
            "app::main::{{closure}}::{closure#2}"
        );
        assert_eq!(with_closure_numbers("app::main", "{closure#2}"), "app::main");
        let callers = [
            "call_once<(&str), app::parse::{closure_env#0}>",
            "map<&str, app::Word, &mut app::other::{closure_env#0}>",
        ];
        assert_eq!(closure("{closure#0}", false, callers.into_iter()).as_deref(), Some("app::parse::{closure#0}"));
        assert_eq!(closure("{closure#1}", false, callers.into_iter()), None);
        assert_eq!(closure("{closure#0}", true, callers.into_iter()), None);
        let nested = ["call<core::f::{closure_env#0}<app::main::{closure#1}::{closure_env#0}>, ()>"];
        assert_eq!(
            closure("{closure#0}", false, nested.into_iter()).as_deref(),
            Some("app::main::{closure#1}::{closure#0}")
        );
        assert_eq!(closure("{closure#0}<u8>", true, nested.into_iter()).as_deref(), Some("core::f::{closure#0}"));
    }

    #[test]
    fn files_of_the_standard_library_tell_types() {
        let file = |rest: &str| format!("/rustc/59807616e/library/{rest}");
        let cases = [
            ("push<u8, alloc::alloc::Global>", "alloc/src/vec/mod.rs", Some("alloc::vec::Vec<u8>::push")),
            ("new<a::B>", "alloc/src/sync.rs", Some("alloc::sync::Arc<a::B>::new")),
            ("from", "alloc/src/string.rs", Some("alloc::string::String::from")),
            (
                "or_insert<a, b>",
                "std/src/collections/hash/map.rs",
                Some("std::collections::hash::map::HashMap<a, b>::or_insert"),
            ),
            ("{closure#0}<a, b>", "alloc/src/vec/mod.rs", None),
            ("from", "alloc/src/vec/mod.rs", None),
            ("fold<a, b>", "core/src/iter/range.rs", None),
        ];
        for (plain, rest, expected) in cases {
            assert_eq!(in_type_of_file(plain, &file(rest)).as_deref(), expected, "{plain}");
        }
        assert_eq!(in_type_of_file("push<u8>", "/home/me/alloc/src/vec/mod.rs"), None);
    }

    #[test]
    fn clones_are_recognised() {
        assert!(is_clone("<app::Word as core::clone::Clone>::clone") && is_clone("clone") && is_clone("clone<u8>"));
        assert!(!is_clone("app::clone") && !is_clone("clone_from"));
    }
}
