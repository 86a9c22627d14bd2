//! Whether a process that has forbidden itself system calls (seccomp) allows what loading the recorder needs. Docker's filter
//! does. The kernel shows the filters, programs of the classic BPF, to a tracer with CAP_SYS_ADMIN; they are run here.

use super::tracing::Traced;
use std::io;
use std::time::{Duration, Instant};

/// How long a thread may take to stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// `AUDIT_ARCH_X86_64`
const ARCHITECTURE: u32 = 0xc000_003e;
const ALLOW: u32 = 0x7fff_0000;
const LOG: u32 = 0x7ffc_0000;
const ERRNO: u32 = 0x0005_0000;

/// A system call that is made there.
struct Call {
    name: &'static str,
    number: i64,
    arguments: [u64; 6],
    /// Whether nothing works without it; otherwise it may fail.
    is_needed: bool,
}

macro_rules! calls {
    ($($name:ident $number:ident ($($argument:expr),*) $needed:literal;)*) => {
        [$({
            let mut arguments = [0; 6];
            for (place, argument) in arguments.iter_mut().zip([$($argument as u64),*]) { *place = argument; }
            Call { name: stringify!($name), number: libc::$number, arguments, is_needed: $needed }
        }),*]
    };
}

/// An address.
const SOME: u64 = 0x7f00_0000_0000;
const HERE: u64 = libc::AT_FDCWD as u64;

fn calls() -> impl Iterator<Item = Call> {
    let protection = libc::PROT_READ | libc::PROT_EXEC;
    let shared = libc::MAP_SHARED | libc::MAP_NORESERVE;
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    calls! {
        mmap SYS_mmap (SOME, 4096, protection, libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE, 3, 4096) true;
        mmap SYS_mmap (0, 4096, libc::PROT_READ | libc::PROT_WRITE, private, u64::MAX, 0) true;
        mmap SYS_mmap (0, 4096, libc::PROT_READ | libc::PROT_WRITE, shared, 3, 0) true;
        mprotect SYS_mprotect (SOME, 4096, libc::PROT_READ | libc::PROT_WRITE) true;
        munmap SYS_munmap (SOME, 4096) true;
        memfd_create SYS_memfd_create (SOME, libc::MFD_CLOEXEC) true;
        write SYS_write (3, SOME, 4096) true;
        read SYS_read (3, SOME, 832) true;
        pread64 SYS_pread64 (3, SOME, 784, 64) true;
        openat SYS_openat (HERE, SOME, libc::O_RDONLY | libc::O_CLOEXEC) true;
        newfstatat SYS_newfstatat (3, SOME, SOME, libc::AT_EMPTY_PATH) true;
        close SYS_close (3) true;
        rt_sigreturn SYS_rt_sigreturn () true;
        socket SYS_socket (libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0) true;
        connect SYS_connect (3, SOME, 110) true;
        sendto SYS_sendto (3, SOME, 128, libc::MSG_NOSIGNAL, 0, 0) true;
        recvmsg SYS_recvmsg (3, SOME, libc::MSG_CMSG_CLOEXEC) true;
        futex SYS_futex (SOME, libc::FUTEX_WAIT, 0, SOME) true;
        gettid SYS_gettid () true;
        getpid SYS_getpid () true;
        fstat SYS_fstat (3, SOME) false;
        brk SYS_brk (SOME) false;
        madvise SYS_madvise (SOME, 4096, libc::MADV_DONTNEED) false;
        setsockopt SYS_setsockopt (3, libc::SOL_SOCKET, libc::SO_RCVTIMEO, SOME, 16) false;
        prlimit64 SYS_prlimit64 (0, libc::RLIMIT_AS, 0, SOME) false;
        rt_sigprocmask SYS_rt_sigprocmask (u64::MAX, SOME, 0, 8) false;
        rt_sigprocmask SYS_rt_sigprocmask (0, SOME, SOME, 8) false;
        mincore SYS_mincore (SOME, 4096, SOME) false;
        getrusage SYS_getrusage (libc::RUSAGE_SELF, SOME) false;
        process_vm_readv SYS_process_vm_readv (1, SOME, 1, SOME, 1, 0) false;
        process_vm_writev SYS_process_vm_writev (1, SOME, 1, SOME, 1, 0) false;
        pwrite64 SYS_pwrite64 (3, SOME, 5, SOME) false;
        openat SYS_openat (HERE, SOME, libc::O_WRONLY | libc::O_CLOEXEC) false;
        openat SYS_openat (HERE, SOME, libc::O_PATH | libc::O_CLOEXEC) false;
        statx SYS_statx (HERE, SOME, 0, libc::STATX_BASIC_STATS, SOME) false;
        recvfrom SYS_recvfrom (3, SOME, 1, 0, 0, 0) false;
        sched_yield SYS_sched_yield () false;
        nanosleep SYS_nanosleep (SOME, 0) false;
        clock_gettime SYS_clock_gettime (libc::CLOCK_MONOTONIC, SOME) false;
    }
    .into_iter()
}

/// An instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    k: u32,
}

/// Whether a process lets itself be recorded, or why not.
pub fn check(threads: impl IntoIterator<Item = i32>) -> Result<(), String> {
    let mut known: Vec<Vec<Vec<Instruction>>> = Vec::new();
    for tid in threads {
        // It has ended, or waits for a disk.
        let Some(thread) = Traced::stopped(tid, Instant::now() + PATIENCE) else { continue };
        let filters = filters(&thread).map_err(|error| {
            format!(
                "it has forbidden itself system calls (seccomp), and what it allows is not shown: {error}; run memtoll as root, or \
                 start the program with memtoll record"
            )
        })?;
        drop(thread);
        if known.contains(&filters) {
            continue;
        }
        if let Some(call) = calls().find(|call| !is_allowed(&filters, call)) {
            return Err(format!(
                "it has forbidden itself system calls (seccomp), {} among them, which the recorder needs; start it with memtoll \
                 record",
                call.name
            ));
        }
        known.push(filters);
    }
    Ok(())
}

/// The filters of a thread that stands still.
fn filters(thread: &Traced) -> io::Result<Vec<Vec<Instruction>>> {
    let mut all = Vec::new();
    loop {
        match thread.filter(all.len()) {
            Ok(words) => all.push(words.into_iter().map(instruction).collect()),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

fn instruction(word: u64) -> Instruction {
    Instruction { code: word as u16, if_true: (word >> 16) as u8, if_false: (word >> 24) as u8, k: (word >> 32) as u32 }
}

fn is_allowed(filters: &[Vec<Instruction>], call: &Call) -> bool {
    // Of several filters, the strictest counts.
    let verdicts = filters.iter().map(|filter| run(filter, call.number as u32, &call.arguments).unwrap_or(0));
    let action = verdicts.map(|verdict| (verdict & 0xffff_0000) as i32).min().unwrap_or(ALLOW as i32) as u32;
    matches!(action, ALLOW | LOG) || (action == ERRNO && !call.is_needed)
}

/// What a filter says of a call. None: it is not a program that ends.
fn run(filter: &[Instruction], number: u32, arguments: &[u64; 6]) -> Option<u32> {
    // struct seccomp_data: the number, the architecture, the instruction's address, the arguments
    let mut data = vec![number, ARCHITECTURE, SOME as u32, (SOME >> 32) as u32];
    data.extend(arguments.iter().flat_map(|argument| [*argument as u32, (*argument >> 32) as u32]));
    let (mut a, mut x, mut memory) = (0u32, 0u32, [0u32; 16]);
    let mut at = 0usize;
    loop {
        let Instruction { code, if_true, if_false, k } = *filter.get(at)?;
        at += 1;
        let operand = if code & 8 == 0 { k } else { x };
        match code {
            0x20 => a = *data.get(k as usize / 4)?,
            0x80 | 0x81 => *(if code == 0x80 { &mut a } else { &mut x }) = 64, // the length of that
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = *memory.get(k as usize)?,
            0x61 => x = *memory.get(k as usize)?,
            0x02 => *memory.get_mut(k as usize)? = a,
            0x03 => *memory.get_mut(k as usize)? = x,
            0x04 | 0x0c => a = a.wrapping_add(operand),
            0x14 | 0x1c => a = a.wrapping_sub(operand),
            0x24 | 0x2c => a = a.wrapping_mul(operand),
            0x34 | 0x3c => a = a.checked_div(operand)?,
            0x44 | 0x4c => a |= operand,
            0x54 | 0x5c => a &= operand,
            0x64 | 0x6c => a = a.wrapping_shl(operand),
            0x74 | 0x7c => a = a.wrapping_shr(operand),
            0x84 => a = a.wrapping_neg(),
            0xa4 | 0xac => a ^= operand,
            0x05 => at = at.checked_add(k as usize)?,
            0x15 | 0x1d => at += usize::from(if a == operand { if_true } else { if_false }),
            0x25 | 0x2d => at += usize::from(if a > operand { if_true } else { if_false }),
            0x35 | 0x3d => at += usize::from(if a >= operand { if_true } else { if_false }),
            0x45 | 0x4d => at += usize::from(if a & operand != 0 { if_true } else { if_false }),
            0x06 => return Some(k),
            0x16 => return Some(a),
            0x07 => x = a,
            0x87 => a = x,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(code: u16, if_true: u8, if_false: u8, k: u32) -> Instruction {
        Instruction { code, if_true, if_false, k }
    }

    fn call(name: &str) -> Call {
        calls().find(|call| call.name == name).unwrap()
    }

    /// As libseccomp writes it: the architecture, then a list of calls, and of one an argument.
    fn filter(otherwise: u32) -> Vec<Instruction> {
        vec![
            one(0x20, 0, 0, 4),
            one(0x15, 0, 6, ARCHITECTURE),
            one(0x20, 0, 0, 0),
            one(0x15, 3, 0, libc::SYS_memfd_create as u32),
            one(0x15, 0, 3, libc::SYS_socket as u32),
            one(0x20, 0, 0, 16),
            one(0x15, 0, 1, libc::AF_UNIX as u32),
            one(0x06, 0, 0, ALLOW),
            one(0x06, 0, 0, otherwise),
        ]
    }

    #[test]
    fn filters_are_run() {
        assert_eq!(run(&filter(0), libc::SYS_socket as u32, &[libc::AF_INET as u64, 0, 0, 0, 0, 0]), Some(0));
        for otherwise in [0, ERRNO | 1] {
            let filters = [vec![one(0x06, 0, 0, ALLOW)], filter(otherwise)];
            assert!(is_allowed(&filters, &call("memfd_create")));
            assert!(is_allowed(&filters, &call("socket")));
            assert!(!is_allowed(&filters, &call("connect")));
            assert_eq!(is_allowed(&filters, &call("mincore")), otherwise != 0, "it may fail, but not be the end");
        }
        assert_eq!(run(&[one(0x05, 0, 0, 9)], 0, &[0; 6]), None);
        assert!(is_allowed(&[], &call("connect")));
    }
}
