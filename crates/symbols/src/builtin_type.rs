//! Sizes of types that need no debug information. They are those of a 64-bit machine.

/// Size of a pointer, bytes.
const POINTER: u64 = 8;

/// Size of a type with this canonical name, in bytes, if the language gives it.
pub(crate) fn builtin_size(name: &str) -> Option<u64> {
    number(name).or_else(|| rust_pointer(name)).or_else(|| cpp_pointer(name))
}

fn number(name: &str) -> Option<u64> {
    Some(match name {
        "bool" | "char" | "signed char" | "unsigned char" | "char8_t" | "std::byte" | "u8" | "i8" => 1,
        "short" | "unsigned short" | "char16_t" | "_Float16" | "u16" | "i16" | "f16" => 2,
        "int" | "unsigned int" | "float" | "wchar_t" | "char32_t" | "_Float32" | "u32" | "i32" | "f32" => 4,
        "long" | "unsigned long" | "long long" | "unsigned long long" | "double" | "_Float64" | "u64" | "i64"
        | "f64" | "usize" | "isize" | "std::nullptr_t" | "decltype(nullptr)" => 8,
        "__int128" | "unsigned __int128" | "long double" | "__float128" | "_Float128" | "u128" | "i128" | "f128" => 16,
        _ => return None,
    })
}

/// `*const T` and `&T`, where it is certain whether a length or a table of methods goes with them, and functions.
fn rust_pointer(name: &str) -> Option<u64> {
    if name.starts_with("fn(") || name.starts_with("unsafe fn(") {
        return Some(POINTER);
    }
    let target = ["*const ", "*mut ", "&mut ", "&"].iter().find_map(|prefix| name.strip_prefix(prefix))?;
    let is_slice = target.starts_with('[') && array(target).is_none();
    if is_slice || target == "str" || target.starts_with("dyn ") {
        return Some(2 * POINTER);
    }
    let thin = array(target).is_some() || number(target).is_some();
    thin.then_some(POINTER)
}

fn cpp_pointer(name: &str) -> Option<u64> {
    if !name.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '(') {
        return None;
    }
    if name.ends_with('*') || name.ends_with('&') {
        return Some(POINTER);
    }
    // `void(*)(int)` and `void(A::*)(int)`, but not `A<void(*)(int)>`, and not the tuple `(*const u8,u8)`.
    let mut depth = 0usize;
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth = depth.saturating_sub(1),
            b'(' if depth == 0 && at > 0 => {
                let inside = &name[at + 1..name[at..].find(')')? + at];
                return match inside {
                    "*" => Some(POINTER),
                    _ if inside.ends_with("::*") => Some(2 * POINTER),
                    _ => None,
                };
            }
            _ => {}
        }
    }
    None
}

/// Element and length of the Rust array type `[T;N]`.
pub(crate) fn array(name: &str) -> Option<(&str, u64)> {
    let inside = name.strip_prefix('[')?.strip_suffix(']')?;
    let (element, length) = inside.rsplit_once(';')?;
    Some((element, length.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{array, builtin_size};

    #[test]
    fn known_without_debug_information() {
        let cases = [
            ("char", 1),
            ("unsigned long", 8),
            ("double", 8),
            ("long double", 16),
            ("f64", 8),
            ("char const*", 8),
            ("Foo<int>*", 8),
            ("Foo* const*", 8),
            ("void(*)(int)", 8),
            ("void(Foo::*)(int)", 16),
            ("&str", 16),
            ("&mut [a::B]", 16),
            ("&[u8;4]", 8),
            ("&u8", 8),
            ("*const dyn a::B", 16),
            ("fn(u8)", 8),
        ];
        for (name, size) in cases {
            assert_eq!(builtin_size(name), Some(size), "{name}");
        }
        for name in ["Foo", "Foo<int*>", "&a::B", "(*const u8,u8)", "std::function<void(*)(int)>", "void(int)", ""] {
            assert_eq!(builtin_size(name), None, "{name}");
        }
    }

    #[test]
    fn arrays() {
        assert_eq!(array("[[u8;2];3]"), Some(("[u8;2]", 3)));
        assert_eq!(array("[u8]"), None);
    }
}
