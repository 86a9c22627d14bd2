//! The command line of memtoll.

mod diff;
mod exit;
mod machine;
mod output;
mod record;
mod report;

use clap::{Parser, Subcommand};

/// What a program's memory really costs, and which line causes it.
#[derive(Parser)]
#[command(version, after_help = exit::HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Machine(machine::Arguments),
}

fn main() -> std::process::ExitCode {
    match Cli::parse().command {
        Command::Record(arguments) => record::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Machine(arguments) => machine::run(&arguments),
    }
}
