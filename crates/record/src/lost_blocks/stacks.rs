//! The parts of thread stacks that are not in use: below the stack pointer, and of threads that have ended. What lies there is left
//! over from calls that returned.

use crate::proc_files::MapLine;
use std::fs;
use std::ops::Range;

/// Bytes below the stack pointer that a function may use without moving it (System V psABI for AMD64, 3.2.2).
const RED_ZONE: u64 = 128;

/// A thread that lives.
pub struct Thread {
    /// Its stack pointer; `None`: it runs.
    pub stack_pointer: Option<u64>,
    /// The arguments of the system call that it waits in.
    pub arguments: Vec<u64>,
}

/// All threads of a process but `ending`.
pub fn others(pid: u32, ending: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let tids = tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).filter(|tid: &u32| *tid != ending);
    tids.map(|tid| thread(&fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).unwrap_or_default())).collect()
}

/// From what the kernel says of its system call: number, six arguments, stack pointer, instruction; or `running`; or -1 and the last
/// two, where it waits outside of one.
fn thread(text: &str) -> Thread {
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok();
    let words: Vec<u64> = text.split_whitespace().skip(1).filter_map(number).collect();
    let stack_pointer = words.len().checked_sub(2).map(|at| words[at]);
    let arguments = words.len().saturating_sub(2);
    Thread { stack_pointer, arguments: words[..arguments].to_vec() }
}

/// Where a stack begins that reaches up to `address`, if that is known: the kernel's own for the first thread, and others if a
/// guard lies below them, which no other memory can join.
fn begin(maps: &[MapLine], address: u64) -> Option<u64> {
    let index = maps.iter().position(|line| (line.start..line.end).contains(&address))?;
    let stack = &maps[index];
    let is_guard =
        |line: &MapLine| line.end == stack.start && !line.writable && !line.executable && line.path.is_empty();
    let is_guarded = index.checked_sub(1).is_some_and(|below| is_guard(&maps[below]));
    (stack.path == "[stack]" || stack.path.is_empty() && is_guarded).then_some(stack.start)
}

/// Below the stack pointer of a thread.
pub fn unused(maps: &[MapLine], stack_pointer: u64) -> Option<Range<u64>> {
    let start = begin(maps, stack_pointer)?;
    let end = stack_pointer.saturating_sub(RED_ZONE);
    (start < end).then_some(start..end)
}

/// The stack of a thread that has ended, which the C library keeps for the next one. `handle`: what it called the thread, above
/// the thread's own variables.
pub fn left_over(maps: &[MapLine], handle: u64) -> Option<Range<u64>> {
    Some(begin(maps, handle)?..handle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(start: u64, end: u64, writable: bool, path: &str) -> MapLine {
        MapLine { start, end, writable, executable: false, shared: false, offset: 0, path: path.to_owned() }
    }

    #[test]
    fn a_waiting_thread_says_where_it_is() {
        let waiting = thread("0 0x3 0x7f10 0x400 0x0 0x0 0x0 0x7ffe1000 0x7f0011\n");
        assert_eq!((waiting.stack_pointer, &waiting.arguments[..2]), (Some(0x7ffe1000), &[0x3, 0x7f10][..]));
        assert_eq!(waiting.arguments.len(), 6);
        let stopped = thread("-1 0x7ffe1000 0x7f0011\n");
        assert_eq!((stopped.stack_pointer, stopped.arguments.len()), (Some(0x7ffe1000), 0));
        assert_eq!(thread("running\n").stack_pointer, None);
    }

    #[test]
    fn what_lies_below_the_stack_pointer_is_unused() {
        let maps = [
            line(0x10000, 0x20000, true, ""),
            line(0x30000, 0x31000, false, ""),
            line(0x31000, 0x40000, true, ""),
            line(0x70000, 0x80000, true, "[stack]"),
        ];
        assert_eq!(unused(&maps, 0x78000), Some(0x70000..0x78000 - RED_ZONE));
        assert_eq!(unused(&maps, 0x38000), Some(0x31000..0x38000 - RED_ZONE));
        assert_eq!(unused(&maps, 0x18000), None, "other memory may have joined it");
        assert_eq!(unused(&maps, 0x70010), None);
        assert_eq!(left_over(&maps, 0x3f000), Some(0x31000..0x3f000));
        assert_eq!(left_over(&maps, 0x50000), None);
    }
}
