//! What memory is filled with, in the words of the source.

use crate::patch::code::Code;
use regex::Regex;
use std::ops::Range;

/// Calls that fill memory, as the start of a pattern that ends before the opening parenthesis, and which of their arguments
/// is what they fill it with.
const FILLS: [(&str, Argument); 9] = [
    (r"\.\s*(?:fill|write_bytes)", Argument::First),
    (r"\bw?memset", Argument::Second),
    (r"\bfill(?:_n)?|\buninitialized_fill(?:_n)?", Argument::Last),
    (r"\.\s*(?:assign|resize)", Argument::SecondOrZero),
    (r"\bmake_(?:unique|shared)\s*<[^;(){}]*\[\]\s*>", Argument::SecondOrZero),
    (r"\bwrite_bytes", Argument::Second),
    (r"\b(?:vector|deque|basic_string)\s*<[^;{}()]*>(?:\s+\w+)?", Argument::SecondOrZero),
    (r"\b(?:u8|u16|u32|w)?string(?:\s+\w+)?", Argument::SecondOfTwo),
    (r"\.\s*emplace(?:_back|_front)?", Argument::SecondOfTwo), // of a container of containers
];

#[derive(Clone, Copy)]
enum Argument {
    First,
    Second,
    Last,
    /// Of a function that has others with the same name.
    SecondOfTwo,
    /// With one argument, which is a size, it fills with zeroes.
    SecondOrZero,
}

/// What the code of a line, or else its statement, fills memory with; nothing if it does not say.
pub fn value(code: &Code, line: Range<usize>) -> Option<String> {
    let whole = code.statement(line.start)..code.end(line.start).unwrap_or(line.end);
    [line, whole].into_iter().find_map(|part| in_part(code, part))
}

/// What the memory that a line asks for is filled with first, further down in its function.
pub fn value_behind(code: &Code, line: Range<usize>) -> Option<String> {
    let names = Regex::new(r"([A-Za-z_]\w*)\s*(?:=[^=]|\(|\{)").ok()?;
    let whole = code.statement(line.start)..code.end(line.start)?;
    let name = names.captures(&code.plain[whole.clone()])?.get(1)?.as_str().to_owned();
    let rest = whole.end..code.close(whole.end);
    let fills = r"\b(?:w?memset|fill(?:_n)?|uninitialized_fill(?:_n)?|write_bytes)\s*\(\s*&?";
    let pattern =
        Regex::new(&format!(r"{fills}{name}\b|\b{name}\s*(?:\.|->)\s*(?:fill|assign|write_bytes)\s*\(")).ok()?;
    let found = pattern.find(&code.plain[rest.clone()])?;
    let at = rest.start + found.start();
    in_part(code, at..code.end(at)?)
}

fn in_part(code: &Code, part: Range<usize>) -> Option<String> {
    // Rust's `vec![b'a'; n]`.
    let macros = Regex::new(r"\bvec!\s*\[").ok()?;
    if let Some(found) = macros.find(&code.plain[part.clone()]) {
        let open = part.start + found.end() - 1;
        if let Some([value, _]) = arguments(code, open, b';').as_deref() {
            return Some(value.clone());
        }
    }
    for (name, which) in FILLS {
        let calls = Regex::new(&format!(r"(?:{name})\s*[({{]")).ok()?;
        for found in calls.find_iter(&code.plain[part.clone()]) {
            let given = arguments(code, part.start + found.end() - 1, b',')?;
            let zero = "0".to_owned();
            let value = match which {
                Argument::First => given.first(),
                Argument::Second => given.get(1),
                Argument::Last => given.last().filter(|_| given.len() >= 2),
                Argument::SecondOrZero if given.len() == 1 => Some(&zero),
                Argument::SecondOfTwo | Argument::SecondOrZero => {
                    given.get(1).filter(|_| given.len() == 2 && !is_iterator(&given[1]))
                }
            };
            if let Some(value) = value {
                return Some(value.clone());
            }
        }
    }
    None
}

/// Whether two arguments are a range of other elements.
fn is_iterator(last: &str) -> bool {
    last.contains("end(") || last.contains(" + ") || last.starts_with('&')
}

/// What stands between the brackets that open at `open`, as the source has it.
fn arguments(code: &Code, open: usize, separator: u8) -> Option<Vec<String>> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0usize, open + 1);
    for (at, byte) in code.plain.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            _ if byte != separator || depth != 1 => continue,
            _ => {}
        }
        let is_end = depth == 0;
        if is_end || byte == separator && depth == 1 {
            found.push(code.text[from..at].trim().to_owned());
            from = at + 1;
        }
        if is_end {
            found.retain(|argument| !argument.is_empty());
            return Some(found);
        }
    }
    None
}

/// Whether a value is all bytes zero. A name may be anything, and its author means it.
pub fn is_zero(value: &str) -> bool {
    let pattern = r"(?x)^(?:
        [-+]?0[0']*(?:\.0*)?[fFuUlLzZ]*      # 0, 0.0f, 0ul
        |0[xXbB][0']+[uUlLzZ]*
        |0(?:_?[iu](?:8|16|32|64|128|size)|_?f(?:32|64))   # Rust's 0u8
        |0\.0(?:_?f(?:32|64))?
        |'\\0'|u?8?'\\0'|L'\\0'|b'\\0'
        |false|nullptr|NULL|None|Default::default\(\)
        |[A-Za-z_][\w:]*(?:<[^()]*>)?(?:\(\)|\{\})     # T(), T{}
        |\{\}
    )$";
    Regex::new(pattern).is_ok_and(|zero| zero.is_match(value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::code::Language;

    fn of(language: Language, line: &str) -> Option<String> {
        let text = format!("void f() {{\n  {line}\n}}\n");
        let code = Code::new(&text, language);
        value(&code, code.line(2).expect("code"))
    }

    #[test]
    fn what_fills_memory_is_read() {
        for (line, expected) in [
            ("auto* v = new std::vector<char>(1 << 20, 'a'); s += (*v)[i];", Some("'a'")),
            ("std::vector<std::vector<char>> v; v.emplace_back(1 << 20, 'a');", Some("'a'")),
            ("byName.emplace(name, std::vector<char>(n));", Some("0")),
            ("std::vector<std::pair<int, int>> v(n, {1, 2});", Some("{1, 2}")),
            ("std::vector<uint8_t> frame(1920 * 1080 * 4);", Some("0")),
            ("auto p = std::make_unique<char[]>(n);", Some("0")),
            ("std::vector<char> copy(all.begin(), all.end());", None),
            ("std::string line(80, '-');", Some("'-'")),
            ("memset(p, 0xff, n);", Some("0xff")),
            ("memset(frame.data(), f(x, 1), frame.size());", Some("f(x, 1)")),
            ("v.assign(n, -1);", Some("-1")),
            ("v.resize(n);", Some("0")),
            ("std::fill(v.begin(), v.end(), 7);", Some("7")),
            ("std::ranges::fill(v, 0);", Some("0")),
            ("std::fill_n(p, n, 1.5);", Some("1.5")),
            ("p = malloc(n);", None),
        ] {
            assert_eq!(of(Language::Cxx, line).as_deref(), expected, "{line}");
        }
        for (line, expected) in [
            ("let v = vec![b'a'; n];", Some("b'a'")),
            ("let v = vec![1, 2, 3];", None),
            ("v.resize(n, 0u8);", Some("0u8")),
            ("v.fill(x);", Some("x")),
            ("ptr.write_bytes(0xff, n);", Some("0xff")),
            ("std::ptr::write_bytes(p, 0, n);", Some("0")),
        ] {
            assert_eq!(of(Language::Rust, line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn fills_behind_the_allocation_are_read() {
        let of = |text: &str| {
            let text = format!("void f() {{\n  {text}\n}}\nvoid g() {{ memset(p, 1, n); }}\n");
            let code = Code::new(&text, Language::Cxx);
            value_behind(&code, code.line(2).expect("code"))
        };
        assert_eq!(
            of("char* p = (char*)malloc(n);\n  if (!p) return;\n  memset(p, 0xff, n);").as_deref(),
            Some("0xff")
        );
        assert_eq!(of("p = malloc(n);\n  memset(p, 0, n);").as_deref(), Some("0"));
        assert_eq!(of("auto v = make(n);\n  std::fill(v.begin(), v.end(), 7);").as_deref(), Some("7"));
        assert_eq!(of("p = malloc(n);\n  memset(q, 1, n);"), None);
        assert_eq!(of("p = malloc(n);"), None, "other functions fill something else");
    }

    #[test]
    fn zeroes_are_told_from_all_else() {
        for zero in
            ["0", "0x00", "0.0f", "'\\0'", "0u8", "0_i64", "false", "nullptr", "T()", "std::pair<int, int>{}", "{}"]
        {
            assert!(is_zero(zero), "{zero}");
        }
        for other in ["'a'", "1", "0xff", "c", "-1", "'0'", "0.5", "T(1)", "b'a'", "10", "f(x)"] {
            assert!(!is_zero(other), "{other}");
        }
    }
}
