//! `memtoll try`

use crate::exit::{self, Code};
use crate::measuring_options::{Pace, Ticker, metric_parser};
use crate::output::{Printing, TextOrJson};
use memtoll_verify::candidates::{self, Candidate};
use memtoll_verify::command::CommandLine;
use memtoll_verify::metric::Metric;
use memtoll_verify::trial::Manner;
use memtoll_verify::tryout::try_out;
use memtoll_verify::{json, text};
use std::ffi::OsString;
use std::path::Path;

/// Try settings of malloc and other allocators, without changing the program
///
/// Runs the program as it is and with each setting in turn, without the recorder. Settings that cannot win drop out. Prints what
/// each saves, and the winner's line to paste.
#[derive(clap::Args)]
pub struct Arguments {
    /// Try only these
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// List what can be tried on this machine
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    pace: Pace,

    /// Choose the winner by this figure
    #[arg(long, value_parser = metric_parser(), default_value = "cpu", value_name = "METRIC")]
    metric: Metric,

    #[command(flatten)]
    printing: Printing<TextOrJson>,

    /// The program and its arguments
    #[arg(trailing_var_arg = true, required_unless_present = "list", value_name = "PROGRAM")]
    command: Vec<OsString>,
}

pub fn run(arguments: &Arguments) -> Code {
    let (all, missing) = candidates::all();
    let screen = arguments.printing.screen();
    if arguments.list {
        let lines = all.iter().map(|one| format!("{:16}  {}\n{:16}  {}\n", one.name, one.what, "", one.assignment()));
        return screen.print(&lines.collect::<String>());
    }
    let chosen = match choose(all, &arguments.only) {
        Ok(chosen) => chosen,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    if !missing.is_empty() && arguments.only.is_empty() {
        exit::say(format!("not installed, so not tried: {}", missing.join(", ")));
    }
    if let Some(own) = own_allocator(&arguments.command) {
        exit::say(own);
    }
    let aim = arguments.pace.aim(arguments.metric);
    let ticker = Ticker::new(&aim);
    let command = CommandLine::words(&arguments.command);
    let manner = Manner { looks_at_exit: true, ..arguments.pace.manner() };
    let warm_up = arguments.pace.warm_up();
    let found = match try_out(&command, chosen, &manner, &aim, warm_up, |progress| ticker.show(&progress)) {
        Ok(found) => found,
        Err(error) => return exit::fail(error, Code::Failed),
    };
    drop(ticker);
    screen.print(&match arguments.printing.format {
        TextOrJson::Text => text::tryout(&found, screen.width),
        TextOrJson::Json => json::tryout(&found),
    })
}

/// What no setting and no preloaded allocator reaches: blocks from an allocator inside the program or one of its libraries.
fn own_allocator(command: &[OsString]) -> Option<String> {
    let program = memtoll_record::find_program(Path::new(command.first()?)).ok()?;
    let own = memtoll_record::expected_allocators(&program).own.into_iter().next()?;
    let whose = match own.is_exported {
        true => "of the program and its libraries",
        false if Path::new(&own.file) == program => "of the program itself",
        false => "that it hands out",
    };
    Some(format!(
        "{} has {} inside itself: neither settings of glibc's malloc nor other allocators reach the blocks {whose}",
        own.file, own.name
    ))
}

fn choose(all: Vec<Candidate>, only: &[String]) -> Result<Vec<Candidate>, String> {
    if let Some(unknown) = only.iter().find(|name| !all.iter().any(|one| one.name == **name)) {
        let known: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        return Err(format!("--only: there is no \"{unknown}\" to try here; there is: {}", known.join(", ")));
    }
    Ok(all.into_iter().filter(|one| only.is_empty() || only.contains(&one.name)).collect())
}
