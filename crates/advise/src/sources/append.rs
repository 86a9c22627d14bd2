//! `s = s + x`: the string that is copied, by the name that the source has.

use crate::finding::Finding;
use crate::patch::code::{Code, Language};
use crate::rules::RuleId;
use regex::Regex;
use std::ops::Range;

/// The line with `+=` in place of `s = s + x`, of a finding about that.
pub fn snippet(finding: &Finding, code: &Code, line: Range<usize>) -> Option<String> {
    if finding.rule != RuleId::Append {
        return None;
    }
    let whole = code.statement(line.start)..code.end(line.start).unwrap_or(line.end);
    [line, whole].into_iter().find_map(|part| appended(code, part))
}

fn appended(code: &Code, part: Range<usize>) -> Option<String> {
    let assigned = Regex::new(r"([A-Za-z_][\w.]*(?:->\w+)*)\s*=\s*([A-Za-z_][\w.]*(?:->\w+)*)\s*\+").ok()?;
    let found = assigned.captures_iter(&code.plain[part.clone()]).find(|found| found[1] == found[2])?;
    let name = &code.text[part.start + found.get(1)?.start()..part.start + found.get(1)?.end()];
    let from = part.start + found.get(0)?.end();
    let end = code.end(from)?;
    let parts = summands(code, from..end - 1);
    let reference = if code.language == Language::Rust { "&" } else { "" };
    Some(parts.iter().map(|part| format!("{name} += {reference}{part};")).collect::<Vec<_>>().join(" "))
}

/// What is added, one after the other.
fn summands<'c>(code: &'c Code, part: Range<usize>) -> Vec<&'c str> {
    let mut found = Vec::new();
    let (mut depth, mut from) = (0usize, part.start);
    for at in part.clone() {
        match code.plain.as_bytes()[at] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'+' if depth == 0 => {
                found.push(code.text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(code.text[from..part.end].trim());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        let text = format!("void f() {{\n  {line}\n}}\n");
        let code = Code::new(&text, Language::Cxx);
        appended(&code, code.line(2).expect("code"))
    }

    #[test]
    fn the_real_names_are_used() {
        let loop_of = "for (int i = 0; i < n; i++) s = s + std::to_string(i) + \",\";";
        assert_eq!(of(loop_of).as_deref(), Some("s += std::to_string(i); s += \",\";"));
        assert_eq!(of("this->text = this->text + f(a + b);").as_deref(), Some("this->text += f(a + b);"));
        assert_eq!(of("s = t + x;"), None);
        assert_eq!(of("s += x;"), None);
    }
}
