//! Command lines that a reader can paste into a shell.

use std::borrow::Cow;
use std::path::Path;

/// A word, in quotes where a shell would read it as something else.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%,=~".contains(c);
    match text.chars().all(is_plain) && !text.is_empty() && !text.starts_with('~') {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")).into(),
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
        for words in
            [&["redis", "--save", "", "it's", "a b"][..], &["~/x", "größe", "$HOME", "*", "a\nb", "a\\b", "x=\"1\""]]
        {
            let shell =
                std::process::Command::new("sh").args(["-c", &format!("printf '%s\\0' {}", line(words))]).output();
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
