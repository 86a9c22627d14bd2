//! Jumps that a memtoll has left behind that was killed. They do nothing, but functions can only be redirected as they were.

use super::code_of_memtoll;
use super::standstill::Standstill;
use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use crate::redirection::{mapped, place_of};
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
    let jump_at = |at: usize| {
        let target = memtoll_processor::injection::jump_target(&now[at..], line.start + at as u64)?;
        plans.iter().any(|plan| plan.contains(&target)).then_some(memtoll_processor::injection::JUMP)
    };
    let mut found = Vec::new();
    let mut at = 0;
    while at < known {
        match (now[at] != then[at]).then(|| jump_at(at)).flatten() {
            Some(bytes) if at + bytes <= known => {
                found.push((line.start + at as u64, then[at..at + bytes].to_vec()));
                at += bytes;
            }
            _ => at += 1,
        }
    }
    Ok(found)
}
