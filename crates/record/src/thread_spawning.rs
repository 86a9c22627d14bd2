//! Threads of the supervisor. They may be refused (`ulimit -u`, `-v`, `pids.max`), so starting one is an error like others; and they
//! have small stacks, because address space may be short.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Bytes of stack for a thread.
#[derive(Clone, Copy)]
pub enum Stack {
    /// For one that waits for something and says so.
    Small = 128 << 10,
    /// For one that does real work.
    Large = 512 << 10,
}

/// What helps where threads are refused.
pub const MORE: &str = "raise ulimit -u or -v, or pids.max of the control group";

/// Says that a thread was refused, and what helps.
pub fn refused(error: &io::Error) -> String {
    format!("cannot create a thread ({error}); {MORE}")
}

/// Starts a thread.
pub fn start(name: &str, stack: Stack, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).stack_size(stack as usize).spawn(work)
}
