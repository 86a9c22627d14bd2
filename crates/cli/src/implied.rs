//! `memtoll ./app args` is `memtoll record -- ./app args`.

use crate::Cli;
use clap::CommandFactory;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What the first word after `memtoll` is.
#[derive(Debug, PartialEq)]
enum First {
    /// A command, or an option that needs none.
    Command,
    /// An option of `record`.
    Option,
    /// A program to record.
    Program,
}

fn kind_of(word: &OsStr) -> First {
    let mut cli = Cli::command();
    cli.build();
    let is_command = |name: &str| cli.get_subcommands().any(|command| command.get_name() == name);
    match word.to_str() {
        Some("-h" | "--help" | "-V" | "--version") => First::Command,
        Some(option) if option.starts_with('-') => First::Option,
        Some(name) if is_command(name) => First::Command,
        // A word that is nothing at all is a mistyped command: clap says which one is similar.
        Some(name) if !name.contains('/') && memtoll_record::find_program(Path::new(name)).is_err() => First::Command,
        _ => First::Program,
    }
}

/// The words of the command line, with `record` where it is implied.
pub fn with_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let implied: &[&str] = match words.get(1).map(|word| kind_of(word)) {
        None | Some(First::Command) => &[],
        Some(First::Option) => &["record"],
        Some(First::Program) => &["record", "--"],
    };
    words.splice(1..1, implied.iter().map(OsString::from));
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(words: &str) -> String {
        let words = std::iter::once("memtoll").chain(words.split_whitespace()).map(OsString::from).collect();
        let words: Vec<_> = with_command(words).into_iter().map(|word| word.into_string().unwrap()).collect();
        words[1..].join(" ")
    }

    #[test]
    fn a_program_is_recorded() {
        assert_eq!(with("./app -q x"), "record -- ./app -q x");
        assert_eq!(with("sh -c true"), "record -- sh -c true");
        assert_eq!(with("-q -o file sh"), "record -q -o file sh");
        assert_eq!(with("-- report"), "record -- report");
    }

    #[test]
    fn commands_stay_commands() {
        for words in ["", "record sh", "report file", "help", "help diff", "--help", "-V", "reprot file"] {
            assert_eq!(with(words), words);
        }
    }
}
