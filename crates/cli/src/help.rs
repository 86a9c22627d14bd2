//! What `--help` and the manual pages say below the options.

use crate::{Cli, exit};
use clap::{Command, CommandFactory};

/// Command lines, and what they do.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("memtoll ./app --its arguments", "Record ./app into app.memtoll, print a summary"),
    ("memtoll report app.memtoll --tree", "Show the call tree, from main to the allocations"),
    ("memtoll diff app.memtoll app.2.memtoll", "Show what changed between two recordings"),
    ("memtoll doctor ./app", "Check what is missing on this machine and in ./app"),
    ("memtoll record --help", "Show the options of a command"),
];

/// What to know before.
pub const NOTES: &str = "\
Programs need not be recompiled. For source lines, build them with debug
information: -g for C and C++, debug = \"line-tables-only\" under [profile.release]
for Rust.";

/// Rows of a table with a heading.
fn table(heading: &str, rows: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>) -> String {
    let rows: Vec<_> = rows.into_iter().collect();
    let widest = rows.iter().map(|(name, _)| name.as_ref().len()).max().unwrap_or(0);
    let row =
        |(name, what): &(_, _)| format!("\n  {:widest$}  {}", AsRef::<str>::as_ref(name), AsRef::<str>::as_ref(what));
    rows.iter().map(row).fold(format!("{heading}:"), |text, row| text + &row)
}

/// For `-h`.
pub fn short() -> String {
    format!("{}\n\n{NOTES}", table("Examples", EXAMPLES))
}

/// For `--help`.
pub fn long() -> String {
    let codes = exit::rows().into_iter().map(|(code, meaning, _)| (code, meaning));
    format!("{}\n\n{}", short(), table("Exit codes", codes))
}

/// The command line, with all that its help says.
pub fn command() -> Command {
    let cli = Cli::command();
    let names: Vec<String> = cli.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.iter().fold(cli, |cli, name| cli.mut_subcommand(name, |command| with_codes(command, name)))
}

/// A command whose `--help` has its exit codes, as those of all commands below it.
fn with_codes(command: Command, name: &str) -> Command {
    let below: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    match below.is_empty() {
        true => command.after_long_help(table("Exit codes", exit::rows_of(name))),
        false => below.iter().fold(command, |command, below| {
            command.mut_subcommand(below, |command| with_codes(command, &format!("{name} {below}")))
        }),
    }
}
