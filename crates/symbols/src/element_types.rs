//! The types of which containers are made, read from the names of the containers' functions.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::frame::Resolved;

/// Classes whose first template argument is the type of which there are many in a block.
const CPP_CONTAINERS: &[&str] =
    &["std::allocator<", "std::__new_allocator<", "__gnu_cxx::new_allocator<", "std::vector<", "std::_Vector_base<"];
const RUST_CONTAINERS: &[&str] = &[
    "alloc::vec::Vec<", "alloc::raw_vec::RawVec<", "alloc::collections::vec_deque::VecDeque<", "alloc::boxed::Box<[",
    "alloc::rc::Rc<[", "alloc::sync::Arc<[",
];
/// Tables of pairs, and of elements that are pairs with nothing.
const RUST_MAPS: &[&str] = &["std::collections::hash::map::HashMap<", "hashbrown::map::HashMap<"];
const RUST_SETS: &[&str] = &["std::collections::hash::set::HashSet<", "hashbrown::set::HashSet<"];

/// The element types of all containers whose functions are in the frames, spelled as they are there.
pub(crate) fn of(resolved: &Resolved) -> BTreeSet<String> {
    let functions: FxHashSet<&str> = resolved.frames.iter().flatten().map(|frame| frame.function.as_str()).collect();
    let mut types = BTreeSet::new();
    for function in functions {
        collect(function, &mut types);
    }
    types
}

/// Adds the element types that a function's demangled name mentions, spelled as they are there.
fn collect(function: &str, types: &mut BTreeSet<String>) {
    for element in CPP_CONTAINERS.iter().flat_map(|container| elements(function, container)) {
        insert(types, element);
    }
    for element in RUST_CONTAINERS.iter().flat_map(|container| elements(function, container)) {
        // `T` alone is the parameter of a function that was not named for its arguments; `char` is not C++'s.
        let is_parameter = element.len() == 1 || element == "_";
        if !is_parameter && element != "char" {
            insert(types, element);
        }
    }
    for map in RUST_MAPS.iter().flat_map(|map| arguments_of(function, map)) {
        if let [key, value, ..] = map[..] {
            insert(types, &format!("({key}, {value})"));
        }
    }
    for set in RUST_SETS.iter().flat_map(|set| arguments_of(function, set)) {
        insert(types, &format!("({}, ())", set[0]));
    }
}

fn insert(types: &mut BTreeSet<String>, element: &str) {
    if !types.contains(element) {
        types.insert(element.to_string());
    }
}

/// The first template argument of each mention of a container, which is spelled with the bracket that follows it.
fn elements<'f>(function: &'f str, container: &str) -> impl Iterator<Item = &'f str> {
    arguments_of(function, container).map(|arguments| arguments[0])
}

/// The template arguments of each mention of a container; there is at least one.
fn arguments_of<'f>(function: &'f str, container: &str) -> impl Iterator<Item = Vec<&'f str>> {
    function.match_indices(container).filter_map(|(at, found)| {
        let inside_other = function[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
        if inside_other { None } else { arguments(&function[at + found.len()..]) }
    })
}

/// What is between the commas before the bracket that closes none of those here. Nothing, if there is no such bracket, or if
/// it is an array's.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let bytes = text.as_bytes();
    let (mut depth, mut start) = (0usize, 0);
    let mut all = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            // The arrow of a function's type closes nothing.
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b';' if depth == 0 => return None,
            b',' | b'>' | b']' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
                if *byte != b',' {
                    return Some(all).filter(|all| all.iter().all(|argument| !argument.is_empty()));
                }
            }
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(function: &str) -> Vec<String> {
        let mut types = BTreeSet::new();
        collect(function, &mut types);
        types.into_iter().collect()
    }

    #[test]
    fn elements_of_containers() {
        assert_eq!(
            of("std::vector<TextAttributeRun, std::allocator<TextAttributeRun> >::vector(unsigned long)"),
            ["TextAttributeRun"]
        );
        assert_eq!(
            of("std::__new_allocator<std::pair<int const, A<2> > >::allocate(unsigned long)"),
            ["std::pair<int const, A<2> >"]
        );
        assert_eq!(of("void f(std::vector<std::vector<B> >&)"), ["B", "std::vector<B>"]);
        assert_eq!(of("<alloc::raw_vec::RawVec<(u8, r::A)>>::grow_one"), ["(u8, r::A)"]);
        assert_eq!(of("<alloc::vec::Vec<fn(u8) -> u8> as core::clone::Clone>::clone"), ["fn(u8) -> u8"]);
        assert_eq!(of("<alloc::sync::Arc<[r::A]>>::from"), ["r::A"]);
        assert_eq!(of("<alloc::boxed::Box<[[u8; 4]]>>::clone"), ["[u8; 4]"]);
        assert_eq!(
            of("<std::collections::hash::map::HashMap<u64, (u8, r::A), std::hash::random::RandomState>>::insert"),
            ["(u64, (u8, r::A))"]
        );
        assert_eq!(of("<hashbrown::set::HashSet<&str>>::insert"), ["(&str, ())"]);
        for none in [
            "main", "<alloc::sync::Arc<[r::A; 4]>>::new", "<alloc::sync::Arc<r::A>>::new",
            "hashbrown::map::HashMap<r::A>::insert", "alloc::vec::Vec<T,A>::push", "my_std::vector<A>::f",
            "a::std::vector<A>::f", "std::vector<A", "std::vector<>::f",
        ] {
            assert!(of(none).is_empty(), "{none}");
        }
    }
}
