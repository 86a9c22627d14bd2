//! Leaks that are known and shall not be told: suppressions in the format of LeakSanitizer.
//!
//! A line is `leak:PATTERN`, empty, or a comment that begins with `#`. A block is suppressed if the pattern matches the name of a
//! function, a source file or a loaded file anywhere in the stack that allocated it. A pattern matches anywhere in a name; `*` stands
//! for any characters, `^` at its beginning and `$` at its end tie it to those of the name.

use crate::frames::Frames;
use crate::ids::StackId;
use crate::stack_tree::StackTree;
use rustc_hash::FxHashMap;

/// What is suppressed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressions {
    patterns: Vec<String>,
}

/// A line that is no suppression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number} is \"{line}\": expected leak:PATTERN, an empty line, or a comment that begins with #")]
pub struct NoSuppression {
    /// Its number, from 1.
    pub number: usize,
    pub line: String,
}

impl Suppressions {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Suppressions, NoSuppression> {
        let mut patterns = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            match line.strip_prefix("leak:") {
                Some(pattern) => patterns.push(pattern.to_owned()),
                None if line.is_empty() || line.starts_with('#') => {}
                None => return Err(NoSuppression { number: index + 1, line: line.to_owned() }),
            }
        }
        Ok(Suppressions { patterns })
    }

    fn matches(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| matches(pattern, name))
    }

    /// By stack node: whether its stack is suppressed.
    pub(crate) fn suppressed(&self, stacks: &StackTree, frames: &Frames) -> Suppressed {
        let mut known = FxHashMap::default();
        let mut of_frame = |id| {
            *known.entry(id).or_insert_with(|| {
                let frame = frames.frame(id);
                let names = [Some(frame.function), frame.file, Some(frame.module)];
                names.into_iter().flatten().any(|name| self.matches(frames.text(name)))
            })
        };
        let mut all = vec![false; stacks.len()];
        // Callers have smaller numbers.
        for id in stacks.ids().filter(|id| !id.is_root()) {
            let node = stacks.node(id);
            all[id.index()] = all[node.parent.index()] || frames.chain(&node).iter().any(|frame| of_frame(*frame));
        }
        Suppressed(all)
    }
}

/// Which stacks are suppressed.
#[derive(Default)]
pub(crate) struct Suppressed(Vec<bool>);

impl Suppressed {
    pub fn has(&self, id: StackId) -> bool {
        self.0.get(id.index()).copied().unwrap_or(false)
    }
}

/// Whether a pattern matches a name: as LeakSanitizer does (compiler-rt, TemplateMatch).
fn matches(pattern: &str, name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let (mut pattern, mut is_tied) = match pattern.strip_prefix('^') {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let (mut name, mut is_any) = (name, false);
    while !pattern.is_empty() {
        if let Some(rest) = pattern.strip_prefix('*') {
            (pattern, is_tied, is_any) = (rest, false, true);
            continue;
        }
        if pattern.starts_with('$') {
            return name.is_empty() || is_any;
        }
        let (words, rest) = pattern.split_at(pattern.find(['*', '$']).unwrap_or(pattern.len()));
        let Some(at) = name.find(words) else { return false };
        if is_tied && at > 0 || name.is_empty() {
            return false;
        }
        name = &name[at + words.len()..];
        (pattern, is_tied, is_any) = (rest, false, false);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_those_of_leak_sanitizer() {
        let cases = [
            ("lose", "lose_list", true),
            ("list", "lose_list", true),
            ("^list", "lose_list", false),
            ("^lose", "lose_list", true),
            ("lose$", "lose_list", false),
            ("list$", "lose_list", true),
            ("^lose_list$", "lose_list", true),
            ("lo*st", "lose_list", true),
            ("^lo*li$", "lose_list", false),
            ("lo*$", "lose_list", true),
            ("*", "lose_list", true),
            ("", "lose_list", true),
            ("lose", "", false),
            ("std::*push_back", "std::vector<int>::push_back(int&&)", true),
            ("libfoo.so", "/usr/lib/libfoo.so.1", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} of {name}");
        }
    }

    #[test]
    fn a_file_has_patterns_comments_and_empty_lines() {
        let read = Suppressions::parse("# known\n\n  leak:lose_list  \nleak:libfoo.so\n").unwrap();
        assert_eq!(read.patterns, ["lose_list", "libfoo.so"]);
        assert!(read.matches("lose_list") && !read.matches("keep_list"));
        let wrong = Suppressions::parse("leak:a\nrace:b\n").unwrap_err();
        assert_eq!((wrong.number, wrong.line.as_str()), (2, "race:b"));
    }
}
