//! Runs the case studies and writes the tables and screens in their READMEs. Times in tables are the programs' own, medians
//! of interleaved rounds, without the recorder; allocations are counted by memtoll, and screens are what it prints.

mod camera;
mod dictionary;
mod programs;
mod serializer;
mod terminal;

use clap::Parser;
use memtoll_bench::{Common, or_exit};

#[derive(Parser)]
#[command(about = "Runs the case studies and writes the tables in their READMEs", version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Rounds of every measurement, of which the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

fn main() {
    or_exit(run(&Arguments::parse()));
}

fn run(arguments: &Arguments) -> Result<(), String> {
    std::fs::create_dir_all(&arguments.common.folder).map_err(|error| error.to_string())?;
    type Study = fn(&Arguments) -> Result<(), String>;
    let studies: [(&str, Study); 4] = [
        ("camera", camera::write),
        ("dictionary", dictionary::write),
        ("serializer", serializer::write),
        ("terminal", terminal::write),
    ];
    studies.iter().filter(|(name, _)| name.contains(&arguments.common.only)).try_for_each(|(_, write)| write(arguments))
}
