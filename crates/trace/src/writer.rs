//! Writes a recording, block after block.

use crate::events;
use crate::frame::{BlockKind, HEADER_BYTES, Header, MAX_PAYLOAD, SIGNATURE_BYTES, signature};
use crate::ids::ImageNo;
use crate::index::{self, Entry, Extent};
use serde::Serialize;
use std::io::{self, Write};

/// Largest block, in bytes, that is copied so that one system call writes it.
const JOINED: usize = 64 << 10;

/// Writes blocks to a file or any other sink.
pub struct Writer<W> {
    sink: W,
    written: u64,
    entries: Vec<Entry>,
}

impl<W: Write> Writer<W> {
    /// Starts a recording: writes the signature.
    pub fn new(mut sink: W) -> io::Result<Self> {
        sink.write_all(&signature())?;
        Ok(Writer { sink, written: SIGNATURE_BYTES as u64, entries: Vec::new() })
    }

    /// Goes on with a recording of which `sink` has `written` bytes already: these blocks.
    pub fn behind(sink: W, written: u64, entries: Vec<Entry>) -> Self {
        Writer { sink, written, entries }
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The blocks written so far.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The sink, for instance to cut off a block that was not written whole.
    pub fn sink_mut(&mut self) -> &mut W {
        &mut self.sink
    }

    /// Writes a block of `kind` that belongs to `image` (`None`: to the whole recording).
    pub fn block(&mut self, kind: BlockKind, image: Option<ImageNo>, payload: &[u8]) -> io::Result<()> {
        let is_events = kind == BlockKind::Events;
        let extent = if is_events { events::read_header(payload).ok().map(Extent::from) } else { None };
        self.block_of(kind, image, payload, extent)
    }

    /// The same, where the caller knows what times the block is about.
    pub fn block_of(
        &mut self,
        kind: BlockKind,
        image: Option<ImageNo>,
        payload: &[u8],
        extent: Option<Extent>,
    ) -> io::Result<()> {
        if payload.len() > MAX_PAYLOAD {
            return Err(io::Error::other(format!(
                "a block of {} bytes is longer than the format allows",
                payload.len()
            )));
        }
        let header = Header::of(kind, image, payload);
        if payload.len() <= JOINED {
            self.sink.write_all(&[&header.bytes(), payload].concat())?;
        } else {
            self.sink.write_all(&header.bytes())?;
            self.sink.write_all(payload)?;
        }
        self.written += (HEADER_BYTES + payload.len()) as u64;
        self.entries.push((header, extent));
        Ok(())
    }

    /// Writes a block that is JSON.
    pub fn json<T: Serialize>(&mut self, kind: BlockKind, image: Option<ImageNo>, value: &T) -> io::Result<()> {
        let payload = serde_json::to_vec(value)?;
        self.block(kind, image, &payload)
    }

    /// Writes the index of all blocks so far: the last block.
    pub fn index(&mut self) -> io::Result<()> {
        let payload = index::encode(&self.entries);
        self.block(BlockKind::Index, None, &payload)
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
