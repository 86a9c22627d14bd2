//! `make bench-report`: what `memtoll report` takes, where there are goals for that: of recordings of very many processes, of one
//! with very many call stacks, of a compiler, of a process whose blocks have very many sizes, and of one process with very many
//! events, by one thread and by two. The events that are asked for at once take room in the file, of which it says how much.
//!
//! Times are processor time of all threads, unless a column says wall. The goals of the long recordings are those for 100 million events, and from a
//! billion on those for a billion; shorter recordings have to meet the former, too.

mod each_event;
mod long;
mod processes;
mod stacks;
mod table;

use clap::Parser;
use memtoll_bench::{Common, or_exit};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Events of each long recording, in millions; 0: none is made
    #[arg(long, default_value_t = 100, value_name = "MILLIONS")]
    events: u64,
    /// Processes of the largest recording of processes; 0: none is made
    #[arg(long, default_value_t = 10_000)]
    processes: u32,
    /// Stack nodes of the recording of call stacks, in millions; 0: none is made
    #[arg(long, default_value_t = 20, value_name = "MILLIONS")]
    stack_nodes: u64,
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let folder = &arguments.common.folder;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    if arguments.processes > 0 {
        processes::measure(&arguments.common, arguments.processes)?;
    }
    if arguments.stack_nodes > 0 {
        stacks::measure(&arguments.common, arguments.stack_nodes)?;
    }
    each_event::measure(&arguments.common)?;
    if arguments.events > 0 {
        long::measure(&arguments.common, arguments.events)?;
    }
    Ok(())
}

fn main() {
    or_exit(run(&Arguments::parse()));
}
