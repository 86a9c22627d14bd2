//! The threads of a process, as `/proc` shows them.

use std::fs;

/// A thread that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    pub tid: i32,
    /// As the kernel shows it: `R`, `S`, `T` …
    pub state: char,
}

/// Their numbers.
fn tids(pid: u32) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// None: it has ended, and at most waits to be buried.
fn task(pid: u32, tid: i32) -> Option<Task> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/stat")).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    (!matches!(state, 'Z' | 'X' | 'x')).then_some(Task { tid, state })
}

/// All that have not ended.
pub fn tasks(pid: u32) -> Vec<Task> {
    tids(pid).filter_map(|tid| task(pid, tid)).collect()
}

/// Those of them that are not known.
pub fn others(pid: u32, is_known: impl Fn(i32) -> bool) -> Vec<Task> {
    tids(pid).filter(|tid| !is_known(*tid)).filter_map(|tid| task(pid, tid)).collect()
}

/// The system call that a thread waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub call: i64,
    pub stack: u64,
    pub instruction: u64,
}

/// None: it runs, or cannot be looked at.
pub fn waiting(pid: u32, tid: i32) -> Option<Waiting> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_whitespace();
    let call = words.next()?.parse().ok()?;
    let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let instruction = address(words.next_back()?)?;
    let stack = address(words.next_back()?)?;
    Some(Waiting { call, stack, instruction })
}

/// What the kernel says of a thread.
pub fn status_field(pid: u32, tid: i32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    field(&status, name).map(str::to_owned)
}

/// The number that the thread has in its own namespace.
pub fn own_tid(pid: u32, tid: i32) -> Option<i32> {
    status_field(pid, tid, "NSpid")?.split_whitespace().last()?.parse().ok()
}

/// A field of a status file.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
