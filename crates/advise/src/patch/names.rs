//! Which object a statement is about, and where that is declared.

use super::Refusal;
use super::code::{Block, Code, Kind, Language};
use regex::Regex;
use std::ops::Range;

/// Calls that add to a container or a string.
const ADDS: &str =
    "push_back|emplace_back|push_front|push|push_str|insert|emplace|try_emplace|append|resize|extend|extend_from_slice";

/// An object that a statement adds to: `items`, `this->rows`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    /// As the source has it.
    pub path: &'a str,
    /// What joins a member to it: `.` or `->`.
    pub join: &'a str,
}

impl Object<'_> {
    /// The name that has to be declared.
    pub fn base(&self) -> &str {
        super::code::word(self.path)
    }

    /// Whether it is a name and no member of something.
    pub fn is_simple(&self) -> bool {
        self.base() == self.path
    }
}

fn regex(pattern: &str) -> Result<Regex, Refusal> {
    Ok(Regex::new(pattern)?)
}

/// The one object that the code of a line, or else its statement, adds to.
pub fn object<'a>(code: &'a Code, line: Range<usize>) -> Result<Object<'a>, Refusal> {
    const PATH: &str = r"([A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*)";
    let calls = regex(&format!(r"{PATH}\s*(\.|->)\s*(?:{ADDS})\s*\("))?;
    let adds = regex(&format!(r"{PATH}\s*\+="))?;
    let whole = code.statement(line.start)..code.end(line.start).unwrap_or(line.end);
    for part in [line, whole] {
        let mut found: Vec<Object> = Vec::new();
        let text = &code.plain[part.clone()];
        let called = calls.captures_iter(text).filter_map(|found| Some((found.get(1)?, found.get(2)?.as_str())));
        let added = adds.captures_iter(text).filter_map(|found| Some((found.get(1)?, ".")));
        for (path, join) in called.chain(added) {
            // The end of a longer expression is no name: `make().items`.
            let before = code.plain[..part.start + path.start()].trim_end();
            let object = Object { path: path.as_str(), join };
            if ![".", "->", "::"].iter().any(|join| before.ends_with(join)) && !found.contains(&object) {
                found.push(object);
            }
        }
        match found.as_slice() {
            [] => {}
            [object] => return Ok(object.clone()),
            _ => return Err("it adds to more than one object".into()),
        }
    }
    Err("no object with a name is added to in this line".into())
}

/// Where the code of a line, or else its statement, begins to add to an object.
pub fn position(code: &Code, line: Range<usize>, object: &Object) -> Result<usize, Refusal> {
    let adds = regex(&format!(r"\b{}\s*(?:\+=|(?:\.|->)\s*(?:{ADDS})\s*\()", regex::escape(object.path)))?;
    let whole = code.statement(line.start)..code.end(line.start).unwrap_or(line.end);
    let found =
        [line.clone(), whole].into_iter().find_map(|part| Some(part.start + adds.find(&code.plain[part])?.start()));
    Ok(found.unwrap_or(line.start))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Where its statement is, the semicolon with it.
    pub at: Range<usize>,
    pub name_end: usize,
}

/// The declaration of a local object that is seen at `at`: the innermost one. `before` is what stands before the name: a
/// pattern.
pub fn declaration(
    code: &Code,
    name: &str,
    before: &str,
    at: usize,
    blocks: &[Block],
) -> Result<Option<Declaration>, Refusal> {
    let Some(function) = blocks.last() else { return Ok(None) };
    // Names that follow a type in the same statement begin nowhere else.
    let pattern = regex(&format!(r"\b{before}{}\b", regex::escape(name)))?;
    let mut latest = None;
    let mut from = function.open;
    while let Some(found) = pattern.find_at(&code.plain, from).filter(|found| found.start() <= at) {
        from = found.start() + 1;
        let statement = code.statement(found.start());
        let is_whole = statement == found.start();
        let is_declared = code.plain[found.end()..].trim_start().starts_with([';', '(', '{', '=', ',', ':']);
        // What is in a block that ends before is not seen.
        let is_seen = code.close(found.end()) >= at;
        if let (true, true, true, Some(end)) = (is_whole, is_declared, is_seen, code.end(found.end())) {
            latest = Some(Declaration { at: statement..end, name_end: found.end() });
        }
    }
    Ok(latest)
}

/// Whether a name may be declared somewhere in a part of the code.
pub fn may_be_declared(code: &Code, part: Range<usize>, name: &str) -> Result<bool, Refusal> {
    let name = regex::escape(name);
    let pattern = match code.language {
        Language::Rust => format!(r"\b(?:let|for|Some|Ok|Err|mut|ref)\b[^;={{}}]*\b{name}\b|\|[^|]*\b{name}\b[^|]*\|"),
        Language::C | Language::Cxx => {
            format!(r"(\w+|>)(?:\s+|\s*[&*]+\s*){name}\s*[;=({{:,)\[]|\[[^\]]*\b{name}\b[^\]]*\]\s*[:=]")
        }
    };
    const NO_TYPES: [&str; 10] = ["return", "throw", "else", "delete", "new", "case", "co_return", "and", "or", "not"];
    let pattern = regex(&pattern)?;
    let mut found = pattern.captures_iter(&code.plain[part]);
    Ok(found.any(|found| found.get(1).is_none_or(|before| !NO_TYPES.contains(&before.as_str()))))
}

/// How often a name is used in a part of the code.
pub fn uses(code: &Code, part: Range<usize>, name: &str) -> Result<usize, Refusal> {
    Ok(regex(&format!(r"\b{}\b", regex::escape(name)))?.find_iter(&code.plain[part]).count())
}

/// The outermost loop of a function.
pub fn outermost_loop(blocks: &[Block]) -> Option<&Block> {
    blocks.iter().rfind(|block| block.kind == Kind::Loop)
}
