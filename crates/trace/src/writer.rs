//! Writes a recording, block after block.

use crate::frame::{BlockKind, HEADER_BYTES, Header, MAX_PAYLOAD, SIGNATURE_BYTES, signature};
use serde::Serialize;
use std::io::{self, Write};

/// A block of up to so many bytes is copied, so that one system call writes it.
const JOINED: usize = 64 << 10;

/// Writes blocks to a file or any other sink.
pub struct Writer<W> {
    sink: W,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Starts a recording: writes the signature.
    pub fn new(mut sink: W) -> io::Result<Self> {
        sink.write_all(&signature())?;
        Ok(Writer { sink, written: SIGNATURE_BYTES as u64 })
    }

    /// Goes on with a recording of which `sink` has `written` bytes already.
    pub fn behind(sink: W, written: u64) -> Self {
        Writer { sink, written }
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The sink, for instance to cut off a block that was not written whole.
    pub fn sink_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Writes a block of `kind` that belongs to `image` (0: to the whole recording).
    pub fn block(&mut self, kind: BlockKind, image: u32, payload: &[u8]) -> io::Result<()> {
        if payload.len() > MAX_PAYLOAD {
            return Err(io::Error::other(format!(
                "a block of {} bytes is longer than the format allows",
                payload.len()
            )));
        }
        let header = Header::of(kind, image, payload).bytes();
        if payload.len() <= JOINED {
            self.sink.write_all(&[&header, payload].concat())?;
        } else {
            self.sink.write_all(&header)?;
            self.sink.write_all(payload)?;
        }
        self.written += (HEADER_BYTES + payload.len()) as u64;
        Ok(())
    }

    /// Writes a block that is JSON.
    pub fn json<T: Serialize>(&mut self, kind: BlockKind, image: u32, value: &T) -> io::Result<()> {
        let payload = serde_json::to_vec(value)?;
        self.block(kind, image, &payload)
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
