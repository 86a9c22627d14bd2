//! Command lines that a reader can paste into a shell.

use crate::visible::is_hidden;
use std::borrow::Cow;
use std::path::Path;

/// A word, in quotes where a shell would read it as something else.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=~".contains(c);
    match () {
        () if text.chars().all(is_plain) && !text.is_empty() && !text.starts_with('~') => text.into(),
        () if text.contains(is_hidden) => format!("$'{}'", text.chars().map(escaped).collect::<String>()).into(),
        () => format!("'{}'", text.replace('\'', "'\\''")).into(),
    }
}

/// A character of `$'…'`, which bash, zsh and ksh read.
fn escaped(c: char) -> String {
    match c {
        '\n' => "\\n".into(),
        '\'' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        c => c.into(),
    }
}

pub fn file(path: &Path) -> String {
    word(&path.to_string_lossy()).into_owned()
}

/// The command line of a process. A single word with spaces is what some programs show in its place, and stays a text.
pub fn line<S: AsRef<str>>(words: &[S]) -> String {
    match words {
        [title] if title.as_ref().contains(' ') => title.as_ref().to_owned(),
        words => words.iter().map(|each| word(each.as_ref())).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_same_words() {
        let ordinary = ["redis", "--save", "", "it's", "a b", "~/x", "größe", "$HOME", "*", "a\\b", "x=\"1\""];
        let hidden = ["echo", "it's\none", "\x1b]0;owned\x07", "\\ \u{9b}", "\u{202e}x"];
        for (name, words) in [("sh", &ordinary[..]), ("bash", &hidden)] {
            assert!(!line(words).contains(is_hidden), "{}", line(words));
            let command = format!("printf '%s\\0' {}", line(words));
            let shell = std::process::Command::new(name).args(["-c", &command]).output();
            let read = String::from_utf8(shell.unwrap().stdout).unwrap();
            assert_eq!(read.split_terminator('\0').collect::<Vec<_>>(), words);
        }
    }

    #[test]
    fn quotes_stand_only_where_they_are_needed() {
        assert_eq!(line(&["/tmp/git.2.memtoll", "-O1", "größe"]), "/tmp/git.2.memtoll -O1 größe");
        assert_eq!(line(&["redis", "--save", ""]), "redis --save ''");
        assert_eq!(line(&["postgres: checkpointer "]), "postgres: checkpointer ");
    }
}
