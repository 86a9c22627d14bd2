//! One spelling for the names of types.
//!
//! A demangled name says `std::array<char const*, 3ul>` where GCC's debug information says `array<const char*, 3>` in
//! `std`, and blanks are set as every tool pleases.

/// Longest name that is looked at, in bytes.
const LONGEST: usize = 64 * 1024;

/// How deep brackets may be nested; what bounds it is the stack, one call for each level.
const DEEPEST: usize = 256;

/// What stands for an unnamed namespace.
pub(crate) const UNNAMED_NAMESPACE: &str = "(anonymous namespace)";

/// Template arguments that Rust's mangling leaves out and its debug information does not.
const RUST_DEFAULTS: &[&str] = &["alloc::alloc::Global", "std::hash::random::RandomState"];

/// The name of a type in the one spelling: without blanks that separate nothing, `const` after what it belongs to,
/// `unsigned long` for `long unsigned int`, `3` for `3ul`, without `struct`. `None` if brackets do not match.
pub(crate) fn canonical(text: &str) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let mut parser = Parser { rest: text };
    let name = parser.segment(0)?;
    (parser.peek().is_none() && !name.is_empty()).then_some(name)
}

/// The parts of a canonical name: `a::B<c::D>::E` is `E` in `B<c::D>` in `a`. A name that is not one of a declared type,
/// such as `&a::B`, is one part.
pub(crate) fn parts(canonical: &str) -> Vec<&str> {
    let named =
        canonical.starts_with(|c: char| is_word_char(c) || c == '{') || canonical.starts_with(UNNAMED_NAMESPACE);
    if !named {
        return vec![canonical];
    }
    let bytes = canonical.as_bytes();
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0usize);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at >= start && bytes.get(at + 1) == Some(&b':') => {
                parts.push(&canonical[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    parts.push(&canonical[start..]);
    parts
}

fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '\'' | '#') || !c.is_ascii()
}

#[derive(Clone, Copy, PartialEq)]
enum Token<'a> {
    Word(&'a str),
    Mark(&'a str),
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    /// The next token and how many bytes it takes.
    fn token(&self) -> Option<(Token<'a>, &'a str)> {
        let rest = self.rest.trim_start();
        for unnamed in [UNNAMED_NAMESPACE, "{anonymous}"] {
            if let Some(after) = rest.strip_prefix(unnamed) {
                return Some((Token::Word(UNNAMED_NAMESPACE), after));
            }
        }
        let first = rest.chars().next()?;
        let (token, length) = if is_word_char(first) {
            let length = rest.find(|c| !is_word_char(c)).unwrap_or(rest.len());
            (Token::Word(&rest[..length]), length)
        } else if first == '{' {
            // `{lambda(int)#1}`, `{impl#0}`: a name of its own.
            let length = braces(rest)?;
            (Token::Word(&rest[..length]), length)
        } else {
            let two = rest.starts_with("::") || rest.starts_with("->");
            let length = if two { 2 } else { first.len_utf8() };
            (Token::Mark(&rest[..length]), length)
        };
        Some((token, &rest[length..]))
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.token().map(|(token, _)| token)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let (token, rest) = self.token()?;
        self.rest = rest;
        Some(token)
    }

    /// What is between two commas or brackets.
    fn segment(&mut self, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let mut out = Segment::default();
        while let Some(token) = self.peek() {
            if matches!(token, Token::Mark("," | ">" | ")" | "]")) {
                break;
            }
            self.next();
            match token {
                Token::Word("struct" | "class" | "union" | "enum" | "typename")
                    if matches!(self.peek(), Some(Token::Word(_))) => {}
                Token::Word("const") if out.text.is_empty() => out.is_const = true,
                Token::Word("volatile") if out.text.is_empty() => out.is_volatile = true,
                Token::Word(word) if is_number_word(word) => {
                    let number = self.number_type(word, &mut out);
                    out.word(&number);
                }
                Token::Word(word) => out.word(literal(word)),
                Token::Mark("<") => out.list('<', self.list(">", depth)?, '>'),
                Token::Mark("[") => out.list('[', self.list("]", depth)?, ']'),
                Token::Mark("(") => {
                    let list = self.list(")", depth)?;
                    if !(out.text.is_empty() && self.is_literal_next()) {
                        out.list('(', list, ')');
                    }
                }
                Token::Mark("::") if out.text.is_empty() => {}
                Token::Mark(mark) => out.mark(mark),
            }
        }
        Some(out.finish())
    }

    /// After `(Color)` in `(Color)1`: the value alone is in the name, whatever its type.
    fn is_literal_next(&self) -> bool {
        match self.peek() {
            Some(Token::Word(word)) => word.starts_with(|c: char| c.is_ascii_digit()),
            Some(Token::Mark(mark)) => mark == "-",
            None => false,
        }
    }

    /// The segments up to a closing bracket, which is taken as well.
    fn list(&mut self, close: &str, depth: usize) -> Option<String> {
        let mut all = String::new();
        let mut index = 0;
        loop {
            let segment = self.segment(depth + 1)?;
            if index == 0 || !RUST_DEFAULTS.contains(&segment.as_str()) {
                if index > 0 {
                    all.push(',');
                }
                all += &segment;
            }
            index += 1;
            match self.next()? {
                Token::Mark(",") => {}
                Token::Mark(mark) if mark == close => return Some(all),
                _ => return None,
            }
        }
    }

    /// `long unsigned int` and its like, of which `first` is taken already.
    fn number_type(&mut self, first: &str, out: &mut Segment) -> String {
        let mut words = vec![first];
        while let Some(Token::Word(word)) = self.peek() {
            match word {
                "const" => out.is_const = true,
                "volatile" => out.is_volatile = true,
                _ if is_number_word(word) => words.push(word),
                _ => break,
            }
            self.next();
        }
        let has = |word: &str| words.contains(&word);
        let longs = words.iter().filter(|word| **word == "long").count();
        let base = match () {
            () if has("char") => "char",
            () if has("double") && longs > 0 => "long double",
            () if has("double") => "double",
            () if has("__int128") => "__int128",
            () if has("short") => "short",
            () if longs > 1 => "long long",
            () if longs > 0 => "long",
            () => "int",
        };
        match base {
            _ if has("unsigned") => format!("unsigned {base}"),
            "char" if has("signed") => "signed char".to_string(),
            _ => base.to_string(),
        }
    }
}

/// Length of the text in braces at the start.
fn braces(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn is_number_word(word: &str) -> bool {
    matches!(word, "unsigned" | "signed" | "long" | "short" | "int" | "char" | "double" | "__int128")
}

/// A number without the letters that tell its type.
fn literal(word: &str) -> &str {
    if word.starts_with(|c: char| c.is_ascii_digit()) { word.trim_end_matches(['u', 'U', 'l', 'L']) } else { word }
}

/// Text of a segment so far.
#[derive(Default)]
struct Segment {
    text: String,
    /// Whether a `const` that was read has yet to be written, behind the type.
    is_const: bool,
    is_volatile: bool,
}

impl Segment {
    fn word(&mut self, word: &str) {
        let glued = self.text.is_empty() || self.text.ends_with(['<', '(', '[', ',', ':', '&', '*', '-', ';']);
        if !glued {
            self.text.push(' ');
        }
        self.text += word;
    }

    fn mark(&mut self, mark: &str) {
        if matches!(mark, "*" | "&") {
            self.qualify();
        }
        self.text += mark;
    }

    fn list(&mut self, open: char, list: String, close: char) {
        if open != '<' && !self.text.is_empty() {
            self.qualify();
        }
        // Rust's `&mut [u8]` and `*const (u8, u8)`.
        if open != '<' && (self.text.ends_with("mut") || self.text.ends_with("const")) {
            self.text.push(' ');
        }
        self.text.push(open);
        self.text += &list;
        self.text.push(close);
    }

    fn qualify(&mut self) {
        if std::mem::take(&mut self.is_const) {
            self.text += " const";
        }
        if std::mem::take(&mut self.is_volatile) {
            self.text += " volatile";
        }
    }

    fn finish(mut self) -> String {
        self.qualify();
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, parts};

    #[test]
    fn spellings_of_one_type_are_one() {
        let cases = [
            ("std::array<char const*, 3ul>", "std::array<const char*, 3>", "std::array<char const*,3>"),
            ("A<B<C> >", "A<B<C>>", "A<B<C>>"),
            ("n::Deep<unsigned long, 5>", "struct n::Deep<long unsigned int, 5>", "n::Deep<unsigned long,5>"),
            ("f<unsigned long long const&>", "f<const long long unsigned int &>", "f<unsigned long long const&>"),
            ("(anonymous namespace)::Hidden", "{anonymous}::Hidden", "(anonymous namespace)::Hidden"),
            ("T<(unsigned char)5>", "T<5>", "T<5>"),
            ("T<(n::Color)-1>", "T<-1>", "T<-1>"),
            ("void (*)(int)", "void(*)(int)", "void(*)(int)"),
            ("::a::B", "a::B", "a::B"),
            ("alloc::vec::Vec<u8>", "alloc::vec::Vec<u8, alloc::alloc::Global>", "alloc::vec::Vec<u8>"),
            ("&mut [u8; 4]", "&mut [u8;4]", "&mut [u8;4]"),
            ("*const  u8", "*const u8", "*const u8"),
            ("Foo<short> const", "const Foo<short int>", "Foo<short> const"),
            ("signed char", "signed char", "signed char"),
        ];
        for (left, right, expected) in cases {
            assert_eq!(canonical(left).as_deref(), Some(expected), "{left}");
            assert_eq!(canonical(right).as_deref(), Some(expected), "{right}");
        }
    }

    #[test]
    fn what_is_not_a_name_is_refused() {
        let deep = "<".repeat(100_000);
        let closed = format!("{}{}", "a<".repeat(1000), ">".repeat(1000));
        for text in ["", " ", "a<b", "a>", "a<b)", "{", &deep, &closed] {
            assert_eq!(canonical(text), None);
        }
    }

    #[test]
    fn parts_of_names() {
        assert_eq!(parts("a::B<c::D>::E"), ["a", "B<c::D>", "E"]);
        assert_eq!(parts("(anonymous namespace)::H"), ["(anonymous namespace)", "H"]);
        assert_eq!(parts("r::{impl#0}::T"), ["r", "{impl#0}", "T"]);
        assert_eq!(parts("&a::B"), ["&a::B"]);
        assert_eq!(parts("(a::B,u8)"), ["(a::B,u8)"]);
    }
}
