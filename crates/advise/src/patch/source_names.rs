//! A snippet with the names that the source has.

use super::Refusal;
use super::code::Code;
use super::hoisted_buffer::declared;
use super::names::{Object, object};
use crate::finding::Called;
use regex::{NoExpand, Regex};
use std::ops::Range;

/// The snippet, with what the code of this line calls the object.
pub fn named(snippet: &str, called: Called, code: &Code, line: Range<usize>) -> Result<String, Refusal> {
    match called {
        Called::Filled(word) => Ok(renamed(snippet, word, &object(code, line)?)),
        Called::Made(word) => {
            let (name, _) = declared(code, line)?;
            Ok(renamed(snippet, word, &Object { path: &name, join: "." }))
        }
    }
}

fn renamed(snippet: &str, word: &str, object: &Object) -> String {
    let word = regex::escape(word);
    let replaced = |text: &str, pattern: &str, by: &str| match Regex::new(pattern) {
        Ok(pattern) => pattern.replace_all(text, NoExpand(by)).into_owned(),
        Err(_) => text.to_owned(),
    };
    // Comments speak of no names.
    let lines = snippet.lines().map(|line| {
        let (code, comment) = line.split_at(line.find("//").unwrap_or(line.len()));
        let members = replaced(code, &format!(r"\b{word}\."), &format!("{}{}", object.path, object.join));
        replaced(&members, &format!(r"\b{word}\b"), object.path) + comment
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::code::Language;
    use super::*;

    fn name(snippet: &str, called: Called, language: Language, text: &str) -> Result<String, Refusal> {
        let line = text.lines().position(|line| line.contains("<--")).expect("a marked line") as u32 + 1;
        let code = Code::new(text, language);
        let line = code.line(line).expect("a line with code");
        named(snippet, called, &code, line)
    }

    #[test]
    fn a_container_has_the_name_that_it_is_filled_by() {
        let snippet = "items.reserve(9); // before the first push_back of items";
        let reserve = |line: &str| {
            let text = format!("void f() {{\n  for (auto& x : all)\n    {line} // <--\n}}\n");
            name(snippet, Called::Filled("items"), Language::Cxx, &text)
        };
        let expected = |start: &str| Ok(format!("{start}reserve(9); // before the first push_back of items"));
        assert_eq!(reserve("rows.push_back(x);"), expected("rows."));
        assert_eq!(reserve("this->list_->rows.emplace_back(x);"), expected("this->list_->rows."));
        assert_eq!(reserve("edge->ins.push_back(x);"), expected("edge->ins."));
        assert_eq!(reserve("out->push_back(x);"), expected("out->"));
        assert!(reserve("a.push_back(b.insert(x));").is_err());
    }

    #[test]
    fn an_object_has_the_name_that_it_is_made_by() {
        let snippet = "// outside of the loop\nstd::vector<char> items;\n// inside: keeps its memory\nitems.clear();";
        let text = "void f() {\n  while (x) {\n    std::vector<char> row(n); // <--\n    use(row);\n  }\n}\n";
        let found = name(snippet, Called::Made("items"), Language::Cxx, text).unwrap();
        assert_eq!(found, "// outside of the loop\nstd::vector<char> row;\n// inside: keeps its memory\nrow.clear();");
        let text = "fn f() {\n  loop {\n    let mut line = String::new();\n    line.push_str(x); // <--\n  }\n}\n";
        let found = name("let mut text = String::new();", Called::Made("text"), Language::Rust, text).unwrap();
        assert_eq!(found, "let mut line = String::new();");
    }
}
