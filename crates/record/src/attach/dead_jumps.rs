//! Jumps that a memtoll has left behind that was killed. They do nothing, but functions can only be redirected as they were.

use super::code_of_memtoll;
use super::standstill::Standstill;
use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use crate::redirection::{mapped, place_of};
use memtoll_processor::injection;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Says that a process is being recorded, for as long as its memtoll lives.
pub struct Claim(#[allow(dead_code, reason = "it is closed in the end")] OwnedFd);

impl Claim {
    /// None: another memtoll is attached.
    pub fn new(pid: u32) -> io::Result<Option<Claim>> {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        match bind(&socket, &SocketAddrUnix::new_abstract_name(format!("memtoll attached to {pid}").as_bytes())?) {
            Err(rustix::io::Errno::ADDRINUSE) => Ok(None),
            bound => bound.map(|()| Some(Claim(socket))).map_err(io::Error::from),
        }
    }
}

/// Where they lead to: memory that is made of a plan.
fn of_plans(maps: &[MapLine]) -> Vec<Range<u64>> {
    maps.iter().filter(|line| code_of_memtoll::is_plan(line)).map(|line| line.start..line.end).collect()
}

/// Writes back what was there before. How many there were.
pub fn take_back(pid: u32, memory: &ProcessMemory) -> io::Result<usize> {
    let maps = proc_files::maps(pid);
    let plans = of_plans(&maps);
    if plans.is_empty() {
        return Ok(0);
    }
    let mut originals = Vec::new();
    for file in mapped::files(&maps) {
        let Some(content) = place_of(pid, &file).and_then(|place| File::open(place).ok()) else { continue };
        let code = maps.iter().filter(|line| line.executable && (file.start..file.end).contains(&line.start));
        for line in code {
            originals.extend(dead_jumps(memory, &content, line, &plans)?);
        }
    }
    if !originals.is_empty() {
        let still = Standstill::begin(pid)?;
        for (at, bytes) in &originals {
            memory.write(*at, bytes)?;
        }
        still.wait_until_outside(&code_of_memtoll::ranges(pid))?;
    }
    Ok(originals.len())
}

/// Where code is a jump into a plan, and what the file has there.
fn dead_jumps(
    memory: &ProcessMemory,
    content: &File,
    line: &MapLine,
    plans: &[Range<u64>],
) -> io::Result<Vec<(u64, Vec<u8>)>> {
    let length = (line.end - line.start) as usize;
    let (mut now, mut then) = (vec![0; length], vec![0; length]);
    memory.read(line.start, &mut now)?;
    // The last page may be longer than the file.
    let known = content.read_at(&mut then, line.offset)?;
    let found = jumps_in(&now, &then[..known], line.start, &|target| plans.iter().any(|plan| plan.contains(&target)));
    Ok(found.into_iter().map(|at| (line.start + at as u64, then[at..at + injection::JUMP].to_vec())).collect())
}

/// Where `now`, at this address, has jumps to such targets that `then` has not. A jump may begin as what was there before: a
/// function may be a mere jump to another one.
fn jumps_in(now: &[u8], then: &[u8], address: u64, is_target: &impl Fn(u64) -> bool) -> Vec<usize> {
    let is_jump = |at: usize| injection::jump_target(&now[at..], address + at as u64).is_some_and(is_target);
    let mut found = Vec::new();
    let mut free_from = 0;
    for at in (0..then.len()).filter(|at| now[*at] != then[*at]) {
        let first = free_from.max((at + 1).saturating_sub(injection::JUMP));
        if let Some(begin) = (first..=at).rev().find(|begin| is_jump(*begin) && begin + injection::JUMP <= then.len()) {
            found.push(begin);
            free_from = begin + injection::JUMP;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_are_found_whatever_was_there_before() {
        // To 0x2000 from 0x1000, 0x1010 and 0x1020.
        let jump = |from: u64| [&[0xe9][..], &((0x2000 - from - 5) as i32).to_le_bytes()].concat();
        let mut then = vec![0x90; 64];
        then[0x10..0x15].copy_from_slice(&[0xe9, 1, 2, 3, 4]); // operator delete(void*, size_t) in libstdc++
        let distance = 0x2000 - 0x1020 - 5;
        then[0x20..0x25].copy_from_slice(&[0xe9, distance as u8, 7, 0, 0]); // and a byte of the distance, too
        let mut now = then.clone();
        for at in [0, 0x10, 0x20] {
            now[at..at + 5].copy_from_slice(&jump(0x1000 + at as u64));
        }
        now[0x30] = 0xcc; // a debugger's
        assert_eq!(jumps_in(&now, &then, 0x1000, &|target| target == 0x2000), [0, 0x10, 0x20]);
        assert_eq!(jumps_in(&now, &then, 0x1000, &|target| target == 0x3000), [0; 0]);
    }
}
