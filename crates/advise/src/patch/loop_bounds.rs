//! How many elements a loop adds, in the words of the source: what its head counts to.
//!
//! A recording knows capacities, which are rounded up, and those of one input. What a reader would sign is the number that
//! the program has: the bound of the loop around the statement.

use super::Refusal;
use super::code::{Block, Code, Kind, Language, word};
use regex::Regex;
use std::ops::Range;

/// Calls that add one element each.
const ADDS_ONE: &str = "push_back|emplace_back|push";

/// How many elements the one statement at `at` adds to `object` in the loops around it that begin at `from` or later; and
/// where the outermost of these begins.
/// The error is a sentence for the user.
pub fn added(code: &Code, at: Range<usize>, object: &str, from: usize) -> Result<(String, usize), Refusal> {
    let blocks = code.blocks(at.start)?;
    let inside: Vec<&Block> = blocks.iter().take_while(|block| block.start >= from).collect();
    let Some(outermost) = inside.last().copied() else {
        return Err(
            format!("\"{object}\" grows in no loop of its own function: take the number where it is known").into()
        );
    };
    if inside.iter().any(|block| block.kind != Kind::Loop) || is_conditional(code, at.start) {
        return Err(format!("not each turn of the loop adds to \"{object}\": take the number where it is known").into());
    }
    let body = outermost.open..body_end(code, outermost, at.start);
    let leaves = regex(r"\b(?:break|continue|return|goto|throw)\b|\?\s*;")?;
    if leaves.is_match(&code.plain[body.clone()]) {
        return Err("the loop may end before its last turn: take the number where it is known".into());
    }
    let adds = regex(&format!(r"\b{}\s*(?:\.|->)\s*(?:{ADDS_ONE})\s*\(", regex::escape(object)))?;
    if adds.find_iter(&code.plain[body]).count() != 1 {
        return Err(format!("a turn of the loop does not add one element to \"{object}\"").into());
    }
    let mut counts: Vec<Turns> = Vec::new();
    for block in inside.iter().rev() {
        let head = &code.text[block.start..block.open];
        let turns = match code.language {
            Language::Rust => rust(head)?,
            Language::C | Language::Cxx => cxx(code, head)?,
        };
        let turns = turns.ok_or("the loop does not say how often it turns: take the number where it is known")?;
        let depends = |outer: &Turns| outer.variables.iter().any(|name| is_word_of(&turns.number, name));
        if counts.iter().any(depends) {
            return Err("how often the inner loop turns depends on the outer one".into());
        }
        counts.push(turns);
    }
    let number = match &counts[..] {
        [one] => one.number.clone(),
        all => all.iter().map(|turns| factor(&turns.number)).collect::<Vec<_>>().join(" * "),
    };
    Ok((number, outermost.start))
}

pub fn names_of(number: &str) -> Vec<&str> {
    let words = number.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '_')).collect()
}

struct Turns {
    number: String,
    /// What the head declares.
    variables: Vec<String>,
}

fn regex(pattern: &str) -> Result<Regex, Refusal> {
    Ok(Regex::new(pattern)?)
}

fn is_word_of(text: &str, name: &str) -> bool {
    names_of(text).contains(&name)
}

/// Where the loop's body ends, which has braces or is one statement.
fn body_end(code: &Code, block: &Block, at: usize) -> usize {
    let has_braces = code.plain[..block.open].ends_with('{');
    if has_braces { code.close(block.open) } else { code.end(at).unwrap_or(at) }
}

/// Whether a condition stands before a place in its own statement.
fn is_conditional(code: &Code, at: usize) -> bool {
    let statement = &code.plain[code.statement(at)..at];
    let mut words = statement.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| matches!(word, "if" | "else" | "switch" | "case" | "catch" | "match"))
        || ["?", "&&", "||", "=>"].iter().any(|condition| statement.contains(condition))
}

fn factor(number: &str) -> String {
    let is_simple = !number.contains([' ', '+', '-']) || number.starts_with('(');
    if is_simple { number.to_owned() } else { format!("({number})") }
}

/// What lies between two numbers, the second of which counts if `with_last`.
fn between(first: &str, last: &str, with_last: bool) -> String {
    let last = last.trim();
    let number = match first.trim() {
        "0" => last.to_owned(),
        first => format!("{last} - {first}"),
    };
    match with_last {
        true if first.trim() == "1" => last.to_owned(),
        true => format!("{number} + 1"),
        false => number,
    }
}

/// Whether an expression says the same before the loop, for all that is known: names, members, sizes and numbers.
fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "_.:->+*/ ()'<".contains(c);
    let Ok(calls) = Regex::new(r"([\w>]+)\s*\(") else { return false };
    let is_size = |call: &str| {
        matches!(call, "size" | "length" | "count" | "len" | "width" | "height" | "rows" | "cols")
            || call.ends_with('>')
    };
    let text = text.trim();
    !text.is_empty() && text.chars().all(allowed) && calls.captures_iter(text).all(|found| is_size(&found[1]))
}

fn cxx(code: &Code, head: &str) -> Result<Option<Turns>, Refusal> {
    let Some(head) = head.trim().strip_prefix("for").map(str::trim_start) else { return Ok(None) };
    let head = head.trim_end().trim_end_matches('{').trim_end();
    let Some(head) = head.strip_prefix('(').and_then(|head| head.strip_suffix(')')) else { return Ok(None) };
    let parts: Vec<&str> = head.split(';').collect();
    if let [first, condition, step] = parts[..] {
        let first = regex(r"^\s*(?:[\w:<>]+\s+)+?(\w+)\s*=\s*([\w.:>()-]+)\s*$")?.captures(first);
        let condition = regex(r"^\s*(\w+)\s*(<=|<|!=)\s*(.+?)\s*$")?.captures(condition);
        let step = regex(r"^\s*(?:\+\+\s*(\w+)|(\w+)\s*(?:\+\+|\+=\s*1))\s*$")?.captures(step);
        let (Some(first), Some(condition), Some(step)) = (first, condition, step) else { return Ok(None) };
        let variable = &first[1];
        let stepped = step.get(1).or(step.get(2)).map(|name| name.as_str());
        if &condition[1] != variable || stepped != Some(variable) || !is_plain(&condition[3]) {
            return Ok(None);
        }
        let number = between(&first[2], &condition[3], &condition[2] == "<=");
        return Ok(Some(Turns { number, variables: vec![variable.to_owned()] }));
    }
    // `auto& [a, b] : rows`
    let found = regex(r"^(.*[^:]):\s*([A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)*)\s*$")?.captures(head);
    let Some(found) = found.filter(|_| parts.len() == 1) else { return Ok(None) };
    let all = &found[2];
    let is_array = regex(&format!(r"\b{}\s*\[[^\]]*\]\s*[={{;]", regex::escape(all)))?.is_match(&code.plain);
    let number = if is_array { format!("std::size({all})") } else { format!("{all}.size()") };
    Ok(Some(Turns { number, variables: names_of(&found[1]).into_iter().map(str::to_owned).collect() }))
}

fn rust(head: &str) -> Result<Option<Turns>, Refusal> {
    let head = head.trim().trim_end_matches('{').trim();
    let found = regex(r"(?s)^(?:'\w+\s*:\s*)?for\s+(.+?)\s+in\s+(.+)$")?.captures(head);
    let Some(found) = found.filter(|_| word(head) != "while") else { return Ok(None) };
    let variables = names_of(&found[1]).into_iter().map(str::to_owned).collect();
    let range = regex(r"^([\w.]+?)\s*\.\.(=?)\s*(.+)$")?.captures(&found[2]);
    if let Some(range) = range {
        if !is_plain(&range[3]) {
            return Ok(None);
        }
        let number = between(&range[1], &range[3], &range[2] == "=");
        let is_literal = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
        let number = match () {
            () if is_literal || number.ends_with(".len()") => number,
            // Ranges are of any integer, capacities are not.
            () if number.contains(' ') => format!("({number}) as usize"),
            () => format!("{number} as usize"),
        };
        return Ok(Some(Turns { number, variables }));
    }
    let path = r"(?:&(?:mut\s+)?)?([A-Za-z_]\w*(?:\.\w+)*?)(?:\.(?:iter|iter_mut|into_iter)\(\))?";
    let found = regex(&format!("^{path}$"))?.captures(&found[2]);
    Ok(found.map(|found| Turns { number: format!("{}.len()", &found[1]), variables }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bounds of the line with `<--`, for loops behind the first `;`.
    fn said(language: Language, text: &str, object: &str) -> Result<String, Refusal> {
        let line = text.lines().position(|line| line.contains("<--")).expect("a marked line") as u32 + 1;
        let code = Code::new(text, language);
        let at = code.line(line).expect("code");
        let start = at.start + code.plain[at.clone()].find(&format!("{object}.")).expect("the object");
        added(&code, start..at.end, object, text.find(';').expect("a declaration")).map(|(number, _)| number)
    }

    fn cxx_loop(head: &str) -> Result<String, Refusal> {
        said(
            Language::Cxx,
            &format!("void f() {{\n  std::vector<int> v;\n  {head} v.push_back(1); // <--\n  return v;\n}}\n"),
            "v",
        )
    }

    #[test]
    fn loops_of_cxx_say_how_often_they_turn() {
        for (head, number) in [
            ("for (int i = 0; i < n; i++)", "n"),
            ("for (int i = 0; i < 500'000; ++i)", "500'000"),
            ("for (std::size_t i = 0; i != rows.size(); ++i)", "rows.size()"),
            ("for (int i = first; i <= last; i += 1)", "last - first + 1"),
            ("for (int i = 1; i <= n; ++i)", "n"),
            ("for (const auto& [key, value] : table)", "table.size()"),
            ("for (auto x : this->all)", "this->all.size()"),
            ("for (int i = 0; i < h; ++i) for (int j = 0; j < w + 1; ++j)", "h * (w + 1)"),
        ] {
            assert_eq!(cxx_loop(head).as_deref(), Ok(number), "{head}");
        }
    }

    #[test]
    fn what_loops_do_not_say_is_not_guessed() {
        for (head, why) in [
            ("while (more())", "does not say"),
            ("for (;;)", "does not say"),
            ("for (int i = 0; i < next(i); ++i)", "does not say"),
            ("for (int i = 0; i < n; i += 2)", "does not say"),
            ("for (auto x : make())", "does not say"),
            ("for (int i = 0; i < n; ++i) if (i % 3)", "not each turn"),
            ("for (auto& row : rows) for (int x : row)", "depends on the outer"),
            ("if (x)", "no loop"),
            ("for (int x : all) if (x)", "not each turn"),
            ("", "no loop"),
        ] {
            let found = cxx_loop(head);
            assert!(found.as_ref().is_err_and(|found| found.to_string().contains(why)), "{head}: {found:?}");
        }
        let leaves = "void f() {\n  std::vector<int> v;\n  for (int x : all) {\n    if (x > 9) break;\n    v.push_back(x); // <--\n  }\n}\n";
        assert!(said(Language::Cxx, leaves, "v").unwrap_err().to_string().contains("may end before"));
        let twice = "void f() {\n  std::vector<int> v;\n  for (int x : all) {\n    v.push_back(x); // <--\n    v.push_back(x);\n  }\n}\n";
        assert!(said(Language::Cxx, twice, "v").unwrap_err().to_string().contains("does not add one"));
        let text = "void f() {\n  std::string v;\n  for (int x : all) v.append(x); // <--\n}\n";
        assert!(said(Language::Cxx, text, "v").unwrap_err().to_string().contains("does not add one"));
    }

    #[test]
    fn arrays_have_their_size() {
        let text =
            "void f() {\n  std::vector<int> v;\n  int all[] = {1, 2};\n  for (int x : all) v.push_back(x); // <--\n}\n";
        assert_eq!(said(Language::Cxx, text, "v").as_deref(), Ok("std::size(all)"));
    }

    #[test]
    fn loops_of_rust_say_how_often_they_turn() {
        let rust_loop = |head: &str| {
            said(
                Language::Rust,
                &format!("fn f() {{\n  let mut v = Vec::new();\n  {head} {{ v.push(1); }} // <--\n}}\n"),
                "v",
            )
        };
        for (head, number) in [
            ("for x in &rows", "rows.len()"),
            ("for x in self.rows.iter()", "self.rows.len()"),
            ("for i in 0..rows.len()", "rows.len()"),
            ("for i in 0..1_000", "1_000"),
            ("for i in 0..n", "n as usize"),
            ("for i in first..=last", "(last - first + 1) as usize"),
        ] {
            assert_eq!(rust_loop(head).as_deref(), Ok(number), "{head}");
        }
        let text =
            "fn f() {\n  let mut v = Vec::new();\n  for y in 0..10 { for x in 0..20 { v.push(1); } } // <--\n}\n";
        assert_eq!(said(Language::Rust, text, "v").as_deref(), Ok("10 * 20"));
        for head in ["while let Some(x) = next()", "loop", "for x in make()", "for x in rows.iter().filter(|x| true)"] {
            assert!(rust_loop(head).is_err(), "{head}");
        }
    }
}
