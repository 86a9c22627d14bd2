//! How a thread of another process is made to call a function, and finds back by itself.
//!
//! Its registers are kept in a frame like those that the kernel makes for signal handlers. The function that it is sent to
//! returns into the C library's code for the end of a signal handler, and that brings everything back: also when the process
//! that sent it there is gone by then.

use std::arch::global_asm;

/// The registers of a thread, as `PTRACE_GETREGSET` has them for `NT_PRSTATUS` (`user_regs_struct`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers(pub [u64; COUNT]);

/// How many there are.
pub const COUNT: usize = 27;

const R15: usize = 0;
const R14: usize = 1;
const R13: usize = 2;
const R12: usize = 3;
const RBP: usize = 4;
const RBX: usize = 5;
const R11: usize = 6;
const R10: usize = 7;
const R9: usize = 8;
const R8: usize = 9;
const RAX: usize = 10;
const RCX: usize = 11;
const RDX: usize = 12;
const RSI: usize = 13;
const RDI: usize = 14;
const ORIG_RAX: usize = 15;
const RIP: usize = 16;
const CS: usize = 17;
const FLAGS: usize = 18;
const RSP: usize = 19;
const SS: usize = 20;
const FS_BASE: usize = 21;

/// What a thread may have written below its stack pointer, bytes.
const RED_ZONE: u64 = 128;
/// The code segment of 64-bit programs.
const CODE_64: u64 = 0x33;
/// Interrupts are on, everything else is clear.
const PLAIN_FLAGS: u64 = 0x202;
const NO_CALL: u64 = u64::MAX;
const RT_SIGRETURN: u64 = 15;
/// `mov $15, %rax; syscall`: the C library's return from a signal handler.
const RESTORER: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
const SYSCALL_BYTES: u64 = 2;
/// A system call with its number.
pub const CALL_BYTES: usize = 7;
/// What the kernel has in the result's register where an interrupted system call is to be made again.
const RESTARTS: [i64; 4] = [-512, -513, -514, -516];

/// Length of a jump, bytes.
pub const JUMP: usize = 5;

/// Where a jump goes that is the first instruction of `code`, at this address.
pub fn jump_target(code: &[u8], address: u64) -> Option<u64> {
    let [0xe9, distance @ ..] = code.get(..JUMP)? else { return None };
    let distance = i32::from_le_bytes(distance.try_into().ok()?);
    (address + JUMP as u64).checked_add_signed(distance.into())
}

/// Whether the processor keeps return addresses of a thread itself, too, as its `/proc/PID/status` says: then it compares them.
pub fn has_shadow_stack(status: &str) -> bool {
    let mut features = status.lines().filter_map(|line| line.strip_prefix("x86_Thread_features:"));
    features.any(|features| features.contains("shstk"))
}

/// Where the code for the end of a signal handler is in `code`.
pub fn find_restorer(code: &[u8]) -> Option<usize> {
    code.windows(RESTORER.len()).position(|window| window == RESTORER)
}

/// Whether a thread that returns to `code` ends a signal handler.
pub fn is_restorer(code: &[u8]) -> bool {
    code.starts_with(&RESTORER)
}

/// Whether the words from a return address on a stack look like the kernel's frame of a signal handler.
pub fn is_signal_frame(words: &[u64]) -> bool {
    const FLAGS_AT: usize = 1;
    const CS_AT: usize = 1 + 5 + 18;
    words.get(FLAGS_AT).is_some_and(|flags| *flags < 8) && words.get(CS_AT).is_some_and(|cs| cs & 0xffff == CODE_64)
}

/// What a signal handler has interrupted, by the words from its return address on: the instruction, and the stack pointer. None: it
/// does not look like one.
pub fn interrupted(words: &[u64]) -> Option<(u64, u64)> {
    const RSP_AT: usize = 1 + 5 + 15;
    const RIP_AT: usize = 1 + 5 + 16;
    is_signal_frame(words).then(|| (words[RIP_AT], words[RSP_AT]))
}

impl Registers {
    /// Where the thread is.
    pub fn instruction(&self) -> u64 {
        self.0[RIP]
    }

    /// Moves it.
    pub fn set_instruction(&mut self, address: u64) {
        self.0[RIP] = address;
    }

    /// The end of its stack in use.
    pub fn stack(&self) -> u64 {
        self.0[RSP]
    }

    /// Where its thread-local variables are: those of libraries lie below.
    pub fn thread_pointer(&self) -> u64 {
        self.0[FS_BASE]
    }

    /// The futex that it waits for, if it is in such a system call.
    pub fn futex(&self) -> Option<u64> {
        const FUTEX: u64 = 202;
        (self.0[ORIG_RAX] == FUTEX).then_some(self.0[RDI])
    }

    /// Whether it is in a system call, or at the end of one.
    pub fn is_in_call(&self) -> bool {
        self.0[ORIG_RAX] != NO_CALL
    }

    /// Whether it is in a system call that an allocator makes.
    pub fn is_in_call_for_memory(&self) -> bool {
        // mmap, mprotect, munmap, brk, mremap, madvise
        const FOR_MEMORY: [u64; 6] = [9, 10, 11, 12, 25, 28];
        FOR_MEMORY.contains(&self.0[ORIG_RAX])
    }

    /// Whether it is in a system call that starts a process or thread.
    pub fn is_in_fork(&self) -> bool {
        // clone, fork, vfork, clone3
        const FORKS: [u64; 4] = [56, 57, 58, 435];
        FORKS.contains(&self.0[ORIG_RAX])
    }

    /// Whether it executes 64-bit code.
    pub fn is_64_bit(&self) -> bool {
        self.0[CS] == CODE_64
    }

    /// Whether it is about to return from a signal handler through `restorer`.
    pub fn returns_through(&self, restorer: u64) -> bool {
        self.0[ORIG_RAX] == RT_SIGRETURN && self.0[RIP] == restorer + RESTORER.len() as u64
    }

    /// Where the code that made the present system call begins, as far as `make_call_again` asks for it.
    pub fn before_call(&self) -> u64 {
        self.0[RIP] - CALL_BYTES as u64
    }

    /// A call that the kernel has been restarting by itself has lost its number, which is in the code before it. False: it is not.
    pub fn make_call_again(&mut self, before: &[u8; CALL_BYTES]) -> bool {
        const RESTART_SYSCALL: u64 = 219;
        if self.0[ORIG_RAX] != RESTART_SYSCALL {
            return true;
        }
        // `mov $number, %eax; syscall`
        let [0xb8, a, b, c, d, 0x0f, 0x05] = *before else { return false };
        self.0[ORIG_RAX] = u32::from_le_bytes([a, b, c, d]).into();
        true
    }

    /// The frame from which the thread finds back to these registers, below `top`, and its address. `state`: its other registers,
    /// as `PTRACE_GETREGSET` has them for `NT_X86_XSTATE`. `mask`: its blocked signals.
    pub fn frame(&self, top: u64, restorer: u64, mask: u64, state: &[u8]) -> (u64, Vec<u8>) {
        const WORD: usize = 8;
        const UCONTEXT: usize = 40 + 256 + WORD;
        const SIGINFO: usize = 128;
        const FRAME: usize = WORD + UCONTEXT + SIGINFO;
        const SOFTWARE: usize = 464; // of the state: free for the kernel's notes
        const MAGIC_1: u32 = 0x4650_5853;
        const MAGIC_2: u32 = 0x4650_5845;
        const XSTATE_AND_STRICT_SS: u64 = 1 | 2 | 4;
        let state_at = (top - state.len() as u64 - 4) & !63;
        // Where a called function expects its stack.
        let at = ((state_at - FRAME as u64) & !15) - WORD as u64;
        let mut bytes = vec![0; (top - at) as usize];
        let mut put = |at: usize, word: u64| bytes[at..at + WORD].copy_from_slice(&word.to_le_bytes());
        put(0, restorer);
        put(WORD, XSTATE_AND_STRICT_SS);
        let r = &self.0;
        let (mut rip, mut rax) = (r[RIP], r[RAX]);
        if r[ORIG_RAX] as i64 >= 0 && RESTARTS.contains(&(rax as i64)) {
            // As the kernel does it.
            rip -= SYSCALL_BYTES;
            rax = r[ORIG_RAX];
        }
        let segments = r[CS] & 0xffff | (r[SS] & 0xffff) << 48;
        let in_order = [
            r[R8], r[R9], r[R10], r[R11], r[R12], r[R13], r[R14], r[R15], r[RDI], r[RSI], r[RBP], r[RBX], r[RDX], rax,
            r[RCX], r[RSP], rip, r[FLAGS], segments, 0, 0, mask, 0, state_at,
        ];
        // Behind flags, link and the alternative stack, which stays as it is: it has no size here.
        for (index, word) in in_order.into_iter().enumerate() {
            put((6 + index) * WORD, word);
        }
        put(WORD + 296, mask);
        let in_frame = (state_at - at) as usize;
        bytes[in_frame..in_frame + state.len()].copy_from_slice(state);
        let mut note = |at: usize, bytes_of_note: &[u8]| {
            bytes[in_frame + at..in_frame + at + bytes_of_note.len()].copy_from_slice(bytes_of_note);
        };
        // ptrace shows which parts there are where the frame has them 8 bytes further on.
        let parts: [u8; WORD] = state[SOFTWARE..SOFTWARE + WORD].try_into().unwrap_or_default();
        note(SOFTWARE, &MAGIC_1.to_le_bytes());
        note(SOFTWARE + 4, &(state.len() as u32 + 4).to_le_bytes());
        note(SOFTWARE + 8, &parts);
        note(SOFTWARE + 16, &(state.len() as u32).to_le_bytes());
        note(state.len(), &MAGIC_2.to_le_bytes());
        (at, bytes)
    }

    /// Below what is the thread's own.
    pub fn top_for_frame(&self) -> u64 {
        self.0[RSP] - RED_ZONE
    }

    /// The registers with which the thread calls `function`, which finds its stack at `frame`.
    pub fn calling(&self, function: u64, frame: u64, arguments: [u64; 6]) -> Registers {
        let mut registers = self.clone();
        let r = &mut registers.0;
        for (register, argument) in [RDI, RSI, RDX, RCX, R8, R9].into_iter().zip(arguments) {
            r[register] = argument;
        }
        (r[RIP], r[RSP], r[FLAGS], r[RAX], r[ORIG_RAX]) = (function, frame, PLAIN_FLAGS, 0, NO_CALL);
        registers
    }
}

/// What the code that is brought into a process is to do, and how far it came.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Order {
    /// 1 when it is done.
    pub done: u64,
    /// How far it came: `ALL_DONE`, or what has failed.
    pub step: u64,
    /// The result of that step: an error's number, negative; the address of a text; what the library said.
    pub value: u64,
    /// What is to be writable: it contains this order, the library's bytes and the stack.
    pub memory: u64,
    /// Its length, bytes.
    pub memory_bytes: u64,
    /// The content of the library's file.
    pub library: u64,
    /// Its length, bytes.
    pub library_bytes: u64,
    /// The C library's functions.
    pub dlopen: u64,
    /// See there.
    pub dlerror: u64,
    /// See there.
    pub dlsym: u64,
    /// `__errno_location`.
    pub errno_location: u64,
    /// How long the path is without the descriptor's number, bytes.
    pub path_bytes: u64,
    /// The path of the file, to which the number is added.
    pub path: [u8; 80],
    /// The name of the file in memory.
    pub file_name: [u8; 24],
    /// What debuggers are shown as the library's path: a number of a descriptor would be one of their own.
    pub shown: [u8; 40],
    /// The library's function that is called in the end.
    pub function: [u8; 24],
    /// What that function is given.
    pub argument: [u8; 256],
}

/// The steps of an order.
pub mod step {
    /// A file in memory is made.
    pub const FILE: u64 = 1;
    /// The library is written there.
    pub const WRITE: u64 = 2;
    /// It is loaded.
    pub const LOAD: u64 = 3;
    /// It looks up the function by name.
    pub const FIND: u64 = 4;
    /// That is called.
    pub const CALL: u64 = 5;
    /// All is done.
    pub const ALL_DONE: u64 = 6;
}

// Every register is restored afterwards. In the beginning nothing but code can be written here, and no stack is needed.
global_asm!(
    ".pushsection .rodata",
    "memtoll_carries_out_an_order:",
    "mov rbx, rdi",
    "mov eax, 10", // mprotect
    "mov rdi, [rbx + {memory}]",
    "mov rsi, [rbx + {memory_bytes}]",
    "mov edx, 3",
    "syscall",
    "test rax, rax",
    "jnz 9f",
    "sub rsp, 8",
    "call [rbx + {errno_location}]",
    "mov r14, rax",
    "mov r13d, [rax]",
    "mov qword ptr [rbx + {step}], 1",
    "mov eax, 319", // memfd_create
    "lea rdi, [rbx + {file_name}]",
    "mov esi, 1",
    "syscall",
    "mov [rbx + {value}], rax",
    "test rax, rax",
    "js 8f",
    "mov r12, rax",
    "mov qword ptr [rbx + {step}], 2",
    "mov rbp, [rbx + {library}]",
    "mov r15, [rbx + {library_bytes}]",
    "2:",
    "mov eax, 1", // write
    "mov rdi, r12",
    "mov rsi, rbp",
    "mov rdx, r15",
    "syscall",
    "mov [rbx + {value}], rax",
    "test rax, rax",
    "jle 7f",
    "add rbp, rax",
    "sub r15, rax",
    "jnz 2b",
    "mov qword ptr [rbx + {step}], 3",
    "lea rdi, [rbx + {path}]",
    "add rdi, [rbx + {path_bytes}]",
    "mov eax, r12d",
    "xor ecx, ecx",
    "mov esi, 10",
    "3:",
    "xor edx, edx",
    "div esi",
    "add edx, 48",
    "push rdx",
    "inc ecx",
    "test eax, eax",
    "jnz 3b",
    "4:",
    "pop rdx",
    "mov [rdi], dl",
    "inc rdi",
    "dec ecx",
    "jnz 4b",
    "mov byte ptr [rdi], 0",
    "lea rdi, [rbx + {path}]",
    "mov esi, 2", // RTLD_NOW
    "call [rbx + {dlopen}]",
    "mov rbp, rax",
    "test rax, rax",
    "jz 6f",
    "lea rax, [rbx + {shown}]",
    "mov [rbp + 8], rax", // l_name of struct link_map
    "mov qword ptr [rbx + {step}], 4",
    "mov rdi, rbp",
    "lea rsi, [rbx + {function}]",
    "call [rbx + {dlsym}]",
    "test rax, rax",
    "jz 6f",
    "mov qword ptr [rbx + {step}], 5",
    "lea rdi, [rbx + {argument}]",
    "call rax",
    "movsxd rax, eax",
    "mov [rbx + {value}], rax",
    "test rax, rax",
    "jnz 7f",
    "mov qword ptr [rbx + {step}], 6",
    "jmp 7f",
    "6:",
    "call [rbx + {dlerror}]",
    "mov [rbx + {value}], rax",
    "7:",
    "mov eax, 3", // close
    "mov rdi, r12",
    "syscall",
    "mov eax, 28", // madvise: the library's bytes are not needed any more
    "mov rdi, [rbx + {library}]",
    "mov rsi, [rbx + {library_bytes}]",
    "mov edx, 4",
    "syscall",
    "8:",
    "mov [r14], r13d",
    "add rsp, 8",
    "mov qword ptr [rbx], 1",
    "9:",
    "ret",
    "memtoll_carried_out_an_order:",
    ".popsection",
    memory = const std::mem::offset_of!(Order, memory),
    memory_bytes = const std::mem::offset_of!(Order, memory_bytes),
    errno_location = const std::mem::offset_of!(Order, errno_location),
    step = const std::mem::offset_of!(Order, step),
    value = const std::mem::offset_of!(Order, value),
    file_name = const std::mem::offset_of!(Order, file_name),
    library = const std::mem::offset_of!(Order, library),
    library_bytes = const std::mem::offset_of!(Order, library_bytes),
    shown = const std::mem::offset_of!(Order, shown),
    path = const std::mem::offset_of!(Order, path),
    path_bytes = const std::mem::offset_of!(Order, path_bytes),
    dlopen = const std::mem::offset_of!(Order, dlopen),
    dlerror = const std::mem::offset_of!(Order, dlerror),
    dlsym = const std::mem::offset_of!(Order, dlsym),
    function = const std::mem::offset_of!(Order, function),
    argument = const std::mem::offset_of!(Order, argument),
);

unsafe extern "C" {
    static memtoll_carries_out_an_order: u8;
    static memtoll_carried_out_an_order: u8;
}

/// The code that carries out an order, whose address is its first argument.
pub fn code() -> &'static [u8] {
    let (begin, end) = (&raw const memtoll_carries_out_an_order, &raw const memtoll_carried_out_an_order);
    // SAFETY: both are labels around the same constant bytes.
    unsafe { std::slice::from_raw_parts(begin, end as usize - begin as usize) }
}
