//! The command line of memtoll.

mod exit;
mod record;

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
}

fn main() -> std::process::ExitCode {
    match Cli::parse().command {
        Command::Record(arguments) => record::run(&arguments),
    }
}
