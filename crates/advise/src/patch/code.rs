//! Source text as statements and blocks: brackets and semicolons, with comments and literals out of the way.

use super::Refusal;
use std::ops::Range;
use std::path::Path;

/// In what a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    /// C++.
    Cxx,
    Rust,
}

impl Language {
    /// Told by the file's name.
    pub fn of(path: &Path) -> Language {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("rs") => Language::Rust,
            Some("c") => Language::C,
            _ => Language::Cxx,
        }
    }
}

/// A file.
pub struct Code<'a> {
    pub text: &'a str,
    /// The same, byte for byte, with blanks for comments, literals and lines of the preprocessor.
    pub plain: String,
    pub language: Language,
}

/// What braces hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The body of a loop.
    Loop,
    /// Other statements of the same function.
    Statements,
    /// A function's or closure's body.
    Function,
}

/// A pair of braces, or the statement without braces that a loop repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Where the statement begins that it belongs to: `for` of a loop's body.
    pub start: usize,
    /// Where it opens: behind the brace, or behind the loop's head.
    pub open: usize,
    /// What it holds.
    pub kind: Kind,
}

impl<'a> Code<'a> {
    /// Looks at a text.
    pub fn new(text: &'a str, language: Language) -> Code<'a> {
        Code { text, plain: blanked(text, language), language }
    }

    /// Where the code of a line is, from 1; nothing if it has none.
    pub fn line(&self, number: u32) -> Option<Range<usize>> {
        let start = self.text.split_inclusive('\n').take(number.checked_sub(1)? as usize).map(str::len).sum::<usize>();
        let line = self.plain.get(start..)?.lines().next()?;
        let code = line.trim();
        let from = start + (line.len() - line.trim_start().len());
        (!code.is_empty()).then_some(from..from + code.len())
    }

    /// Where the statement begins that goes on at `at`.
    pub fn statement(&self, at: usize) -> usize {
        let bytes = self.plain.as_bytes();
        let mut depth = 0usize;
        let mut from = 0;
        for index in (0..at).rev() {
            match bytes[index] {
                b')' | b']' => depth += 1,
                b'(' | b'[' => depth = depth.saturating_sub(1),
                b';' | b'{' | b'}' if depth == 0 => {
                    from = index + 1;
                    break;
                }
                _ => {}
            }
        }
        let blanks = bytes[from..at].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        from + blanks
    }

    /// Where the statement ends that goes on at `at`: behind its semicolon.
    pub fn end(&self, at: usize) -> Option<usize> {
        let mut depth = 0usize;
        for (index, byte) in self.plain.bytes().enumerate().skip(at) {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
                b';' if depth == 0 => return Some(index + 1),
                _ => {}
            }
        }
        None
    }

    /// Where the braces close that are open at `at`.
    pub fn close(&self, at: usize) -> usize {
        let mut depth = 0usize;
        let found = self.plain.bytes().enumerate().skip(at).find(|(_, byte)| match byte {
            b'{' => {
                depth += 1;
                false
            }
            b'}' if depth == 0 => true,
            b'}' => {
                depth -= 1;
                false
            }
            _ => false,
        });
        found.map_or(self.plain.len(), |(index, _)| index)
    }

    /// The blocks around a place, from the inside out, up to the body of its function.
    pub fn blocks(&self, at: usize) -> Result<Vec<Block>, Refusal> {
        let mut blocks = Vec::new();
        let start = self.statement(at);
        // `for (...) statement;`
        if self.language != Language::Rust {
            self.loops_without_braces(start..at, &mut blocks);
        }
        let bytes = self.plain.as_bytes();
        let mut depth = 0usize;
        for index in (0..at).rev() {
            match bytes[index] {
                b'}' => depth += 1,
                b'{' if depth > 0 => depth -= 1,
                b'{' => {
                    let start = self.statement(index);
                    let (kind, rest) = self.head(&self.plain[start..index]);
                    let kind = if rest.is_empty() { kind } else { Kind::Function };
                    blocks.push(Block { start, open: index + 1, kind });
                    if kind == Kind::Function {
                        let is_function = match self.language {
                            Language::Rust => rest.contains("fn ") || rest.contains('|'),
                            Language::C | Language::Cxx => rest.contains('(') || rest.ends_with(']'),
                        };
                        return if is_function { Ok(blocks) } else { Err("its function is not recognized".into()) };
                    }
                }
                _ => {}
            }
        }
        Err("it is in no function".into())
    }

    /// Loops whose body is the statement that a part of the code leads to, from the inside out.
    fn loops_without_braces(&self, part: Range<usize>, into: &mut Vec<Block>) {
        let mut found = Vec::new();
        let mut start = part.start;
        while let Some(rest) = self.plain.get(start..part.end)
            && let "for" | "while" | "do" | "if" | "else" = word(rest)
        {
            let first = word(rest);
            let after = rest[first.len()..].trim_start();
            let behind = if matches!(first, "do" | "else") { Some(after) } else { parenthesized(after) };
            let Some(behind) = behind else { break };
            let open = part.end - behind.len();
            if matches!(first, "for" | "while" | "do") {
                found.push(Block { start, open, kind: Kind::Loop });
            }
            start = part.end - behind.trim_start().len();
        }
        into.extend(found.into_iter().rev());
    }

    /// What the beginning of a statement controls, and what is left of it behind that.
    fn head<'t>(&self, text: &'t str) -> (Kind, &'t str) {
        let mut rest = text.trim();
        let mut kind = Kind::Statements;
        if self.language == Language::Rust {
            while let Some(attribute) = rest.strip_prefix("#[") {
                rest = attribute.split_once(']').map_or("", |(_, rest)| rest.trim_start());
            }
            let unlabelled =
                rest.strip_prefix('\'').and_then(|rest| rest.split_once(':')).map_or(rest, |(_, rest)| rest);
            return match word(unlabelled.trim_start()) {
                "for" | "while" | "loop" => (Kind::Loop, ""),
                "if" | "else" | "match" | "unsafe" | "" => (kind, ""),
                _ if rest.ends_with("=>") => (kind, ""),
                _ => (kind, rest),
            };
        }
        loop {
            let first = word(rest);
            let after = rest[first.len()..].trim_start();
            let behind = match first {
                "else" | "try" => Some(after),
                "do" => {
                    kind = Kind::Loop;
                    Some(after)
                }
                "if" => parenthesized(after.strip_prefix("constexpr").unwrap_or(after).trim_start()),
                "switch" | "catch" => parenthesized(after),
                "for" | "while" => {
                    kind = Kind::Loop;
                    parenthesized(after)
                }
                "case" | "default" => after.split_once(':').map(|(_, rest)| rest),
                _ => None,
            };
            match behind {
                Some(behind) => rest = behind.trim_start(),
                None => return (kind, rest),
            }
        }
    }

    /// The indentation of a statement, if nothing stands before it in its line and a statement can be added there.
    pub fn indentation(&self, statement: usize) -> Result<&'a str, Refusal> {
        let line = self.text[..statement].rfind('\n').map_or(0, |index| index + 1);
        let before = &self.text[line..statement];
        let first = word(&self.plain[statement..]);
        let is_free = before.trim().is_empty()
            && !matches!(first, "else" | "case" | "default" | "catch")
            && (!first.is_empty() || self.plain[statement..].starts_with(['*', '\'']))
            && self.is_balanced(statement);
        if is_free { Ok(before) } else { Err("no statement can be added before it".into()) }
    }

    /// Whether no parenthesis is open since the brace around a place.
    fn is_balanced(&self, at: usize) -> bool {
        let mut depth = (0usize, 0usize); // parentheses, braces
        for byte in self.plain[..at].bytes().rev() {
            match byte {
                b'}' => depth.1 += 1,
                b'{' if depth.1 == 0 => return true,
                b'{' => depth.1 -= 1,
                b')' if depth.1 == 0 => depth.0 += 1,
                b'(' if depth.1 == 0 => match depth.0.checked_sub(1) {
                    Some(less) => depth.0 = less,
                    None => return false,
                },
                _ => {}
            }
        }
        true
    }
}

/// The word that a text begins with; empty if it begins with something else.
pub fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// What is behind a pair of parentheses at the beginning.
fn parenthesized(text: &str) -> Option<&str> {
    let mut depth = 0usize;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(&text[index + 1..]),
            b')' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The text, byte for byte, with blanks in place of comments, literals and lines of the preprocessor. What is not ASCII
/// becomes `x`.
fn blanked(text: &str, language: Language) -> String {
    let bytes = text.as_bytes();
    let mut plain = String::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = literal(bytes, at, language).unwrap_or(at);
        for byte in &bytes[at..end] {
            plain.push(if *byte == b'\n' { '\n' } else { ' ' });
        }
        if end == at {
            plain.push(if bytes[at].is_ascii() { char::from(bytes[at]) } else { 'x' });
        }
        at = end.max(at + 1);
    }
    plain
}

/// Where a comment, a literal or a line of the preprocessor ends that begins at `at`.
fn literal(bytes: &[u8], at: usize, language: Language) -> Option<usize> {
    let rest = &bytes[at..];
    let find = |what: &[u8], from: usize| {
        let found = bytes[from.min(bytes.len())..].windows(what.len()).position(|window| window == what);
        found.map_or(bytes.len(), |index| from + index + what.len())
    };
    let is_rust = language == Language::Rust;
    let before = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let prefix = &bytes[at - before..at];
    match rest {
        [b'/', b'/', ..] => Some(line_end(bytes, at, language)),
        [b'/', b'*', ..] => Some(find(b"*/", at + 2)),
        [b'#', ..] if !is_rust && is_first(bytes, at) => Some(line_end(bytes, at, language)),
        [b'"', ..] if !is_rust && prefix.ends_with(b"R") => {
            let open = rest.iter().position(|byte| *byte == b'(')?;
            let close = [b")", &rest[1..open], b"\""].concat();
            Some(find(&close, at + open))
        }
        [b'"' | b'#', ..] if is_rust && (prefix == b"r" || prefix == b"br") => {
            let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
            (rest.get(hashes) == Some(&b'"'))
                .then(|| find(&[b"\"".as_slice(), &b"#".repeat(hashes)].concat(), at + hashes + 1))
        }
        [b'"', ..] => Some(quoted(bytes, at)),
        // 500'000
        [b'\'', ..] if !is_rust && prefix.first().is_some_and(u8::is_ascii_digit) => None,
        // A lifetime.
        [b'\'', first, second, ..] if is_rust && *first != b'\\' && *second != b'\'' && first.is_ascii() => None,
        [b'\'', ..] => Some(quoted(bytes, at)),
        _ => None,
    }
}

fn quoted(bytes: &[u8], at: usize) -> usize {
    let mut index = at + 1;
    while index < bytes.len() && bytes[index] != bytes[at] {
        index += if bytes[index] == b'\\' { 2 } else { 1 };
    }
    (index + 1).min(bytes.len())
}

/// The end of a line, which a backslash continues in C and C++.
fn line_end(bytes: &[u8], at: usize, language: Language) -> usize {
    let ends = |index: &usize| bytes[*index] == b'\n' && (language == Language::Rust || bytes[index - 1] != b'\\');
    (at + 1..bytes.len()).find(ends).unwrap_or(bytes.len())
}

fn is_first(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|byte| **byte != b'\n').all(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_code_is_blank() {
        for (language, text, expected) in [
            (Language::Cxx, "a(\"{\\\"\"); // {\nb", "a(     );     \nb"),
            (Language::Cxx, "x = 1'000; y = '{';", "x = 1'000; y =    ;"),
            (Language::Cxx, "R\"--({)--\" + /* { */ 1", "R          +         1"),
            (Language::Cxx, "#define A { \\\n {\nf();", "             \n  \nf();"),
            (Language::Rust, "fn f<'a>(x: &'a str) { '{' }", "fn f<'a>(x: &'a str) {     }"),
            (Language::Rust, "r#\"{\"\"# ; \"\\\"{\"", "r       ;      "),
        ] {
            let plain = blanked(text, language);
            assert_eq!((plain.len(), plain.as_str()), (text.len(), expected), "{text}");
        }
    }

    #[test]
    fn blocks_are_found_from_the_inside_out() {
        let text =
            "namespace n {\nvoid f(int a) noexcept {\n if (a) for (;;) { do { while (a) g(HERE); } while (b); } } }";
        let code = Code::new(text, Language::Cxx);
        let kinds: Vec<Kind> =
            code.blocks(text.find("HERE").unwrap()).unwrap().iter().map(|block| block.kind).collect();
        assert_eq!(kinds, [Kind::Loop, Kind::Loop, Kind::Loop, Kind::Function]);
        let text = "void f() { run([&](int a) { if (a) { HERE; } }); }";
        let blocks = Code::new(text, Language::Cxx).blocks(text.find("HERE").unwrap()).unwrap();
        assert_eq!(blocks.len(), 2, "{blocks:?}");
        let text = "impl A { fn f(&self) { for x in y { match x { 1 => { HERE; } } } } }";
        let blocks = Code::new(text, Language::Rust).blocks(text.find("HERE").unwrap()).unwrap();
        assert_eq!(blocks.iter().filter(|block| block.kind == Kind::Loop).count(), 1, "{blocks:?}");
        assert_eq!(blocks.last().unwrap().kind, Kind::Function);
        let text = "#[inline(never)]\nfn f() { for x in y { HERE; } }";
        let blocks = Code::new(text, Language::Rust).blocks(text.find("HERE").unwrap()).unwrap();
        assert_eq!(blocks.iter().map(|block| block.kind).collect::<Vec<_>>(), [Kind::Loop, Kind::Function]);
    }
}
