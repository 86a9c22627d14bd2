//! Settings of glibc's malloc, first thing in `main`.

use super::Edit;
use super::Refusal;
use super::code::{Code, Language};
use regex::Regex;
use std::ops::Range;

/// The change of the `main` around the code of this line.
pub fn edits(code: &Code, line: Range<usize>, options: &[(&'static str, String)]) -> Result<Vec<Edit>, Refusal> {
    let headers = match code.language {
        Language::Rust => return Err("Rust has no mallopt: set GLIBC_TUNABLES, as the snippet says".into()),
        Language::C => ["limits.h", "malloc.h"],
        Language::Cxx => ["climits", "malloc.h"],
    };
    let main = Regex::new(r"\bmain\s*\([^()]*\)\s*(?:noexcept\s*)?\{")?;
    let found: Vec<_> = main.find_iter(&code.plain).filter(|found| found.end() <= line.end).collect();
    let [.., main] = found.as_slice() else { return Err("cannot find main in this file".into()) };
    if code.close(main.end()) < line.start {
        return Err("this line is not inside main".into());
    }
    if let Some((known, _)) = code.plain.contains("mallopt").then_some(options).and_then(<[_]>::first) {
        return Err(format!("the file calls mallopt already: add {known} there").into());
    }
    let calls: Vec<String> = options.iter().map(|(name, value)| format!("mallopt({name}, {value});")).collect();
    let inner = code.text[main.end()..].lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indentation: String = inner.chars().take_while(|c| c.is_whitespace()).collect();
    let indentation = if indentation.is_empty() { "    ".to_owned() } else { indentation };
    let missing: String = headers
        .iter()
        .filter(|header| !code.text.contains(&format!("#include <{header}>")))
        .map(|header| format!("#include <{header}>\n"))
        .collect();
    Ok(vec![
        Edit::insert(last_include(code.text), missing),
        Edit::insert(main.end(), format!("\n{indentation}{}", calls.join(&format!("\n{indentation}")))),
    ])
}

/// Behind the last of the includes that no condition guards; the file's beginning if there is none.
fn last_include(text: &str) -> usize {
    let (mut depth, mut at, mut last) = (0usize, 0, 0);
    for line in text.split_inclusive('\n') {
        at += line.len();
        let directive = line.trim_start().strip_prefix('#').map(str::trim_start).unwrap_or_default();
        match super::code::word(directive) {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" => depth = depth.saturating_sub(1),
            "include" if depth == 0 => last = at,
            _ => {}
        }
    }
    last
}
