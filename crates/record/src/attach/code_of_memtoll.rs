//! What memtoll has put into a process to be executed: the recorder, and the code that jumps lead to.

use crate::proc_files::{self, MapLine};
use crate::redirection::PLAN_NAME;
use std::ops::Range;

/// How the file of the recorder is called there, in memory.
pub const RECORDER: &str = "memtoll-recorder";

/// Whether this is a part of a recorder that was loaded into a running process.
pub fn is_recorder(line: &MapLine) -> bool {
    is_memory_file(line, RECORDER)
}

/// Whether this is code that jumps lead to.
pub fn is_plan(line: &MapLine) -> bool {
    line.executable && is_memory_file(line, PLAN_NAME)
}

fn is_memory_file(line: &MapLine, name: &str) -> bool {
    line.path.strip_prefix("/memfd:").and_then(|path| path.split(' ').next()) == Some(name)
}

/// Where a thread may have entered a hook without a sign of it.
pub fn ranges(pid: u32) -> Vec<Range<u64>> {
    let is_one = |line: &&MapLine| is_plan(line) || line.executable && is_recorder(line);
    proc_files::maps(pid).iter().filter(is_one).map(|line| line.start..line.end).collect()
}
