//! Why a piece of a recording cannot be read.

use crate::Damage;
use std::io;
use std::path::PathBuf;

/// A statement for the user.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system does not give the bytes.
    #[error("cannot read {}: {error}", path.display())]
    File {
        /// Of the recording.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A block holds what no writer produces.
    #[error("the file is damaged at byte {at}: {fault}")]
    Block {
        /// Where its payload begins, bytes from the start of the file.
        at: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// What a scan made of the events does not come back.
    #[error("the file is damaged: {0}")]
    Scanned(#[from] Damage),
    /// The recording has no such piece: who asks takes the events instead.
    #[error("{0}")]
    Absent(&'static str),
    /// Events are unpacked by threads of their own.
    #[error("no thread to read with ({0}): events are missing")]
    NoThread(io::Error),
    /// The user has cancelled the question.
    #[error("the reading was cancelled")]
    Cancelled,
    /// One of the threads that add up panicked.
    #[error("a thread that adds up has failed")]
    ThreadFailed,
    /// The events before were read.
    #[error("{0}; later events are missing")]
    LaterEvents(Box<Unreadable>),
}

/// What is wrong with a block.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Bytes changed since they were written.
    #[error("a checksum does not match")]
    Checksum,
    /// It does not decode.
    #[error(transparent)]
    Payload(#[from] Damage),
    /// It is not the JSON that its kind has.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The image that it is of was not described before.
    #[error("it belongs to no process")]
    NoProcess,
    /// It names a stack node that no block before describes.
    #[error("a call stack that never was")]
    Stack,
    /// The same, or a thread beyond the most that there can be.
    #[error("a call stack or thread that never was")]
    StackOrThread,
}
