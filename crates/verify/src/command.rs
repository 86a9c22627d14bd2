//! What is run.

use memtoll_text::shell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Characters that mean something to a shell. A command without them is started without one.
const SHELL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~', '=', '%', '!', '{',
    '}', '\n',
];

/// A command with additions to its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    directory: Option<PathBuf>,
    shown: String,
}

impl CommandLine {
    /// From what a user would type into a shell. Only what needs a shell is given to one (`sh -c`).
    pub fn typed(text: &str) -> CommandLine {
        let words: Vec<OsString> = match text.contains(SHELL) {
            true => ["sh", "-c", text].map(OsString::from).into(),
            false => text.split_whitespace().map(OsString::from).collect(),
        };
        CommandLine { words, environment: Vec::new(), directory: None, shown: text.to_owned() }
    }

    /// From a program and its arguments.
    pub fn words(words: &[OsString]) -> CommandLine {
        let shown: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        CommandLine { words: words.to_vec(), environment: Vec::new(), directory: None, shown: shell::line(&shown) }
    }

    /// With a variable in its environment. GLIBC_TUNABLES and LD_PRELOAD are lists: what the user has there stays.
    pub fn with(mut self, name: &str, value: &str) -> CommandLine {
        let already = std::env::var_os(name).filter(|_| LISTS.contains(&name)).filter(|list| !list.is_empty());
        let value = match already {
            Some(mut list) => {
                list.push(":");
                list.push(value);
                list
            }
            None => value.into(),
        };
        self.environment.push((name.into(), value));
        self
    }

    /// Started in this directory.
    pub fn within(mut self, directory: &Path) -> CommandLine {
        self.directory = Some(directory.to_owned());
        self
    }

    /// Whether the program is started itself, and not by a shell.
    pub fn is_direct(&self) -> bool {
        self.words.first().is_none_or(|name| name != "sh")
    }

    /// As the user typed it.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Ready to be started.
    pub(crate) fn command(&self) -> Command {
        let (name, arguments) =
            self.words.split_first().map_or(("".as_ref(), [].as_slice()), |(n, a)| (n.as_os_str(), a));
        let mut command = Command::new(name);
        command.args(arguments).envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }
}

const LISTS: [&str; 2] = ["GLIBC_TUNABLES", "LD_PRELOAD"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_runs_only_what_needs_one() {
        assert_eq!(CommandLine::typed("git  log -p").words, ["git", "log", "-p"]);
        assert_eq!(CommandLine::typed("a < b").words, ["sh", "-c", "a < b"]);
        assert_eq!(CommandLine::typed("A=1 b").words, ["sh", "-c", "A=1 b"]);
    }
}
