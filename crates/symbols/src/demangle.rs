//! Symbol names as a programmer writes them.

use std::fmt;

/// Longest demangled name that is built, in bytes. A name can refer back to its own parts, so that a short damaged name
/// can stand for a text of any length.
const LONGEST_NAME: usize = 64 * 1024;

/// How deep the parts of a C++ name may be nested. Names in heavily templated code need more than the default of
/// `cpp_demangle`; the stack that this many levels take is what bounds it (a test checks that it suffices).
const DEEPEST_NAME: u32 = 384;

/// Suffixes that compilers add to the name of a function which they copied, cut or renamed; each may be followed by a
/// number or a hash.
const CLONE_SUFFIXES: &[&str] =
    &["isra", "constprop", "part", "cold", "lto_priv", "localalias", "clone", "llvm", "__uniq"];

/// Turns a symbol name into the name that a programmer knows.
///
/// C++ names keep their arguments and template arguments, Rust names lose their hash, and the suffixes of compiler-made
/// copies (`.isra.0`, `.cold`, ...) are dropped. A name which is not mangled, or which cannot be demangled, comes back
/// as it is, without those suffixes.
pub fn demangle(name: &str) -> String {
    let base = strip_clone_suffixes(name);
    if is_mangled(base) {
        demangle_rust(base).or_else(|| demangle_cpp(base)).unwrap_or_else(|| base.to_string())
    } else {
        base.to_string()
    }
}

/// Whether a name looks like the mangled name of a C++ or Rust function.
pub(crate) fn is_mangled(name: &str) -> bool {
    name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_GLOBAL__")
}

fn demangle_rust(name: &str) -> Option<String> {
    // Variables of C++ look like Rust's old names without a hash.
    if !name.starts_with("_R") && !has_rust_hash(name) {
        return None;
    }
    let symbol = rustc_demangle::try_demangle(name).ok()?;
    let mut text = LimitedText::default();
    fmt::write(&mut text, format_args!("{symbol:#}")).ok()?;
    Some(text.0)
}

/// Whether a name ends as Rust's old names do: `17h`, 16 digits, `E`.
fn has_rust_hash(name: &str) -> bool {
    let hash = name.strip_suffix('E').and_then(|name| name.rsplit_once("17h"));
    hash.is_some_and(|(_, digits)| digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

fn demangle_cpp(name: &str) -> Option<String> {
    let parsing = cpp_demangle::ParseOptions::default().recursion_limit(DEEPEST_NAME);
    let symbol = cpp_demangle::Symbol::new_with_options(name.as_bytes(), &parsing).ok()?;
    let writing = cpp_demangle::DemangleOptions::default().recursion_limit(DEEPEST_NAME);
    let mut text = LimitedText::default();
    symbol.structured_demangle(&mut text, &writing).ok()?;
    Some(with_short_numbers(without_empty_packs(text.0)))
}

/// Numbers as other tools write them: `(unsigned int)8` is `8u`.
fn with_short_numbers(mut name: String) -> String {
    const TYPES: &[(&str, &str)] = &[
        ("(unsigned int)", "u"),
        ("(long)", "l"),
        ("(unsigned long)", "ul"),
        ("(long long)", "ll"),
        ("(unsigned long long)", "ull"),
    ];
    for (cast, letters) in TYPES {
        if !name.contains(cast) {
            continue;
        }
        let mut parts = name.split(cast);
        let mut text = parts.next().unwrap_or_default().to_string();
        for part in parts {
            let digits = part.strip_prefix('-').unwrap_or(part);
            let sign = part.len() - digits.len();
            let end = sign + digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if end > sign {
                text.extend([&part[..end], letters, &part[end..]]);
            } else {
                text.extend([cast, part]);
            }
        }
        name = text;
    }
    name
}

/// `cpp_demangle` writes a comma before an empty parameter pack, other tools do not: `A<B, >` is `A<B>`.
fn without_empty_packs(name: String) -> String {
    if !name.contains(", >") && !name.contains(", )") && !name.contains(", , ") {
        return name;
    }
    let mut rest = name.as_str();
    let mut text = String::with_capacity(name.len());
    while let Some(at) = rest.find(", ") {
        text += &rest[..at];
        rest = &rest[at + 2..];
        if !rest.starts_with(['>', ')']) && !rest.starts_with(", ") {
            text += ", ";
        }
    }
    text + rest
}

/// Takes `.isra.0`, `.cold` and the like, and ` [clone ...]`, from the end of a name.
///
/// Other dots stay: in Go, JavaScript and Java the part after a dot is the function.
fn strip_clone_suffixes(name: &str) -> &str {
    let mut base = name;
    while let Some(shorter) = strip_one_suffix(base) {
        base = shorter;
    }
    base
}

fn strip_one_suffix(name: &str) -> Option<&str> {
    if name.ends_with(']')
        && let Some(at) = name.rfind(" [clone ")
    {
        return non_empty(&name[..at]);
    }
    let (head, last) = name.rsplit_once('.')?;
    if CLONE_SUFFIXES.contains(&last) {
        return non_empty(head);
    }
    if last.is_empty() || !last.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    // A number: it belongs to the word before it. Only a mangled name is known to have no numbers of its own.
    match head.rsplit_once('.') {
        Some((rest, word)) if CLONE_SUFFIXES.contains(&word) => non_empty(rest),
        _ if is_mangled(name) && last.bytes().all(|b| b.is_ascii_digit()) => non_empty(head),
        _ => None,
    }
}

fn non_empty(name: &str) -> Option<&str> {
    (!name.is_empty()).then_some(name)
}

/// Text that refuses to grow beyond [`LONGEST_NAME`].
#[derive(Default)]
struct LimitedText(String);

impl fmt::Write for LimitedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > LONGEST_NAME {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn cpp_names_show_arguments_and_template_arguments() {
        assert_eq!(demangle("_ZN4shop4Cart3addEi"), "shop::Cart::add(int)");
        assert_eq!(
            demangle("_ZNSt6vectorIiSaIiEE9push_backERKi"),
            "std::vector<int, std::allocator<int> >::push_back(int const&)"
        );
        assert_eq!(demangle("_ZN1SC4Ei"), "S::S(int)");
        assert_eq!(demangle("_Z1f1AIJEE"), "f(A<>)");
        assert_eq!(demangle("_Z1f1AILj8ELln1ELm5EEj"), "f(A<8u, -1l, 5ul>, unsigned int)");
        assert_eq!(
            demangle("_ZN4llvm15AnalysisManagerINS_8FunctionEJEE5clearEv"),
            "llvm::AnalysisManager<llvm::Function>::clear()",
            "as nm prints it"
        );
    }

    #[test]
    fn rust_names_lose_the_hash() {
        assert_eq!(demangle("_ZN5alloc5alloc8allocate17h0123456789abcdefE"), "alloc::alloc::allocate");
        assert_eq!(
            demangle("_ZN5alloc5alloc8allocate17h0123456789abcdefE.llvm.12345678901234567890"),
            "alloc::alloc::allocate"
        );
        assert_eq!(demangle("_RNvC6_123foo3bar"), "123foo::bar", "the crate's hash is dropped as well");
    }

    #[test]
    fn clone_suffixes_are_dropped() {
        assert_eq!(demangle("parse.isra.0"), "parse");
        assert_eq!(demangle("parse.constprop.0.isra.3.cold"), "parse");
        assert_eq!(demangle("parse.part.1"), "parse");
        assert_eq!(demangle("_ZN4shop4Cart3addEi.isra.0.cold"), "shop::Cart::add(int)");
        assert_eq!(demangle("_ZZ4mainE1f.0"), "main::f");
        assert_eq!(demangle("add(int) [clone .isra.0] [clone .cold]"), "add(int)");
    }

    #[test]
    fn other_dots_stay() {
        assert_eq!(demangle("main.main"), "main.main");
        assert_eq!(demangle("runtime.mallocgc"), "runtime.mallocgc");
        assert_eq!(demangle("nested.0"), "nested.0");
        assert_eq!(demangle(".cold"), ".cold");
        assert_eq!(demangle("."), ".");
        assert_eq!(demangle(""), "");
    }

    #[test]
    fn names_that_cannot_be_demangled_come_back() {
        for name in ["_Z", "_ZN", "_ZNSt", "_R", "_RNv", "_Zé", "malloc", "_start", "operator new"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn a_name_that_explodes_is_not_built() {
        assert_eq!(demangle(&doubling_name(1)), "f(A, B<A, A>, B<B<A, A>, B<A, A> >)");
        let name = doubling_name(60);
        assert_eq!(demangle(&name), name);
    }

    #[test]
    fn deep_names_need_little_stack() {
        // As deep as is read, and deeper: nested templates, pointers, and functions taking functions.
        let names: Vec<String> = [300, 20_000]
            .into_iter()
            .flat_map(|depth| {
                [
                    format!("_Z1f{}i{}", "1AI".repeat(depth), "E".repeat(depth)),
                    format!("_Z1f{}i", "P".repeat(depth)),
                    format!("_Z1f{}vi{}", "PFv".repeat(depth), "E".repeat(depth)),
                    format!("_ZN{}1fEv", "1A".repeat(depth)),
                    format!("_RNvC{}1a1f", "Ni1a".repeat(depth)),
                    format!("_RIC1a{}iE{}", "RTRI".repeat(depth), "E".repeat(depth)),
                ]
            })
            .collect();
        // Half of what a thread has by default.
        let thread = std::thread::Builder::new().stack_size(1024 * 1024);
        let lengths = thread.spawn(move || names.iter().map(|name| demangle(name).len()).min());
        assert!(lengths.unwrap().join().unwrap() > Some(300));
    }

    /// The name of a function whose every argument is twice as long as the one before.
    fn doubling_name(rounds: u32) -> String {
        let digit = |n: u32| char::from_digit(n, 36).map(|c| c.to_ascii_uppercase());
        let sequence = |n: u32| match (digit(n / 36), digit(n % 36)) {
            (Some('0'), Some(low)) => format!("{low}"),
            (Some(high), Some(low)) => format!("{high}{low}"),
            _ => String::new(),
        };
        let mut name = String::from("_Z1f1A1BIS_S_E");
        for round in 0..rounds {
            // `S_` is A, `S0_` is B, and from `S1_` on each is the argument before.
            let last = sequence(round + 1);
            name.push_str(&format!("S0_IS{last}_S{last}_E"));
        }
        name
    }
}
