//! Functions that make text, and what they take beyond the allocation of it.

use crate::site::Site;
use memtoll_analysis::library::qualified_name;

/// A family of formatting functions.
pub struct Family {
    /// What they are called.
    pub name: &'static str,
    /// What the formatting itself takes with them beyond the allocation, for each block, ns (`format_bench` of the remedies):
    /// where plain runs do not tell.
    pub overhead: [f64; 3],
    /// Beginnings of their names.
    pub functions: &'static [&'static str],
    /// Beginnings of the names of functions that they call.
    pub inner: &'static [&'static str],
    /// Whether the result is put together from strings: their own work goes, too.
    pub makes_strings: bool,
    /// The share of the work in all of these that goes with the remedy of the snippet (`format_bench`, again).
    pub goes: [f64; 3],
}

const FAMILIES: [Family; 8] = [
    Family {
        name: "asprintf",
        overhead: [10.0, 45.0, 160.0],
        functions: &[
            "asprintf", "vasprintf", "__asprintf", "__vasprintf", "__GI___vasprintf", "g_strdup_printf",
            "g_strdup_vprintf",
        ],
        inner: &[
            "printf", "vfprintf", "IO_", "itoa", "mpn_", "hack_digit", "Xprintf", "buffered_", "outstring",
            "strchrnul", "libc.so",
        ],
        makes_strings: false,
        goes: [0.5, 0.8, 0.95],
    },
    Family {
        name: "a string stream",
        overhead: [30.0, 150.0, 800.0],
        functions: &[
            "std::__cxx11::basic_stringbuf", "std::__cxx11::basic_ostringstream", "std::__cxx11::basic_stringstream",
            "std::basic_stringbuf", "std::basic_ostringstream", "std::basic_ostream<", "std::ostream::",
            "std::operator<< <",
        ],
        inner: &[
            "std::__ostream", "std::basic_streambuf", "std::basic_ios", "std::ios_base", "std::locale", "std::num_put",
            "std::use_facet", "std::has_facet", "std::ctype", "std::basic_iostream", "__dynamic_cast", "__strcmp_",
            "__cxxabiv1::", "libstdc++.so",
        ],
        makes_strings: false,
        goes: [0.75, 0.97, 1.06],
    },
    Family {
        name: "std::to_string",
        overhead: [0.0, 5.0, 40.0],
        functions: &["std::to_string", "std::to_wstring", "std::__cxx11::to_string", "std::__cxx11::to_wstring"],
        inner: &["std::__detail::__to_chars"],
        makes_strings: true,
        goes: [0.1, 0.5, 0.9],
    },
    Family {
        name: "a chain of +",
        overhead: [0.0, 5.0, 40.0],
        functions: &["std::operator+<", "std::operator+ <", "std::__str_concat"],
        inner: &[],
        makes_strings: true,
        goes: [0.3, 0.6, 1.0],
    },
    Family {
        name: "std::format or fmt",
        overhead: [0.0, 10.0, 80.0],
        functions: &["std::format", "std::vformat", "fmt::"],
        inner: &["std::__format"],
        makes_strings: false,
        goes: [0.0, 0.1, 0.4],
    },
    Family {
        name: "format! or to_string",
        overhead: [0.0, 10.0, 80.0],
        functions: &[
            "alloc::fmt::format", "alloc::string::ToString", "<str as alloc::string::ToString",
            "<T as alloc::string::ToString", "<alloc::string::String as core::fmt::Write", "<i32 as alloc::string::",
            "<u32 as alloc::string::", "<i64 as alloc::string::", "<u64 as alloc::string::",
            "<usize as alloc::string::",
        ],
        inner: &["alloc::raw_vec::", "<alloc::raw_vec::"],
        makes_strings: false,
        goes: [0.4, 0.7, 1.0],
    },
    Family {
        name: "printf",
        overhead: [0.0, 20.0, 150.0],
        functions: &[
            "printf", "fprintf", "snprintf", "vfprintf", "__vfprintf_internal", "__vsnprintf", "__printf_fp",
            "__GI___printf_fp",
        ],
        inner: &["vfprintf", "IO_", "itoa", "mpn_", "hack_digit", "outstring", "strchrnul", "libc.so"],
        makes_strings: false,
        goes: [0.3, 0.7, 0.95],
    },
    Family {
        name: "strftime",
        overhead: [0.0, 20.0, 100.0],
        functions: &["strftime", "__strftime"],
        inner: &[],
        makes_strings: false,
        goes: [0.0, 0.2, 0.6],
    },
];

/// The formatting functions through which a site allocates.
pub fn formatter(site: &Site) -> Option<&'static str> {
    family(site).map(|family| family.name)
}

/// Streams that only read: their buffer holds the text that is taken apart.
const READERS: [&str; 2] = ["std::__cxx11::basic_istringstream", "std::basic_istringstream"];

pub fn family(site: &Site) -> Option<&'static Family> {
    let reads = |function: &str| READERS.iter().any(|start| qualified_name(function).starts_with(start));
    if site.through.iter().any(|function| reads(function)) {
        return None;
    }
    let is_of = |family: &&Family| {
        site.through.iter().any(|function| {
            let name = qualified_name(function);
            family.functions.iter().any(|start| function.starts_with(start) || name.starts_with(start))
        })
    };
    FAMILIES.iter().find(is_of)
}
