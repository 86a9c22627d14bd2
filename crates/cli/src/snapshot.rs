//! `memtoll snapshot`

use crate::exit::{self, Code};
use memtoll_record::{Snapped, find_process, snapshot};
use memtoll_text::{format, shell};
use std::io::Write;

/// Look at the pages of a process that is being recorded
///
/// The memtoll that records it looks now which pages are in memory, and writes that into the recording; the process goes on
/// meanwhile. memtoll report --resident --at TIME then says who held them.
#[derive(clap::Args)]
pub struct Arguments {
    /// The process: its number, or its name if only one has it
    #[arg(value_name = "PID|NAME")]
    process: String,
}

pub fn run(arguments: &Arguments) -> Code {
    let snapped = find_process(&arguments.process).and_then(|pid| Ok((pid, snapshot(pid)?)));
    let (pid, Snapped { seconds, bytes, file }) = match snapped {
        Ok(snapped) => snapped,
        Err(why) => return exit::fail(why, Code::Failed),
    };
    let resident = format::bytes(bytes);
    let _ = writeln!(
        std::io::stdout(),
        "process {pid}: resident set {resident}; who holds it: memtoll report {} --resident --at {seconds:.3}s",
        shell::file(&file)
    );
    Code::Done
}
