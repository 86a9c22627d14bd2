//! Events of the target.

use std::sync::Arc;

/// Something that happened in the process tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelEvent {
    /// When, on the caller's clock.
    pub ticks: u64,
    /// The processor it happened on.
    pub cpu: u32,
    /// The process, as numbered where the collector was started.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// What it was.
    pub what: What,
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A page fault, stamped when the kernel has handled it: the time it took lies before.
    Fault {
        /// The address that was touched.
        address: u64,
        /// The code that touched it: an address in the kernel if `in_kernel`.
        ip: u64,
        /// How many faults this one stands for: more than 1 where faults are sampled. Never for major faults.
        weight: u32,
        /// It had to wait for a disk.
        major: bool,
        /// It was taken inside a system call, such as `read` into fresh memory.
        in_kernel: bool,
        /// How long the kernel handled it, in nanoseconds, of the few faults of which that is known: without the
        /// processor's way into the kernel and back, but with the sample at the beginning. See [`crate::Look`].
        handling: Option<u32>,
        /// How large the page is that the address lies in now, in bytes, where the kernel tells it (Linux 5.11).
        page: Option<u64>,
    },
    /// The kernel begins to handle a fault. Kept by the collector, which tells of the whole fault.
    FaultBegins {
        /// The address that was touched.
        address: u64,
    },
    /// The thread has run for another [`crate::Options::running`] ns. Threads inside the kernel are only told of where that is
    /// allowed.
    Runs {
        /// The program's code that runs, or that entered the kernel; 0 where that is not known.
        ip: u64,
        /// The word on top of the program's stack, where that is known: in a function that calls nothing and keeps nothing there,
        /// such as memset, the place to which it returns.
        top: Option<u64>,
        /// Whether the kernel runs, and for what.
        mode: Mode,
    },
    /// The thread left the processor.
    SwitchOut {
        /// It could have gone on, but others wanted to run too.
        preempted: bool,
    },
    /// The thread got the processor.
    SwitchIn,
    /// A mapping was made, grew or got another protection.
    Map(Box<Mapping>),
    /// The thread got a name of its own.
    Name(Box<str>),
    /// The process runs another program now; the name is cut off after 15 bytes, as the kernel does.
    Exec(Box<str>),
    /// The thread made another thread (same process) or process.
    Fork {
        /// The process of the new thread.
        child_pid: u32,
        /// The new thread.
        child_tid: u32,
    },
    /// The thread ended, or is out of sight from here on.
    Exit,
    /// Here the ring was full: records of this processor are missing.
    Lost {
        /// How many records, of any kind.
        records: u64,
    },
}

/// Who runs while a thread has the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    Program,
    /// The kernel, in a system call.
    SystemCall,
    /// The kernel, in a page fault or, seldom, another exception or interrupt.
    Fault,
}

/// A mapping as the kernel has it after the call. Anonymous memory that touches a mapping of the same kind becomes one
/// with it: then the range is that of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    /// Where in the file it begins, in bytes.
    pub page_offset: u64,
    /// PROT_READ, PROT_WRITE, PROT_EXEC.
    pub protection: u32,
    /// MAP_PRIVATE, MAP_SHARED and so on.
    pub flags: u32,
    /// The file, or `//anon`, `[heap]`, `[stack]`, `[vdso]`, `anon_inode:...`.
    pub path: Arc<str>,
}

impl Mapping {
    /// Whether code can run there.
    pub fn is_executable(&self) -> bool {
        self.protection & 4 != 0
    }

    /// Whether the program may write there.
    pub fn is_writable(&self) -> bool {
        self.protection & 2 != 0
    }

    /// Whether processes share it.
    pub fn is_shared(&self) -> bool {
        self.flags & 1 != 0
    }
}
