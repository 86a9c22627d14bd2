//! What `--help` and the manual pages say below the options.

use crate::{Cli, exit};
use clap::builder::Styles;
use clap::{Command, CommandFactory};

/// Command lines, and what they do.
pub const EXAMPLES: [(&str, &str); 5] = [
    ("memtoll ./app --its arguments", "Record ./app into app.memtoll, print a summary"),
    ("memtoll report app.memtoll --tree", "Show the call tree, from main to the allocations"),
    ("memtoll diff app.memtoll app.2.memtoll", "Show what changed between two recordings"),
    ("memtoll doctor ./app", "Check what is missing on this machine and in ./app"),
    ("memtoll record --help", "Show the options of a command"),
];

/// All commands, in groups by what they are for. The declaration of the commands has the same order.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Record and look",
        &[
            "record", "attach", "snapshot", "report", "view", "tui", "html", "export", "layout", "symbolize",
            "calibrate",
        ],
    ),
    ("Change and prove", &["advise", "diff", "try", "verify", "replay", "compare-allocators"]),
    ("In CI", &["budget", "check"]),
    ("Many machines", &["fleet"]),
    ("This machine", &["doctor", "machine", "completions", "manual"]),
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
    let template = template(&cli);
    let cli = names.iter().fold(cli, |cli, name| cli.mut_subcommand(name, |command| with_codes(command, name)));
    cli.help_template(template)
}

/// The help of memtoll itself, with the commands in their groups: clap knows one list only.
fn template(cli: &Command) -> String {
    let header = Styles::default().get_header().to_owned();
    let name = Styles::default().get_literal().to_owned();
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let line = |command: &&str| {
        let about = cli.find_subcommand(command).and_then(Command::get_about).map(ToString::to_string);
        format!("  {name}{command:widest$}{name:#}  {}\n", about.unwrap_or_default())
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("{header}{heading}:{header:#}\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group_in_the_order_of_the_declaration() {
        let cli = command();
        let declared: Vec<&str> = cli.get_subcommands().map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped, declared);
    }

    /// All commands that do something, each with the words that lead to it.
    fn leaves(command: &Command) -> Vec<&Command> {
        match command.has_subcommands() {
            true => command.get_subcommands().flat_map(leaves).collect(),
            false => vec![command],
        }
    }

    #[test]
    fn an_option_means_the_same_in_each_command() {
        let same = [("metric", "METRIC"), ("format", "FORMAT"), ("to", "TIME"), ("from", "TIME"), ("limit", "N")];
        let cli = command();
        for command in leaves(&cli) {
            for option in command.get_opts() {
                let long = option.get_long().expect("a long name");
                let values = option.get_value_names().unwrap_or_default();
                for (name, value) in same {
                    let has_value = values.iter().any(|one| one == value);
                    let is_only_name = ["METRIC", "FORMAT"].contains(&value);
                    assert!(long != name || has_value, "{} --{long}", command.get_name());
                    assert!(!is_only_name || !has_value || long == name, "{} --{long}", command.get_name());
                }
                assert_ne!(long, "sort", "{}: the figure is --metric", command.get_name());
            }
        }
    }
}
