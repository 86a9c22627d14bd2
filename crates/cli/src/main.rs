//! The command line of memtoll.

mod advise;
mod attach;
mod budget;
mod calibrate;
mod chart_file;
mod check;
mod closing_summary;
mod completions;
mod debug_file_options;
mod diff;
mod doctor;
mod exit;
mod export;
mod fleet;
mod help;
mod html;
mod implied_record;
mod layout;
mod machine;
mod manual;
mod measuring_options;
mod named_values;
mod output;
mod own_heap;
mod progress;
mod record;
mod recording_options;
mod replay;
mod report;
mod selection_options;
mod shown_recordings;
mod size_option;
mod snapshot;
mod stack_options;
mod symbolize;
mod tryout;
mod tui;
mod verify;
mod view;
mod wait_messages;

use crate::exit::Code;
use clap::error::ErrorKind;
use clap::{FromArgMatches, Parser, Subcommand};
use memtoll_text::shell;
use std::process::ExitCode;

/// Show what a program's memory really costs, and which line causes it.
#[derive(Parser)]
#[command(
    name = "memtoll",
    version,
    max_term_width = 100,
    override_usage = "memtoll [OPTIONS OF record] PROGRAM [ARGS]...\n       memtoll COMMAND [OPTIONS]",
    after_help = help::short(),
    after_long_help = help::long(),
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
    Attach(attach::Arguments),
    Snapshot(snapshot::Arguments),
    Report(report::Arguments),
    View(view::Arguments),
    Tui(tui::Arguments),
    Html(html::Arguments),
    Export(export::Arguments),
    Layout(layout::Arguments),
    Symbolize(symbolize::Arguments),
    Calibrate(calibrate::Arguments),
    Advise(advise::Arguments),
    Diff(diff::Arguments),
    Try(tryout::Arguments),
    Verify(verify::Arguments),
    Replay(replay::Arguments),
    CompareAllocators(replay::CompareArguments),
    Budget(budget::Arguments),
    Check(check::Arguments),
    Fleet(fleet::Arguments),
    Doctor(doctor::Arguments),
    Machine(machine::Arguments),
    Completions(completions::Arguments),
    Manual(manual::Arguments),
}

/// Bytes of stack that are enough for everything here.
const STACK: usize = 1 << 20;

fn main() -> ExitCode {
    // A small `ulimit -s` holds for this thread only, and is too little to even read the arguments.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    if limit.is_some_and(|limit| limit < STACK as u64)
        && let Ok(thread) = std::thread::Builder::new().stack_size(STACK).spawn(run)
    {
        return thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    run()
}

fn run() -> ExitCode {
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(file) = implied_record::recording(&words) {
        let what = format!("{} is a recording; look at it with: memtoll report {}", file.display(), shell::file(file));
        return exit::fail(what, Code::Usage).into();
    }
    let words = implied_record::with_command(words);
    if let Some(arguments) = implied_record::only_record(&words) {
        return record::run(&arguments);
    }
    let parsed = help::command().try_get_matches_from(words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if error.kind() == ErrorKind::InvalidSubcommand => {
            let _ = error.print();
            return exit::fail("no program in PATH has this name either", Code::Usage).into();
        }
        Err(error) => {
            // Help that was asked for comes as an error, too. A reader that is gone does not matter.
            let _ = error.print();
            return if error.use_stderr() { Code::Usage.into() } else { Code::Done.into() };
        }
    };
    let code = match cli.command {
        Command::Record(arguments) => return record::run(&arguments),
        Command::Attach(arguments) => return attach::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
        Command::Html(arguments) => html::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Tui(arguments) => return tui::run(&arguments),
        Command::Layout(arguments) => layout::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Symbolize(arguments) => symbolize::run(&arguments),
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Budget(arguments) => budget::run(&arguments),
        Command::Fleet(arguments) => fleet::run(&arguments),
        Command::Try(arguments) => tryout::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::CompareAllocators(arguments) => replay::compare(&arguments),
        Command::Machine(arguments) => machine::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Manual(arguments) => manual::run(&arguments),
    };
    code.into()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_declarations_hold_together() {
        super::Cli::command().debug_assert();
    }
}
