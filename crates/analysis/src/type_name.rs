//! What kind of object a block is, read from the names of the inlined library functions that allocate it.

use crate::container_elements::Layout;
use crate::library::qualified_name;
use std::borrow::Cow;

/// The type to which the member function or the making function `function` belongs, as a programmer writes it:
/// `std::vector<Cell>` for a constructor of it, `Cell` for `std::make_unique<Cell>`.
pub fn type_of(function: &str) -> Option<String> {
    let name = qualified_name(function);
    let (class, member) = split_last(name)?;
    if let Some(made) = made_by(class, member) {
        return Some(short_type(made));
    }
    // Rust: `<alloc::vec::Vec<u8>>::f`, `<alloc::vec::Vec<u8> as core::clone::Clone>::clone`.
    let class = match class.strip_prefix('<') {
        Some(inner) => inner.split_once(" as ").map_or(inner.strip_suffix('>').unwrap_or(inner), |(class, _)| class),
        None => class,
    };
    // Rust's functions on `str` and the like make strings.
    if matches!(class, "str" | "alloc::str")
        || class.starts_with("alloc::str::")
        || name.starts_with("alloc::fmt::format")
    {
        return Some("String".to_owned());
    }
    let is_known = |class_name: &&str| {
        class.strip_prefix(*class_name).is_some_and(|rest| rest.is_empty() || rest.starts_with('<'))
    };
    if class.ends_with(ALLOCATOR_ONLY) {
        return None;
    }
    if TYPES.iter().any(is_known) {
        // What is behind the arguments is a function, and the name is that of a closure in it.
        let end = class.find('<').and_then(|open| matching(class, open)).map_or(class.len(), |close| close + 1);
        return Some(short_type(&class[..end]));
    }
    FAMILIES.iter().any(|family| class.starts_with(family)).then(|| short_type(class))
}

/// Where an `impl` is for one type of elements, as that of `from_elem` for `Vec<u8>`, rustc writes its only parameter, the allocator,
/// where the elements stand otherwise.
const ALLOCATOR_ONLY: &str = "<alloc::alloc::Global>";

/// Classes whose functions tell what a block is. Those of Rust's collections that their functions make use of are not here.
const TYPES: &[&str] = &[
    "std::vector",
    "std::deque",
    "std::_Deque_base",
    "std::_Vector_base",
    "std::list",
    "std::map",
    "std::set",
    "std::multimap",
    "std::multiset",
    "std::__cxx11::basic_string",
    "std::__cxx11::list",
    "std::basic_string",
    "std::function",
    "alloc::vec::Vec",
    "alloc::string::String",
    "alloc::boxed::Box",
    "alloc::rc::Rc",
    "alloc::sync::Arc",
    "alloc::ffi::c_str::CString",
    "alloc::collections::vec_deque::VecDeque",
    "alloc::collections::binary_heap::BinaryHeap",
    "alloc::collections::linked_list::LinkedList",
    "alloc::collections::btree::map::BTreeMap",
    "alloc::collections::btree::map::entry::Entry",
    "alloc::collections::btree::map::entry::VacantEntry",
    "alloc::collections::btree::set::BTreeSet",
    "std::collections::hash::map::HashMap",
    "std::collections::hash::set::HashSet",
    "std::path::PathBuf",
    "std::ffi::os_str::OsString",
    "hashbrown::map::HashMap",
    "hashbrown::set::HashSet",
];
/// Beginnings of the names of such classes.
const FAMILIES: &[&str] = &["std::unordered_", "boost::"];

/// Whether a block of type `inner`, which is taken inside of functions of type `outer`, is what `outer` keeps its contents
/// in: Rust's `String` is a `Vec` inside, and its `BTreeMap` makes its nodes with `Box`. C++'s types each take their own:
/// what a string takes that is made in its place in a vector is the string's.
pub fn is_part_of(inner: &str, outer: &str) -> bool {
    let (inner_class, outer_class) = (class_of(inner), class_of(outer));
    if inner_class.starts_with("std::") {
        return false;
    }
    if inner_class.starts_with("boost::") && outer_class.starts_with("boost::") {
        return is_boosts_own(inner_class);
    }
    let is_slice = outer[outer_class.len()..].starts_with("<[") || outer.ends_with("<str>");
    match (outer_class, inner_class) {
        ("String" | "PathBuf" | "OsString" | "CString" | "BinaryHeap", "Vec" | "String" | "OsString") => true,
        ("HashSet", "HashMap") | ("BTreeSet", "BTreeMap") => true,
        ("Box" | "Rc" | "Arc", "Vec" | "Box" | "String") if is_slice => true,
        ("Rc" | "Arc" | "BTreeMap" | "BTreeSet" | "LinkedList", "Box") => inner == "Box" || inner.contains("alloc::"),
        _ => false,
    }
}

/// Whether only its own class calls a member function: libstdc++, libc++ and Boost name their private ones in this way.
pub fn is_private(function: &str) -> bool {
    let member = split_last(qualified_name(function)).map_or("", |(_, member)| member);
    member.starts_with('_') || member.starts_with("priv_")
}

/// Whether two types are made from one class template, or are one type.
pub fn are_of_one_class(one: &str, other: &str) -> bool {
    class_of(one) == class_of(other)
}

/// Whether a class of Boost serves its containers and is none itself: allocators, traits, bases, what holds the memory.
fn is_boosts_own(class: &str) -> bool {
    let name = class.rsplit("::").next().unwrap_or(class);
    let serves = ["_allocator", "_traits", "_base", "_holder", "_impl", "_proxy", "_pool"];
    class.contains("::dtl::") || class.contains("::detail::") || serves.iter().any(|end| name.ends_with(end))
}

/// Containers that keep each object in a block of its own, beside pointers or counters; as [`type_of`] calls them.
const ALONE: &[&str] =
    &["std::list", "std::set", "std::multiset", "std::map", "std::multimap", "LinkedList", "Box", "Rc", "Arc"];

/// How the blocks of a type hold objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// A block is an object of the type.
    Itself,
    /// A block has one object of the container's first argument.
    One,
    /// A block has any number of them, or something else.
    Several,
}

/// How the blocks of a type that [`type_of`] has found hold objects.
pub fn holds(kind: &str) -> Holds {
    let class = class_of(kind);
    let is_container = class == "std::string"
        || TYPES.iter().any(|known| plain(known) == class)
        || FAMILIES.iter().any(|family| class.starts_with(family));
    match is_container {
        false => Holds::Itself,
        true if ALONE.contains(&class) => Holds::One,
        true => Holds::Several,
    }
}

/// `Vec` of `Vec<u8>`.
fn class_of(name: &str) -> &str {
    name.split('<').next().unwrap_or(name)
}

/// Containers whose blocks hold elements of one type, and how; each spelled with the bracket that precedes that type.
const CONTAINERS: &[(&str, Layout)] = &[
    ("std::vector<", Layout::Elements),
    ("std::_Vector_base<", Layout::Elements),
    ("alloc::vec::Vec<", Layout::Elements),
    ("alloc::raw_vec::RawVec<", Layout::Elements),
    ("alloc::collections::vec_deque::VecDeque<", Layout::Elements),
    ("alloc::boxed::Box<[", Layout::Elements),
    ("alloc::rc::Rc<[", Layout::BehindCounters),
    ("alloc::sync::Arc<[", Layout::BehindCounters),
    ("std::collections::hash::map::HashMap<", Layout::Buckets),
    ("std::collections::hash::set::HashSet<", Layout::Buckets),
    ("hashbrown::map::HashMap<", Layout::Buckets),
    ("hashbrown::set::HashSet<", Layout::Buckets),
];

/// The type of the elements of the container to which the member function `function` belongs, spelled as in its name, and how
/// they lie in a block. Those of maps and sets are pairs. `None` for `std::vector<bool>`, which holds no objects, and for
/// Rust's `char`, which shares its name with another.
pub fn element_of(function: &str) -> Option<(Cow<'_, str>, Layout)> {
    let (class, _) = split_last(qualified_name(function))?;
    let class = class.trim_start_matches('<');
    if class.ends_with(ALLOCATOR_ONLY) {
        return None;
    }
    let (prefix, layout) = CONTAINERS.iter().find(|(prefix, _)| class.starts_with(prefix))?;
    let close = matching(class, prefix.find('<')?)?;
    if prefix.ends_with('[') {
        let slice = *split_arguments(&class[prefix.len() - 1..close]).first()?;
        let element = slice.strip_prefix('[')?.strip_suffix(']')?;
        // `[T; 4]` is one object.
        let is_array = element.rsplit_once("; ").is_some_and(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
        return (!is_array).then_some((element.into(), *layout));
    }
    let arguments = split_arguments(&class[prefix.len()..close]);
    let element: Cow<str> = match (layout, &arguments[..]) {
        (Layout::Buckets, [element, ..]) if prefix.contains("::set::") => format!("({element}, ())").into(),
        (Layout::Buckets, [key, value, ..]) => format!("({key}, {value})").into(),
        (Layout::Elements | Layout::BehindCounters, [element, ..]) => (*element).into(),
        _ => return None,
    };
    let unlike_others = if prefix.starts_with("std::vector") || prefix.starts_with("std::_") { "bool" } else { "char" };
    (!element.is_empty() && element != unlike_others).then_some((element, *layout))
}

/// The template argument of functions that make one object.
fn made_by<'a>(class: &str, member: &'a str) -> Option<&'a str> {
    let makes =
        class == "std" && ["make_unique<", "make_shared<", "allocate_shared<"].iter().any(|m| member.starts_with(m));
    if !makes {
        return None;
    }
    let open = member.find('<')?;
    let arguments = &member[open + 1..member.len().checked_sub(1)?];
    split_arguments(arguments).first().copied()
}

/// Splits `a::b<c::d>::e` into `a::b<c::d>` and `e`.
fn split_last(name: &str) -> Option<(&str, &str)> {
    let bytes = name.as_bytes();
    let mut depth = 0usize;
    for at in (1..bytes.len()).rev() {
        match bytes[at] {
            b'>' | b')' | b'}' => depth += 1,
            b'<' | b'(' | b'{' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && bytes[at - 1] == b':' => return Some((&name[..at - 1], &name[at + 1..])),
            _ => {}
        }
    }
    None
}

/// Template arguments, split at the commas between them.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Arguments that everybody leaves out.
const DEFAULTS: &[&str] = &[
    "std::allocator<", "std::char_traits<", "std::less<", "std::hash<", "std::equal_to<", "std::default_delete<",
    "alloc::alloc::Global", "std::hash::random::RandomState", "boost::container::new_allocator<", "void",
];

/// A type without default template arguments: `std::vector<Cell, std::allocator<Cell> >` gives `std::vector<Cell>`.
pub fn short_type(name: &str) -> String {
    let name = name.trim();
    if let Some(text) = compound(name) {
        return text;
    }
    let Some(open) = name.find('<') else { return plain(name).to_owned() };
    let Some(close) = matching(name, open) else { return name.to_owned() };
    let head = plain(&name[..open]);
    // Rust's debug information often has the parameters' names instead of types.
    let is_parameter = |argument: &&str| argument.len() == 1 && argument.chars().all(|c| c.is_ascii_uppercase());
    if split_arguments(&name[open + 1..close]).iter().all(is_parameter) {
        return head.to_owned() + &name[close + 1..];
    }
    let arguments: Vec<String> = split_arguments(&name[open + 1..close])
        .into_iter()
        .enumerate()
        .filter(|(index, argument)| *index == 0 || !DEFAULTS.iter().any(|default| argument.starts_with(default)))
        .map(|(_, argument)| short_type(argument))
        .collect();
    let rest = &name[close + 1..];
    if matches!(head, "std::basic_string" | "std::string") && arguments == ["char"] {
        return format!("std::string{rest}");
    }
    let rest = if rest.contains('<') { short_type(rest) } else { rest.to_owned() };
    format!("{head}<{}>{rest}", arguments.join(", "))
}

/// Rust's references, pointers, tuples and slices of types, and C++'s numbers behind a cast: `(unsigned short)256`.
fn compound(name: &str) -> Option<String> {
    if let Some(start) = ["&mut ", "&", "*const ", "*mut "].iter().find(|start| name.starts_with(**start)) {
        return Some((*start).to_owned() + &short_type(&name[start.len()..]));
    }
    if let Some((_, number)) = name.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        let digits = number.strip_prefix('-').unwrap_or(number);
        if !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()) {
            return Some(number.to_owned());
        }
    }
    if let Some(inner) = name.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        // `(anonymous namespace)::f()` is no tuple.
        let types = split_arguments(inner);
        let is_tuple = !inner.contains(')') || types.len() > 1;
        let shorter = || types.iter().map(|of| short_type(of)).collect::<Vec<_>>().join(", ");
        return is_tuple.then(|| format!("({})", shorter()));
    }
    let inner = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))?;
    Some(match inner.rsplit_once("; ") {
        Some((of, number)) => format!("[{}; {number}]", short_type(of)),
        None => format!("[{}]", short_type(inner)),
    })
}

fn plain(name: &str) -> &str {
    match name {
        "std::__cxx11::basic_string" => "std::basic_string",
        "std::__cxx11::list" => "std::list",
        "std::_Vector_base" => "std::vector",
        "std::_Deque_base" => "std::deque",
        "alloc::vec::Vec" => "Vec",
        "alloc::string::String" => "String",
        "alloc::boxed::Box" => "Box",
        "alloc::rc::Rc" => "Rc",
        "alloc::sync::Arc" => "Arc",
        "std::path::PathBuf" => "PathBuf",
        "std::ffi::os_str::OsString" => "OsString",
        "alloc::ffi::c_str::CString" => "CString",
        "alloc::collections::vec_deque::VecDeque" => "VecDeque",
        "alloc::collections::binary_heap::BinaryHeap" => "BinaryHeap",
        "alloc::collections::linked_list::LinkedList" => "LinkedList",
        "alloc::collections::btree::map::BTreeMap"
        | "alloc::collections::btree::map::entry::Entry"
        | "alloc::collections::btree::map::entry::VacantEntry" => "BTreeMap",
        "alloc::collections::btree::set::BTreeSet" => "BTreeSet",
        "std::collections::hash::map::HashMap" | "hashbrown::map::HashMap" => "HashMap",
        "std::collections::hash::set::HashSet" | "hashbrown::set::HashSet" => "HashSet",
        other => other,
    }
}

fn matching(name: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in name.char_indices().skip_while(|(at, _)| *at < open) {
        match c {
            '<' => depth += 1,
            '>' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_from_member_functions() {
        let cases = [
            (
                "std::vector<TextAttributeRun, std::allocator<TextAttributeRun> >::vector(unsigned long)",
                Some("std::vector<TextAttributeRun>"),
            ),
            (
                "void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(int*)",
                Some("std::vector<int>"),
            ),
            (
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&)",
                Some("std::string"),
            ),
            ("std::unique_ptr<Foo, std::default_delete<Foo> > std::make_unique<Foo, int>(int&&)", Some("Foo")),
            (
                "std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int, std::less<int>, std::allocator<int> >::operator[](int)",
                Some("std::map<std::string, int>"),
            ),
            ("alloc::vec::Vec<u8, alloc::alloc::Global>::with_capacity", Some("Vec<u8>")),
            ("<alloc::vec::Vec<u8>>::push", Some("Vec<u8>")),
            ("<alloc::vec::Vec<u8> as core::clone::Clone>::clone", Some("Vec<u8>")),
            ("alloc::vec::Vec<T,A>::push", Some("Vec")),
            ("<alloc::vec::Vec<(&alloc::vec::Vec<u8>, u64)>>::push", Some("Vec<(&Vec<u8>, u64)>")),
            ("<alloc::boxed::Box<[&mut alloc::string::String; 3]>>::new", Some("Box<[&mut String; 3]>")),
            ("<alloc::vec::Vec<()>>::push", Some("Vec<()>")),
            ("alloc::vec::Vec<alloc::alloc::Global>::from_elem", None),
            ("std::vector<n::Bits<(unsigned short)256> >::push_back(int)", Some("std::vector<n::Bits<256>>")),
            (
                "std::vector<(anonymous namespace)::Row>::push_back((anonymous namespace)::Row const&)",
                Some("std::vector<(anonymous namespace)::Row>"),
            ),
            ("std::collections::hash::map::HashMap<K,V,S,A>::insert", Some("HashMap")),
            ("std::collections::hash::map::HashMap<u32,u8>::insert", Some("HashMap<u32, u8>")),
            ("alloc::collections::btree::map::entry::VacantEntry<u32,u8>::insert", Some("BTreeMap<u32, u8>")),
            ("alloc::vec::Vec<u8>::extend_with::{{closure}}", Some("Vec<u8>")),
            ("alloc::collections::btree::node::NodeRef<K,V>::new_leaf", None),
            ("alloc::str::<impl alloc::borrow::ToOwned for str>::to_owned", Some("String")),
            ("std::vectorized<int>::f", None),
            ("main", None),
            ("ROW::ROW(int)", None),
            ("std::allocator_traits<std::allocator<int> >::allocate(int)", None),
        ];
        for (function, expected) in cases {
            assert_eq!(type_of(function).as_deref(), expected, "{function}");
        }
    }

    #[test]
    fn parts_are_told_from_types_that_take_their_own() {
        for (inner, outer, is_part) in [
            ("Vec<u8>", "String", true),
            ("Vec", "String", true),
            ("OsString", "PathBuf", true),
            ("String", "Vec<String>", false),
            ("Vec<u8>", "Vec<Vec<u8>>", false),
            ("Box<alloc::collections::btree::node::LeafNode<u8, u8>>", "BTreeMap<u8, u8>", true),
            ("Box<app::Item>", "BTreeMap<u8, Box<app::Item>>", false),
            ("Box", "Arc<app::Item>", true),
            ("Vec<u8>", "Arc<[u8]>", true),
            ("Vec<u8>", "Box<app::Item>", false),
            ("HashMap<u8, ()>", "HashSet<u8>", true),
            ("std::string", "std::vector<std::string>", false),
            ("boost::container::new_allocator<ROW>", "boost::container::deque<ROW, …>", true),
            ("boost::container::deque_base<…>", "boost::container::deque<ROW, …>", true),
            ("boost::container::dtl::node_alloc_holder<A>", "boost::container::map<int, int>", true),
            ("boost::container::vector<int>", "boost::container::deque<boost::container::vector<int>>", false),
        ] {
            assert_eq!(is_part_of(inner, outer), is_part, "{inner} in {outer}");
        }
    }

    #[test]
    fn private_functions_are_told_by_their_names() {
        for (function, expected) in [
            ("void std::vector<A*>::_M_realloc_insert<A* const&>(A**, A* const&)", true),
            ("std::_Vector_base<A*>::_M_allocate(unsigned long)", true),
            ("void std::vector<A*>::__push_back_slow_path<A*>(A*&&)", true),
            ("boost::container::vector<A>::priv_insert_forward_range_no_capacity(A*)", true),
            ("std::vector<A*>::push_back(A* const&)", false),
            ("std::vector<_A>::vector(unsigned long)", false),
            ("_start", false),
        ] {
            assert_eq!(is_private(function), expected, "{function}");
        }
    }

    #[test]
    fn blocks_hold_one_object_or_several() {
        for (kind, expected) in [
            ("app::Row", Holds::Itself),
            ("Row", Holds::Itself),
            ("std::set<app::Row>", Holds::One),
            ("std::map<int, std::string>", Holds::One),
            ("Arc<app::Row>", Holds::One),
            ("std::string", Holds::Several),
            ("String", Holds::Several),
            ("std::vector<app::Row>", Holds::Several),
            ("std::deque<app::Row>", Holds::Several),
            ("std::unordered_set<app::Row>", Holds::Several),
            ("BTreeMap<u8, app::Row>", Holds::Several),
        ] {
            assert_eq!(holds(kind), expected, "{kind}");
        }
    }

    #[test]
    fn elements_of_containers() {
        let cases = [
            ("std::vector<n::Run, std::allocator<n::Run> >::vector(unsigned long)", Some("n::Run")),
            ("void std::vector<A<int, 2> >::_M_realloc_insert<A<int, 2> const&>(A<int, 2>*)", Some("A<int, 2>")),
            ("std::_Vector_base<int, std::allocator<int> >::_M_allocate(unsigned long)", Some("int")),
            ("<alloc::vec::Vec<r::Run>>::push", Some("r::Run")),
            ("<alloc::vec::Vec<r::Run> as core::clone::Clone>::clone", Some("r::Run")),
            ("<alloc::collections::vec_deque::VecDeque<r::Run>>::grow", Some("r::Run")),
            ("<alloc::boxed::Box<[r::Run]> as core::clone::Clone>::clone", Some("r::Run")),
            ("<alloc::boxed::Box<[r::Run],alloc::alloc::Global> as core::clone::Clone>::clone", Some("r::Run")),
            ("<alloc::sync::Arc<[[u8; 4]]>>::copy_from_slice", Some("[u8; 4]")),
            ("<alloc::sync::Arc<[r::Run; 4]>>::new", None),
            ("<alloc::sync::Arc<r::Run>>::new", None),
            ("<std::collections::hash::map::HashMap<u8, r::Run>>::insert", Some("(u8, r::Run)")),
            ("<std::collections::hash::set::HashSet<&str>>::insert", Some("(&str, ())")),
            ("std::vector<bool, std::allocator<bool> >::vector(unsigned long)", None),
            ("<alloc::vec::Vec<char>>::push", None),
            ("std::map<int, int>::operator[](int)", None),
            ("main", None),
        ];
        for (function, expected) in cases {
            assert_eq!(element_of(function).map(|(element, _)| element).as_deref(), expected, "{function}");
        }
    }
}
