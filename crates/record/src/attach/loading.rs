//! Loads the recorder into a process. One of its threads, which is in the middle of nothing, does that; all others go on, so
//! that it gets every lock that it needs. It finds back by itself (`memtoll_processor::injection`), so this process may die at
//! any instant.
//!
//! Not with a breakpoint at malloc, neither a software's nor a hardware's: both outlive whoever has set them, and then kill the
//! process.

use super::code::Code;
use super::code_of_memtoll::RECORDER;
use super::known_recorder::{self, KnownRecorder};
use super::threads::{self, Waiting};
use super::tracing::{Stop, Traced};
use crate::proc_files;
use crate::process_memory::ProcessMemory;
use crate::redirection::mapped;
use crate::wire::attach_result;
use memtoll_processor::injection::{self, Order, Registers, step};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a thread is looked for that is in the middle of nothing.
const LOOKS_FOR: Duration = Duration::from_secs(5);
/// How long the process may take to load the recorder: it reads files and waits for memtoll's plans, which takes up to 20 s.
const LOADS_WITHIN: Duration = Duration::from_secs(60);
/// How long a thread may take to stop, or to make memory.
const STEP: Duration = Duration::from_secs(2);
/// Until it is tried again to begin where an earlier recording has just ended.
const BUSY_FOR: Duration = Duration::from_millis(100);
/// Between two looks at whether it has.
const PAUSE: Duration = Duration::from_millis(1);
/// The stack for loading, bytes.
const STACK: u64 = 256 << 10;

/// System calls that wait for others, and in which no lock of the C library is held.
const WAITS: [i64; 19] = [
    libc::SYS_restart_syscall,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_pause,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigsuspend,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_read,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
];

/// A process into which the recorder is loaded.
pub struct Loading<'a> {
    pub pid: u32,
    pub memory: &'a ProcessMemory,
    pub code: &'a Code,
    pub library: &'a [u8],
    /// The private directory of this run.
    pub directory: &'a Path,
    /// Deepest stack that is recorded whole, frames.
    pub stack_depth: u32,
}

/// Why a thread cannot load anything just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unfit {
    WaitsForLock,
    InLibrary,
    HoldsLoader,
    InHandler,
    NoStack,
    DoesNotStop,
    IsBusy,
}

impl Unfit {
    /// What such a thread does.
    fn text(self) -> &'static str {
        match self {
            Unfit::WaitsForLock => "in a system call or waiting for a lock",
            Unfit::InLibrary => "executing code of the C library",
            Unfit::HoldsLoader => "loading a library",
            Unfit::InHandler => "in a signal handler",
            Unfit::NoStack => "with less than 24 KiB of stack left",
            Unfit::IsBusy => "in the recorder, at work for an earlier recording",
            Unfit::DoesNotStop => "not to be stopped: another tracer, or waiting for a disk",
        }
    }
}

/// "2 executing code of the C library, 1 in a signal handler"
fn seen(threads: &[Unfit]) -> String {
    let mut kinds = threads.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    let count = |kind: &Unfit| threads.iter().filter(|one| *one == kind).count();
    let each: Vec<String> = kinds.iter().map(|kind| format!("{} {}", count(kind), kind.text())).collect();
    each.join(", ")
}

/// What a thread was sent to do.
enum Sent {
    /// To carry out the order at this address.
    Load(u64),
    /// To a recorder that was loaded before.
    Again(KnownRecorder),
}

impl Loading<'_> {
    /// Loads it, and waits until it is prepared. `lasted`: for how long the thread does that.
    pub fn load(&self, lasted: &mut Duration) -> Result<(), String> {
        let mut sent = Instant::now();
        let done = self.try_to_load(&mut sent);
        *lasted = sent.elapsed();
        done
    }

    fn try_to_load(&self, sent: &mut Instant) -> Result<(), String> {
        let maps = proc_files::maps(self.pid);
        let known = known_recorder::find(&maps, self.memory, self.library, self.stack_depth);
        let began = Instant::now();
        loop {
            let (candidates, mut unfit) = self.candidates();
            for tid in candidates {
                *sent = Instant::now();
                match self.try_with(tid, known)? {
                    Ok(Sent::Load(order)) => return self.wait_until_loaded(order),
                    Ok(Sent::Again(known)) if self.wait_for(known)? => return Ok(()),
                    Ok(Sent::Again(_)) => {
                        unfit.push(Unfit::IsBusy);
                        std::thread::sleep(BUSY_FOR);
                        break;
                    }
                    Err(why) => unfit.push(why),
                }
            }
            if threads::tasks(self.pid).is_empty() {
                return Err("it has ended".to_owned());
            }
            if began.elapsed() > LOOKS_FOR {
                return Err(format!(
                    "for {} s, no thread of it came to a place where it could load the recorder; at last: {}; try again",
                    LOOKS_FOR.as_secs(),
                    seen(&unfit)
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Threads that may be in the middle of nothing: first those that wait, then those that run. And why others are not.
    fn candidates(&self) -> (Vec<i32>, Vec<Unfit>) {
        const MOST: usize = 8;
        let (mut waiting, mut running, mut unfit) = (Vec::new(), Vec::new(), Vec::new());
        for task in threads::tasks(self.pid) {
            match threads::waiting(self.pid, task.tid) {
                None => running.push(task.tid),
                Some(call) if self.is_harmless(&call) => waiting.push(task.tid),
                Some(_) => unfit.push(Unfit::WaitsForLock),
            }
        }
        waiting.extend(running);
        waiting.truncate(MOST);
        (waiting, unfit)
    }

    fn is_harmless(&self, waiting: &Waiting) -> bool {
        let is_known = WAITS.contains(&waiting.call)
            || waiting.call == libc::SYS_futex
                && self.code.waits_for_others(self.memory, waiting.instruction, waiting.stack);
        is_known && self.code.is_libcs(waiting.instruction)
    }

    /// What this thread does now, or why it is not the right one.
    fn try_with(&self, tid: i32, known: Option<KnownRecorder>) -> Result<Result<Sent, Unfit>, String> {
        // What is not possible is not the thread's fault.
        let failed = |error: io::Error| format!("one of its threads cannot be stopped: {error}");
        let Ok(mut thread) = Traced::seize(tid) else { return Ok(Err(Unfit::DoesNotStop)) };
        let was_waiting = threads::waiting(self.pid, tid);
        thread.interrupt().map_err(failed)?;
        // One that does not stop waits for a disk.
        if !matches!(thread.wait(Instant::now() + STEP), Ok(Stop::Asked)) {
            return Ok(Err(Unfit::DoesNotStop));
        }
        let mut registers = thread.registers().map_err(failed)?;
        if !registers.is_64_bit() {
            return Err("it executes 32-bit code, which memtoll does not record".to_owned());
        }
        let is_where_it_waited = was_waiting
            .is_some_and(|waiting| self.is_harmless(&waiting) && waiting.instruction == registers.instruction());
        let own_tid = threads::own_tid(self.pid, tid).unwrap_or(tid);
        let unfit = if !is_where_it_waited && !self.code.is_programs(registers.instruction()) {
            Some(Unfit::InLibrary)
        } else if self.code.holds_loader(self.memory, own_tid) {
            Some(Unfit::HoldsLoader)
        } else if self.code.is_in_handler(self.memory, registers.stack()) {
            Some(Unfit::InHandler)
        } else if !self.has_room_for_frame(registers.top_for_frame()) {
            Some(Unfit::NoStack)
        } else if !self.finds_call_again(&mut registers) {
            Some(Unfit::WaitsForLock)
        } else {
            None
        };
        if let Some(unfit) = unfit {
            return Ok(Err(unfit));
        }
        match known {
            Some(known) => self.send_again(thread, &registers, known).map(|()| Ok(Sent::Again(known))),
            None => self.send(thread, &registers).map(|order| Ok(Sent::Load(order))),
        }
    }

    fn finds_call_again(&self, registers: &mut Registers) -> bool {
        let mut code = [0; injection::CALL_BYTES];
        let is_known = self.memory.read(registers.before_call(), &mut code).is_ok();
        registers.make_call_again(&code) && is_known
    }

    /// Whether a frame fits below `top`. A guard page would take it, too, but the thread could not read it.
    fn has_room_for_frame(&self, top: u64) -> bool {
        const FRAME: u64 = 24 << 10;
        let holds = |line: &proc_files::MapLine| line.writable && line.start <= top - FRAME && top <= line.end;
        proc_files::maps(self.pid).iter().any(holds)
    }

    /// Sends a thread that stands still to load the recorder, and lets go of it.
    fn send(&self, mut thread: Traced, registers: &Registers) -> Result<u64, String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| format!("cannot load the recorder: {what}: {error}")
        };
        let mask = thread.blocked_signals().map_err(failed("its signals are not shown"))?;
        let state = thread.extended_state().map_err(failed("its registers are not shown"))?;
        let restorer = self.code.restorer;

        // Memory, by a first call.
        let page = proc_files::page();
        let round = |bytes: u64| bytes.next_multiple_of(page);
        let code_bytes = round(injection::code().len() as u64);
        let library_bytes = round(self.library.len() as u64);
        let writable = round(size_of::<Order>() as u64) + library_bytes + STACK;
        let bytes = code_bytes + writable;
        let maps = proc_files::maps(self.pid);
        let at = mapped::room_far(&maps, bytes)
            .ok_or("cannot load the recorder: there is no address space left in the process")?;
        let (frame, content) = registers.frame(registers.top_for_frame(), restorer, mask, &state);
        self.memory.write(frame, &content).map_err(failed("its stack cannot be written"))?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let arguments = [at, bytes, protection as u64, flags as u64, u64::MAX, 0];
        // From here on the thread finds back by itself.
        thread
            .set_registers(&registers.calling(self.code.functions.mmap, frame, arguments))
            .map_err(failed("a thread cannot be moved"))?;
        // The frame lets them in again.
        let _ = thread.block_signals(u64::MAX);
        let until = Instant::now() + STEP;
        loop {
            thread.go_on_to_call().map_err(failed("a thread does not go on"))?;
            match thread.wait(until).map_err(failed("a thread does not come back"))? {
                Stop::Gone => return Err("it has ended".to_owned()),
                Stop::Call if thread.registers().is_ok_and(|now| now.returns_through(restorer)) => break,
                Stop::Call | Stop::Asked | Stop::Signal(_) => {}
            }
        }
        let is_there = |line: &proc_files::MapLine| line.start <= at && at < line.end;
        if !proc_files::maps(self.pid).iter().any(is_there) {
            return Err("cannot load the recorder: the system gives the process no memory for code".to_owned());
        }

        // What the second call carries out.
        let order_at = at + code_bytes;
        let library_at = order_at + round(size_of::<Order>() as u64);
        let stack_top = library_at + library_bytes + STACK;
        let functions = &self.code.functions;
        // The loader takes files of the same path for one, also when an earlier one was another.
        let earlier = maps.iter().filter(|line| line.offset == 0 && line.path.contains(RECORDER)).count();
        let path = format!("/proc/self/fd{}", "/".repeat(1 + earlier));
        let mut order = Order {
            done: 0,
            step: 0,
            value: 0,
            memory: order_at,
            memory_bytes: writable,
            library: library_at,
            library_bytes: self.library.len() as u64,
            dlopen: functions.dlopen,
            dlerror: functions.dlerror,
            dlsym: functions.dlsym,
            errno_location: functions.errno_location,
            path_bytes: path.len() as u64,
            path: [0; 80],
            file_name: [0; 24],
            shown: [0; 40],
            function: [0; 24],
            argument: [0; 256],
        };
        let put = |place: &mut [u8], text: &[u8]| {
            let fits = text.len() < place.len();
            if fits {
                place[..text.len()].copy_from_slice(text);
            }
            fits
        };
        let fits = put(&mut order.path[..70], path.as_bytes())
            && put(&mut order.file_name, RECORDER.as_bytes())
            && put(&mut order.shown, format!("/memfd:{RECORDER}").as_bytes())
            && put(&mut order.function, b"memtoll_recorder_attach")
            && put(&mut order.argument, self.directory.as_os_str().as_encoded_bytes());
        if !fits {
            return Err("memtoll was attached to it too often; restart it".to_owned());
        }
        let (frame, content) = registers.frame(stack_top, restorer, mask, &state);
        // SAFETY: an order consists of integers without gaps.
        let order = unsafe { std::slice::from_raw_parts((&raw const order).cast::<u8>(), size_of::<Order>()) };
        for (address, bytes) in
            [(at, injection::code()), (order_at, order), (library_at, self.library), (frame, &content)]
        {
            self.memory.write(address, bytes).map_err(failed("its memory cannot be written"))?;
        }
        thread
            .set_registers(&registers.calling(at, frame, [order_at, 0, 0, 0, 0, 0]))
            .map_err(failed("a thread cannot be moved"))?;
        thread.let_go();
        Ok(order_at)
    }

    /// Sends a thread that stands still to a recorder that is there, and lets go of it.
    fn send_again(&self, thread: Traced, registers: &Registers, known: KnownRecorder) -> Result<(), String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| format!("cannot call the recorder: {what}: {error}")
        };
        known.give_order(self.memory, self.directory).map_err(failed("its memory cannot be written"))?;
        let mask = thread.blocked_signals().map_err(failed("its signals are not shown"))?;
        let state = thread.extended_state().map_err(failed("its registers are not shown"))?;
        let (frame, content) = registers.frame(registers.top_for_frame(), self.code.restorer, mask, &state);
        self.memory.write(frame, &content).map_err(failed("its stack cannot be written"))?;
        thread
            .set_registers(&registers.calling(known.entry, frame, [0; 6]))
            .map_err(failed("a thread cannot be moved"))?;
        // The frame lets them in again.
        let _ = thread.block_signals(u64::MAX);
        thread.let_go();
        Ok(())
    }

    /// False: threads are at work for an earlier memtoll.
    fn wait_for(&self, known: KnownRecorder) -> Result<bool, String> {
        let until = Instant::now() + LOADS_WITHIN;
        loop {
            match known.result(self.memory) {
                Err(_) => return Err("it has ended".to_owned()),
                Ok(Some(attach_result::ATTACHED)) => return Ok(true),
                Ok(Some(attach_result::NO_MEMORY_FOR_STACK)) => {
                    return Err("the system gives it no memory for a stack".to_owned());
                }
                Ok(Some(attach_result::BUSY)) => return Ok(false),
                Ok(Some(_)) => return Err("the recorder in it cannot reach memtoll".to_owned()),
                Ok(None) if Instant::now() > until => {
                    known.withdraw_order(self.memory);
                    return Err("it takes more than a minute to begin recording, and goes on".to_owned());
                }
                Ok(None) => std::thread::sleep(PAUSE),
            }
        }
    }

    fn wait_until_loaded(&self, order: u64) -> Result<(), String> {
        let field = |offset: usize| self.memory.word(order + offset as u64);
        let until = Instant::now() + LOADS_WITHIN;
        loop {
            match field(std::mem::offset_of!(Order, done)) {
                Err(_) => return Err("it has ended".to_owned()),
                Ok(0) if Instant::now() > until => {
                    return Err("it takes more than a minute to load the recorder, and goes on".to_owned());
                }
                Ok(0) => std::thread::sleep(PAUSE),
                Ok(_) => break,
            }
        }
        let value = field(std::mem::offset_of!(Order, value)).unwrap_or_default();
        match field(std::mem::offset_of!(Order, step)).unwrap_or_default() {
            step::ALL_DONE => Ok(()),
            step::LOAD | step::FIND => Err(format!("its loader refuses the recorder: {}", self.memory.text(value))),
            step::CALL => Err("the recorder in it cannot reach memtoll".to_owned()),
            0 => Err("the system does not let it write to its memory".to_owned()),
            _ => Err(format!(
                "it cannot make a file in memory: {}",
                io::Error::from_raw_os_error((value as i64).unsigned_abs() as i32)
            )),
        }
    }
}
