//! `memtoll snapshot`: asks the memtoll that records a process to look at its pages now.
//!
//! Each recording memtoll listens on a socket with an abstract name, which nobody needs to know beforehand: the kernel lists such
//! names. It answers its own user and root, and those who ask believe only these.

use crate::proc_files;
use crate::process_polling::{Looked, Wish};
use crate::run::Run;
use memtoll_trace::snapshot::Cause;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, recv, send,
    socket_with, sockopt,
};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// What all names begin with.
const PREFIX: &str = "memtoll snapshots ";
/// How long a process may take to get on the list when it has begun.
const PATIENCE_WITH_NEW: Duration = Duration::from_millis(300);
/// Bytes of an answer.
const LONGEST: usize = 16 << 10;
/// How long a look may take, and how long its answer may.
const PATIENCE: Duration = Duration::from_secs(20);
const LONGER_PATIENCE: Timespec = Timespec { tv_sec: 25, tv_nsec: 0 };

/// What is answered.
#[derive(Serialize, Deserialize)]
enum Reply {
    Done(Snapped),
    /// Another memtoll may record it.
    NotRecorded,
    /// Whoever asks is another user.
    NotAllowed,
    Failed(String),
}

/// A look that was made.
#[derive(Debug, Serialize, Deserialize)]
pub struct Snapped {
    /// Seconds after the start of the recording.
    pub seconds: f64,
    /// All pages in memory, bytes.
    pub bytes: u64,
    /// The recording.
    pub file: PathBuf,
}

fn new_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?)
}

/// Listens. `place`: a path that no other memtoll has.
pub fn listen_at(place: &Path) -> io::Result<OwnedFd> {
    let socket = new_socket()?;
    let name = [PREFIX.as_bytes(), place.as_os_str().as_encoded_bytes()].concat();
    bind(&socket, &SocketAddrUnix::new_abstract_name(&name)?)?;
    listen(&socket, 16)?;
    Ok(socket)
}

/// Answers one who asks.
pub fn answer(run: &Run, peer: &OwnedFd) {
    let Ok(reply) = reply(run, peer) else { return };
    if let Ok(bytes) = serde_json::to_vec(&reply) {
        let _ = send(peer, &bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    }
}

fn is_one_of(uid: rustix::process::Uid) -> bool {
    uid == rustix::process::geteuid() || uid.is_root()
}

fn reply(run: &Run, peer: &OwnedFd) -> io::Result<Reply> {
    const SECOND: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
    let mut asked = [0; 4];
    retry_on_intr(|| poll(&mut [PollFd::new(peer, PollFlags::IN)], Some(&SECOND)))?;
    let (_, bytes) = recv(peer, &mut asked[..], RecvFlags::DONTWAIT)?;
    // Not before: where a socket is closed with something to read, the peer gets no answer.
    if !is_one_of(sockopt::socket_peercred(peer)?.uid) {
        return Ok(Reply::NotAllowed);
    }
    let pid = u32::from_ne_bytes(asked);
    // The last one, where the process has executed another program.
    let images = |active: &[crate::recorded_images::Active<_>]| {
        active.iter().filter(|active| active.pid == pid).map(|active| active.image).max()
    };
    if bytes != asked.len() {
        return Ok(Reply::NotRecorded);
    }
    // One that has just begun is on the list a moment later.
    let since = Instant::now();
    let image = loop {
        match run.roster.with_active(images) {
            Some(image) => break image,
            None if since.elapsed() > PATIENCE_WITH_NEW || !proc_files::exists(pid) => return Ok(Reply::NotRecorded),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (answer, answered) = sync_channel(1);
    run.looks.wish(Wish { image, cause: Cause::Asked, answer: Some(answer) });
    Ok(match answered.recv_timeout(PATIENCE) {
        Ok(Ok(Looked { time, bytes })) => Reply::Done(Snapped {
            seconds: run.around.clock.describe(0, None).seconds(time),
            bytes,
            file: std::path::absolute(run.output.path()).unwrap_or_else(|_| run.output.path().to_owned()),
        }),
        Ok(Err(why)) => Reply::Failed(format!("the kernel does not show which of its pages are in memory: {why}")),
        Err(_) => Reply::Failed("it ends, or memtoll is too busy".to_owned()),
    })
}

/// The names of all memtolls that listen.
fn names() -> Vec<Vec<u8>> {
    let sockets = std::fs::read("/proc/net/unix").unwrap_or_default();
    let of = |line: &[u8]| {
        let at = line.iter().position(|byte| *byte == b'@')?;
        Some(line[at + 1..].to_vec()).filter(|name| name.starts_with(PREFIX.as_bytes()))
    };
    let mut all: Vec<Vec<u8>> = sockets.split(|byte| *byte == b'\n').filter_map(of).collect();
    // Each connection is listed, too.
    all.sort_unstable();
    all.dedup();
    all
}

/// Asks one memtoll. None: it has ended, or is not to be believed.
fn ask(name: &[u8], pid: u32) -> io::Result<Reply> {
    let socket = new_socket()?;
    connect(&socket, &SocketAddrUnix::new_abstract_name(name)?)?;
    let uid = sockopt::socket_peercred(socket.as_fd())?.uid;
    if !is_one_of(uid) && !rustix::process::geteuid().is_root() {
        return Ok(Reply::NotAllowed);
    }
    match send(&socket, &pid.to_ne_bytes(), SendFlags::NOSIGNAL) {
        // It has answered already, and hung up.
        Ok(_) | Err(Errno::PIPE) => {}
        Err(error) => return Err(error.into()),
    }
    retry_on_intr(|| poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&LONGER_PATIENCE)))?;
    let mut bytes = vec![0; LONGEST];
    let (_, count) = recv(&socket, &mut bytes[..], RecvFlags::DONTWAIT)?;
    serde_json::from_slice(bytes.get(..count).unwrap_or_default()).map_err(io::Error::other)
}

/// Has the pages of a process looked at. An error is a sentence.
pub fn snapshot(pid: u32) -> Result<Snapped, String> {
    let mut of_others = false;
    for name in names() {
        match ask(&name, pid) {
            Ok(Reply::Done(snapped)) => return Ok(snapped),
            Ok(Reply::Failed(why)) => return Err(format!("process {pid}: {why}")),
            Ok(Reply::NotAllowed) => of_others = true,
            Ok(Reply::NotRecorded) | Err(_) => {}
        }
    }
    let others = if of_others {
        "; other users are recording, too: run memtoll snapshot as one of them, or as root"
    } else {
        ""
    };
    match proc_files::exists(pid) {
        true => Err(format!(
            "process {pid} is not being recorded: expected one that memtoll record or memtoll attach records{others}"
        )),
        false => Err(format!("there is no process {pid}")),
    }
}
