//! Welcomes process images: each new one says hello over a socket and gets an arena of its own.

use crate::arena::{Arena, Settings};
use crate::exit_watcher::Ends;
use crate::identity::Identity;
use crate::image::Worker;
use crate::job_threads::JobThreads;
use crate::private_directory::PrivateDirectory;
use crate::recorded_images::Active;
use crate::redirection::RunningBefore;
use crate::run::{Recorded, Run, Signals};
use crate::thread_spawning;
use crate::wire::{self, Hello, Welcome, purpose};
use crate::{exit_descriptor, marks_of_header, proc_files, snapshot_requests};
use memtoll_text::shell;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{ImageNo, Ticks};
use memtoll_trace::meta::{Image, Note};
use rustc_hash::FxHashMap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg, socket_with, sockopt,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering::Release;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A target that connects and then says nothing holds up the others no longer than this.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// A target that gets no answer within this time goes on unrecorded (`session.cpp`).
const PATIENCE_OF_TARGETS: Duration = Duration::from_secs(2);

/// What helps where descriptors are refused.
const MORE_FILES: &str = "raise ulimit -n";

pub struct Listener {
    run: Arc<Run>,
    sockets: Vec<OwnedFd>,
    /// Where looks at pages are asked for; none if there cannot be one.
    requests: Option<OwnedFd>,
    token: [u64; 2],
    job_threads: Arc<JobThreads>,
    ends: Arc<Ends>,
    /// Of all images so far: a child may be forked long after its parent is gone.
    identities: Mutex<FxHashMap<ImageNo, Arc<Identity>>>,
    /// Keeps a descriptor for reading the name of a process for which there is none.
    spare: Mutex<Option<File>>,
}

impl Listener {
    /// Listens on the abstract name and the path that the recorder knows.
    /// `also_for`: a running process, which perhaps has another network.
    pub fn new(run: Arc<Run>, directory: &PrivateDirectory, also_for: Option<u32>) -> io::Result<Listener> {
        let path = directory.parent();
        let mut sockets = Vec::new();
        for address in [
            SocketAddrUnix::new_abstract_name(path.as_os_str().as_encoded_bytes())?,
            SocketAddrUnix::new(path.join("socket"))?,
        ] {
            let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
            bind(&socket, &address)?;
            listen(&socket, 128)?;
            sockets.push(socket);
        }
        if let Some(socket) = also_for.map(|pid| socket_in_network_of(pid, path)).transpose()?.flatten() {
            listen(&socket, 128)?;
            sockets.push(socket);
        }
        // A target with another user id must be able to connect; it proves itself with the token.
        std::fs::set_permissions(path.join("socket"), std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
        let ends = Ends::start(run.looks.clone())?;
        Ok(Listener {
            run,
            sockets,
            requests: snapshot_requests::listen_at(path).ok(),
            token: directory.token(),
            job_threads: Arc::default(),
            ends,
            identities: Mutex::default(),
            spare: Mutex::new(File::open("/dev/null").ok()),
        })
    }

    /// Serves hellos for as long as the process lives.
    pub fn serve(self) {
        // Since when there is no descriptor for another caller.
        let mut short_since = None;
        loop {
            let all = self.sockets.iter().chain(&self.requests);
            let mut ready: Vec<PollFd> = all.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
            if poll(&mut ready, None).is_err() {
                continue;
            }
            let readable: Vec<bool> = ready.iter().map(|fd| fd.revents().contains(PollFlags::IN)).collect();
            if let Some(requests) = self.requests.as_ref().filter(|_| readable.last() == Some(&true)) {
                self.answer(requests);
            }
            for (socket, _) in self.sockets.iter().zip(readable).filter(|(_, readable)| *readable) {
                match rustix::net::accept_with(socket, SocketFlags::CLOEXEC) {
                    Ok(peer) => {
                        short_since = None;
                        self.welcome(peer.as_fd());
                    }
                    // Perhaps only a worker has a file open just now. The caller waits.
                    Err(Errno::MFILE | Errno::NFILE) => {
                        if short_since.get_or_insert_with(Instant::now).elapsed() > PATIENCE_OF_TARGETS {
                            self.note(format!(
                                "cannot record a process: memtoll has no more file descriptors; {MORE_FILES}"
                            ));
                        }
                        thread::sleep(Duration::from_millis(1));
                    }
                    Err(Errno::CONNABORTED) => {} // it ended meanwhile
                    Err(error) => {
                        self.note(format!("a process is not recorded: its call cannot be answered: {error}"));
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            }
        }
    }

    /// Has one that asks for a look at pages answered. Meanwhile others may call.
    fn answer(&self, requests: &OwnedFd) {
        let Ok(peer) = rustix::net::accept_with(requests, SocketFlags::CLOEXEC) else { return };
        let run = self.run.clone();
        let _ = thread_spawning::start("snapshot", thread_spawning::Stack::Small, move || {
            snapshot_requests::answer(&run, &peer);
        });
    }

    fn note(&self, text: String) {
        self.run.note(Note { time: self.run.around.clock.units(self.run.around.clock.now()), text, missing: true });
    }

    /// Welcomes a process; if that fails, it runs unrecorded.
    fn welcome(&self, peer: BorrowedFd<'_>) {
        let Err(error) = self.try_to_welcome(peer) else { return };
        let pid = sockopt::socket_peercred(peer).map_or(0, |credentials| credentials.pid.as_raw_nonzero().get());
        let process = format!("process {pid} ({})", shell::line(&self.command(pid as u32)));
        let error = match Errno::from_io_error(&error) {
            Some(Errno::PIPE | Errno::CONNRESET) if !proc_files::exists(pid as u32) => {
                return; // it ended meanwhile, before its first call
            }
            Some(Errno::PIPE) => "memtoll took more than 2 s to answer it".to_owned(),
            Some(Errno::AGAIN) => "it called memtoll and said nothing for a second".to_owned(),
            Some(Errno::MFILE | Errno::NFILE) => format!("Too many open files in memtoll; {MORE_FILES}"),
            Some(Errno::NOMEM) => "memtoll cannot get more memory; raise ulimit -v".to_owned(),
            _ => error.to_string(),
        };
        self.note(format!("{process} is not recorded: {error}"));
    }

    /// The command line of a process, also where there is no descriptor to read it.
    fn command(&self, pid: u32) -> Vec<String> {
        const TRIES: u32 = 20;
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 1..TRIES {
            // Another thread may be faster.
            *spare = None;
            let command = proc_files::command(pid);
            *spare = File::open("/dev/null").ok();
            if command.first().is_none_or(|name| name != "[]") {
                return command;
            }
            thread::sleep(Duration::from_millis(1));
        }
        proc_files::command(pid)
    }

    fn try_to_welcome(&self, peer: BorrowedFd<'_>) -> io::Result<()> {
        let (hello, file) = match self.hear(peer)? {
            Some(heard) => heard,
            None => return Ok(()),
        };
        if hello.purpose == purpose::FILE {
            file.into_iter().for_each(|file| self.run.files.shown(file));
            return Ok(());
        }
        if hello.purpose == purpose::PLAN {
            return self.plan(peer, &hello);
        }
        let pid = sockopt::socket_peercred(peer)?.pid;
        let watched = exit_descriptor::watch(pid)?;
        let image = self.run.roster.next_image();
        if hello.stamp_ticks > 0 {
            self.run.stamp_ticks.store(hello.stamp_ticks, Release);
        }
        let settings = Settings {
            image,
            stack_depth: self.run.stack_depth,
            searches_leaks: self.run.searches_leaks,
            clock: self.run.around.clock.wire(),
            ticks_per_microsecond: self.run.around.clock.ticks_per_microsecond() as u32,
            now: self.run.around.clock.now(),
            address_space_limit: hello.address_space_limit,
        };
        let (arena, memory) = Arena::new(&settings)?;
        let arena = Arc::new(arena);
        let pid = pid.as_raw_nonzero().get() as u32;
        self.begin(image, pid, &hello, arena.clone(), watched)?;
        send_welcome(peer, arena.bytes(), Some(memory.as_fd()))
    }

    /// Tells a process how to redirect its allocators. Meanwhile others may call: reading the symbols of a large program takes
    /// a while.
    fn plan(&self, peer: BorrowedFd<'_>, hello: &Hello) -> io::Result<()> {
        let pid = sockopt::socket_peercred(peer)?.pid.as_raw_nonzero().get() as u32;
        let (run, peer, hooks) = (self.run.clone(), peer.try_clone_to_owned()?, hello.own_hooks);
        let Some(image) = ImageNo::new(hello.parent_image) else { return Ok(()) };
        let was_running = (hello.interposed_count > 0)
            .then_some(RunningBefore { list: hello.interposed, count: hello.interposed_count });
        let finder = hello.finder;
        let make = move || {
            if finder != 0 {
                marks_of_header::tell(pid, finder);
            }
            let planned = run.redirections.plan(&run.own_allocators, pid, image, &hooks, was_running);
            let Some(planned) = planned else {
                let _ = send_welcome(peer.as_fd(), 0, None);
                return;
            };
            if send_welcome(peer.as_fd(), planned.plan.bytes, Some(planned.plan.memory.as_fd())).is_ok() {
                let mut answers = [0; 256];
                let _ = poll(&mut [PollFd::new(&peer, PollFlags::IN)], Some(&PATIENCE));
                let count =
                    rustix::net::recv(&peer, &mut answers[..], RecvFlags::DONTWAIT).map_or(0, |(count, _)| count);
                run.redirections.placed(planned, answers.get(..count).unwrap_or_default());
            }
        };
        let thread = self.job_threads.hire().map_err(|error| io::Error::other(thread_spawning::refused(&error)))?;
        thread.start(make);
        Ok(())
    }

    /// The hello, if it comes from a recorder of this run, and what file comes with it.
    fn hear(&self, peer: BorrowedFd<'_>) -> io::Result<Option<(Hello, Option<OwnedFd>)>> {
        let mut bytes = [0u8; size_of::<Hello>()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut receive = || {
            let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
            recvmsg(peer, &mut [IoSliceMut::new(&mut bytes)], &mut control, flags)
        };
        let received = match receive() {
            Err(Errno::AGAIN) => {
                retry_on_intr(|| poll(&mut [PollFd::new(&peer, PollFlags::IN)], Some(&PATIENCE)))?;
                receive()?
            }
            received => received?,
        };
        let received = received.bytes;
        let files = control.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let file = files.flatten().last();
        // SAFETY: Hello consists of integers only; every pattern of bits is one.
        let hello = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast::<Hello>()) };
        let genuine = received == bytes.len()
            && hello.magic == wire::MAGIC
            && hello.version == wire::VERSION
            && hello.token == self.token;
        Ok(genuine.then_some((hello, file)))
    }

    fn begin(&self, image: ImageNo, pid: u32, hello: &Hello, arena: Arc<Arena>, process: OwnedFd) -> io::Result<()> {
        let run = &self.run;
        let forked = hello.purpose == purpose::FORK;
        let forked_from = ImageNo::new(hello.parent_image).filter(|_| forked);
        let identity = self.identity(image, pid, forked_from);
        if !forked {
            // An image that was in this process before is over: this one was executed in its place.
            run.roster.with_active(|active| {
                for old in active.iter().filter(|old| old.pid == pid) {
                    old.about.signals.replace(identity.executable.clone(), Ticks(run.around.clock.now()));
                    old.about.arena.ring();
                }
            });
        }
        if identity.is_of(pid) {
            run.files.executable(pid);
        }
        forked_from.iter().for_each(|parent| run.redirections.inherits(image, *parent));
        let process = Arc::new(process);
        let signals = Arc::new(Signals::default());
        // What may fail comes first.
        let thread = self.job_threads.hire().map_err(|error| io::Error::other(thread_spawning::refused(&error)))?;
        run.looks.begins(image, pid, arena.clone(), identity.clone(), signals.pages.clone());
        if run.looks.was_running(image) {
            arena.header().start.store(wire::start::NOT_YET, Release);
        }
        self.ends.tell(image, process.clone(), signals.clone(), arena.clone())?;
        let description = Image {
            image,
            pid,
            parent: proc_files::parent(&*process, pid),
            forked_from,
            forked_at: forked_from.and(self.forked_at(hello)),
            name: identity.name.clone(),
            command: identity.command.clone(),
            executable: identity.executable.clone(),
            began: run.around.clock.units(run.around.clock.now()),
            rank: if run.rank.is_none() { identity.rank } else { None },
        };
        run.output.json(BlockKind::Image, image, &description);
        let recorded =
            Recorded { command: shell::line(&identity.command), arena: arena.clone(), signals: signals.clone() };
        run.roster.began(Active { image, pid, about: recorded });
        // The process waits for its answer: what is mapped now is this image's, before it can execute another one.
        let worker = Worker::new(run.clone(), arena, signals, &description, process);
        let ends = self.ends.clone();
        thread.start(move || {
            worker.work();
            ends.forget(image);
        });
        Ok(())
    }
}

impl Listener {
    /// When a forked child was forked, units.
    fn forked_at(&self, hello: &Hello) -> Option<u64> {
        let clock = &self.run.around.clock;
        let is_past = (1..=clock.now()).contains(&hello.forked_at);
        is_past.then(|| clock.units(hello.forked_at))
    }

    /// What an image that begins now is. A forked child may already show a title instead.
    fn identity(&self, image: ImageNo, pid: u32, parent: Option<ImageNo>) -> Arc<Identity> {
        let mut known = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        let parents = parent.and_then(|parent| known.get(&parent).cloned());
        let identity = parents.unwrap_or_else(|| Arc::new(Identity::of_started(pid)));
        known.insert(image, identity.clone());
        identity
    }
}

/// A socket with the abstract name of this path, where that process sees it. None: it has the same network as this process.
fn socket_in_network_of(pid: u32, path: &Path) -> io::Result<Option<OwnedFd>> {
    let of = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
    if of(&pid.to_string())? == of("self")? {
        return Ok(None);
    }
    let network = std::fs::File::open(format!("/proc/{pid}/ns/net"))?;
    let address = SocketAddrUnix::new_abstract_name(path.as_os_str().as_encoded_bytes())?;
    // Of a thread of its own, which ends there.
    let make = move || -> io::Result<OwnedFd> {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        bind(&socket, &address)?;
        Ok(socket)
    };
    let thread = thread::Builder::new().spawn(make)?;
    let made = thread.join().map_err(|_| io::Error::other("a thread has panicked"))?;
    made.map(Some).map_err(|error| io::Error::other(format!("its network namespace cannot be entered: {error}")))
}

/// Answers a hello with memory: its size in bytes, and its descriptor.
fn send_welcome(peer: BorrowedFd<'_>, bytes: u64, memory: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let welcome = Welcome { magic: wire::MAGIC, version: wire::VERSION, accepted: 1, arena_bytes: bytes };
    // SAFETY: Welcome is made of integers without gaps.
    let bytes = unsafe { std::slice::from_raw_parts((&raw const welcome).cast::<u8>(), size_of::<Welcome>()) };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<BorrowedFd<'_>> = memory.into_iter().collect();
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
    }
    // It is the first message, for which there is room.
    sendmsg(peer, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}
