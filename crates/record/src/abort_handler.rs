//! When this process cannot go on, the program does, and its exit code is ours all the same.
//!
//! Rust's way with memory that is used up is `abort`, and so is ours with a fault in memtoll itself (a stack that
//! overflows, an assertion of a library). The thread that this happens to ends here: it waits for the program and ends the
//! process as the program ends. If the program was not started yet, this process becomes the program. The program runs once:
//! of the thread that lets it go and the one that aborts, the first keeps the other from it. What was written
//! until then is in the file. All of it is done in a signal handler, so nothing but system calls is made.

use crate::limits::Limits;
use memtoll_trace::meta::Exit;
use rustix::process::Pid;
use std::ffi::{CString, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering::SeqCst};

/// What is needed to become the program.
struct Program {
    _words: Vec<CString>,
    arguments: Vec<*const c_char>, // into `_words`, and a null pointer
    limits: Limits,
}

// SAFETY: the pointers are to strings that the structure owns and never changes.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

const NOT_STARTED: i32 = 0;
const NOT_KNOWN: i64 = -1;

static PROGRAM: OnceLock<Program> = OnceLock::new();
/// The process that is the program, or becomes it: memtoll's own if it aborts before the program is let go. A child that is
/// not the program yet can abort, too, when memtoll has gone: so both have the same word, in shared memory.
static TARGET: OnceLock<&'static AtomicI32> = OnceLock::new();
/// Where there is no shared memory.
static OWN_TARGET: AtomicI32 = AtomicI32::new(NOT_STARTED);
/// The process that records.
static MEMTOLL: AtomicI32 = AtomicI32::new(0);
/// The wait status of the target, once a thread has waited for it.
static STATUS: AtomicI64 = AtomicI64::new(NOT_KNOWN);
static ENTERED: AtomicBool = AtomicBool::new(false);

fn target() -> &'static AtomicI32 {
    TARGET.get().copied().unwrap_or(&OWN_TARGET)
}

/// A word that children share with this process.
fn shared_word() -> Option<&'static AtomicI32> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let bytes = size_of::<AtomicI32>();
    // SAFETY: memory of its own, zeroed and aligned to pages; it stays as long as the process.
    unsafe {
        let start = libc::mmap(null_mut(), bytes, access, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0);
        (start != libc::MAP_FAILED).then(|| &*start.cast::<AtomicI32>())
    }
}

/// From now on, an abort of this process is not the program's.
pub fn prepare(command: &[OsString], limits: Limits) {
    let words: Vec<CString> = command.iter().filter_map(|word| CString::new(word.as_bytes()).ok()).collect();
    if words.is_empty() || words.len() < command.len() {
        return; // the system cannot start it either
    }
    let mut arguments: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    arguments.push(std::ptr::null());
    if PROGRAM.set(Program { _words: words, arguments, limits }).is_err() {
        return;
    }
    if let Some(word) = shared_word() {
        let _ = TARGET.set(word);
    }
    MEMTOLL.store(std::process::id() as i32, SeqCst);
    // SAFETY: the handler makes only system calls, on memory that is there until the process ends.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_abort as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        libc::sigaction(libc::SIGABRT, &action, null_mut());
    }
    // A panic of another thread is the end of what that one did; of this one, it would be the end of the process.
    let (usual, this) = (std::panic::take_hook(), std::thread::current().id());
    std::panic::set_hook(Box::new(move |about| {
        usual(about);
        if std::thread::current().id() == this {
            std::process::abort();
        }
    }));
}

/// The program is about to run its first instruction. If this process becomes the program already, this does not return.
pub fn target_starts(pid: Pid) {
    let pid = pid.as_raw_nonzero().get();
    if target().compare_exchange(NOT_STARTED, pid, SeqCst, SeqCst).is_err_and(|other| other != pid) {
        wait_for_the_end();
    }
}

/// The program could not be executed.
pub fn target_failed() {
    target().store(NOT_STARTED, SeqCst);
}

fn wait_for_the_end() -> ! {
    loop {
        // SAFETY: takes nothing.
        unsafe { libc::pause() };
    }
}

/// The program has ended. To be called before anybody waits for it in a way that makes the kernel forget it.
pub fn target_ended(exit: Exit) {
    let status = match exit {
        Exit::Code(code) => i64::from(code & 0xff) << 8,
        Exit::Signal(signal) => i64::from(signal & 0x7f),
        _ => 0,
    };
    STATUS.store(status, SeqCst);
}

fn say(text: &str) {
    // SAFETY: the bytes are there; what becomes of them does not matter.
    unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
}

/// Sets a signal back to what it does by itself, and sends it.
///
/// # Safety
/// Only for signals that end the process.
unsafe fn end_by(signal: c_int) -> ! {
    // SAFETY: system calls only.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, null_mut());
        libc::kill(libc::getpid(), signal);
        libc::_exit(128 + signal)
    }
}

extern "C" fn on_abort(signal: c_int, about: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel made it; a process that sends a signal says which one it is.
    let from_outside = unsafe { (*about).si_code <= 0 && (*about).si_pid() != libc::getpid() };
    if from_outside {
        // SAFETY: SIGABRT ends the process.
        unsafe { end_by(signal) };
    }
    if ENTERED.swap(true, SeqCst) {
        wait_for_the_end();
    }
    // SAFETY: takes nothing.
    let this = unsafe { libc::getpid() };
    match target().compare_exchange(NOT_STARTED, this, SeqCst, SeqCst) {
        Ok(_) => become_the_program(),
        Err(target) if this == MEMTOLL.load(SeqCst) => end_as_the_target(target),
        // A child that was to be the program; another process is.
        // SAFETY: ends the process.
        Err(_) => unsafe { libc::_exit(127) },
    }
}

fn become_the_program() -> ! {
    if let Some(program) = PROGRAM.get() {
        say("memtoll: nothing is recorded: memtoll has not enough memory\n");
        program.limits.restore();
        crate::closed_descriptors::close_again();
        // SAFETY: the array ends with a null pointer, and it and the strings are never freed. Rust's runtime ignores SIGPIPE.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::execvp(program.arguments[0], program.arguments.as_ptr());
        }
    }
    // SAFETY: ends the process.
    unsafe { libc::_exit(127) }
}

fn end_as_the_target(target: i32) -> ! {
    say(
        "memtoll: the recording is incomplete: memtoll has not enough memory, or a fault; the program is not disturbed\n",
    );
    let status = loop {
        let known = STATUS.load(SeqCst);
        if known != NOT_KNOWN {
            break known as c_int;
        }
        // SAFETY: a structure of integers, which the call fills in.
        let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as above; the target stays for others to wait for.
        let result =
            unsafe { libc::waitid(libc::P_PID, target as libc::id_t, &mut about, libc::WEXITED | libc::WNOWAIT) };
        if result == 0 {
            // SAFETY: it is about a child.
            let value = unsafe { about.si_status() };
            break if about.si_code == libc::CLD_EXITED { (value & 0xff) << 8 } else { value & 0x7f };
        }
        // SAFETY: takes nothing. Another thread has waited for it and is about to say so, or a signal came.
        unsafe { libc::usleep(1000) };
    };
    let nothing = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: system calls only; the signal is one that ended the program.
    unsafe {
        match status & 0x7f {
            0 => libc::_exit(status >> 8 & 0xff),
            signal => {
                libc::setrlimit(libc::RLIMIT_CORE, &nothing);
                end_by(signal)
            }
        }
    }
}
