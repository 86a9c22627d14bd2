//! `memtoll ./app args` is `memtoll record -- ./app args`.

use crate::record;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The command that is implied.
const RECORD: &str = "record";

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
    // Without making all of them with their options, which takes a tenth of the time that memtoll needs to start.
    let is_command = |name: &str| name == "help" || crate::Command::has_subcommand(name);
    match word.to_str() {
        Some("-h" | "--help" | "-V" | "--version") => First::Command,
        Some(option) if option.starts_with('-') => First::Option,
        Some(name) if is_command(name) => First::Command,
        // A word that is nothing at all is a mistyped command: clap says which one is similar.
        Some(name) if !name.contains('/') && memtoll_record::find_program(Path::new(name)).is_err() => First::Command,
        _ => First::Program,
    }
}

/// A recording where a command or a program is expected: the user wants to look at it.
pub fn recording(words: &[OsString]) -> Option<&Path> {
    let file = Path::new(words.get(1)?);
    (file.extension()? == "memtoll" && file.is_file()).then_some(file)
}

/// The words of the command line, with `record` where it is implied.
pub fn with_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let implied: &[&str] = match words.get(1).map(|word| kind_of(word)) {
        None | Some(First::Command) => &[],
        Some(First::Option) => &[RECORD],
        Some(First::Program) => &[RECORD, "--"],
    };
    words.splice(1..1, implied.iter().map(OsString::from));
    words
}

/// What `record` is to do. Making all other commands with their options takes longer than a short program runs, so they are left
/// out. `None`: another command, or a mistake, or a question, for which all of them are needed.
pub fn only_record(words: &[OsString]) -> Option<record::Arguments> {
    record::Arguments::from_arg_matches(&alone(words)?).ok()
}

/// The options of `record`, made alone.
fn alone(words: &[OsString]) -> Option<ArgMatches> {
    words.get(1).filter(|word| *word == RECORD)?;
    let record = record::Arguments::augment_args(clap::Command::new(RECORD));
    matches(clap::Command::new("memtoll").subcommand(record), words)
}

/// The options of `record` in a command line that `cli` understands.
fn matches(cli: clap::Command, words: &[OsString]) -> Option<ArgMatches> {
    Some(cli.try_get_matches_from(words).ok()?.remove_subcommand()?.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

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
    fn record_needs_no_other_command() {
        let split = |words: &str| -> Vec<OsString> { words.split_whitespace().map(OsString::from).collect() };
        for words in
            ["memtoll record -q -- sh -c true", "memtoll record -o a --force sh -x", "memtoll record --live sh"]
        {
            let values = |matches: ArgMatches| -> Vec<(String, Vec<OsString>)> {
                let raw = |name: &str| matches.try_get_raw(name).ok().flatten().into_iter().flatten();
                let values = |name: &str| raw(name).map(OsStr::to_owned).collect();
                matches.ids().map(|id| (id.to_string(), values(id.as_str()))).collect()
            };
            let all = matches(crate::Cli::command(), &split(words)).map(values).unwrap();
            assert!(all.iter().any(|(name, values)| name == "command" && values[0] == "sh"), "{words}: {all:?}");
            assert_eq!(alone(&split(words)).map(values), Some(all), "{words}");
        }
        for words in
            ["memtoll record", "memtoll record --help", "memtoll record --max-size x sh", "memtoll report x", "memtoll"]
        {
            assert!(only_record(&split(words)).is_none(), "{words}");
        }
    }

    #[test]
    fn commands_stay_commands() {
        for words in ["", "record sh", "report file", "help", "help diff", "--help", "-V", "reprot file"] {
            assert_eq!(with(words), words);
        }
    }
}
