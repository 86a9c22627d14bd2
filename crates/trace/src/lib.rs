//! The `.memtoll` file format, described in `format/FORMAT.md`: writing and reading.

pub mod by_module;
pub mod bytes;
pub mod cells;
pub mod chapter;
pub mod costs;
pub mod event;
pub mod events;
pub mod fnv;
pub mod frame;
pub mod histogram;
pub mod ids;
pub mod index;
pub mod inherited;
pub mod meta;
pub mod metrics;
pub mod nodes;
pub mod op;
pub mod packed_sites;
pub mod parts;
pub mod path;
pub mod pattern;
pub mod reader;
pub mod scanned;
pub mod snapshot;
pub mod sparse;
pub mod summary;
pub mod symbols;
pub mod timeline;
pub mod unreadable;
pub mod writer;

use std::cell::RefCell;

/// What is wrong with a piece of a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Damage {
    /// The data end before what they announce.
    #[error("the data end too early")]
    Short,
    /// A value that no writer produces.
    #[error("{0}")]
    Value(&'static str),
    /// The compressed data do not decompress to what they should.
    #[error("compressed data are corrupt")]
    Compression,
}

/// zstd's fastest level. For what a compiler's call sites say, level 3 takes twice as long.
const LEVEL: i32 = 1;

/// Compresses what is written beside events.
fn compress(plain: &[u8]) -> Vec<u8> {
    // A compressor has some 100 KB of tables; most of what is packed here is less than 1 KB.
    thread_local! {
        static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = RefCell::new(zstd::bulk::Compressor::new(LEVEL).ok());
    }
    // Fails only when it cannot have memory, which ends a Rust program anyway.
    COMPRESSOR.with_borrow_mut(|compressor| compressor.as_mut()?.compress(plain).ok()).unwrap_or_default()
}

/// The inverse; refuses to make more than `limit` bytes.
fn decompress(packed: &[u8], limit: usize) -> Result<Vec<u8>, Damage> {
    use std::io::Read;
    use zstd::zstd_safe::{DCtx, ResetDirective};
    thread_local! {
        // Making one takes longer than unpacking what a short process leaves.
        static CONTEXT: std::cell::RefCell<DCtx<'static>> = std::cell::RefCell::new(DCtx::create());
    }
    CONTEXT.with_borrow_mut(|context| {
        context.reset(ResetDirective::SessionOnly).map_err(|_| Damage::Compression)?;
        let decoder = zstd::stream::read::Decoder::with_context(packed, context);
        let mut plain = Vec::new();
        decoder.take(limit as u64 + 1).read_to_end(&mut plain).map_err(|_| Damage::Compression)?;
        if plain.len() > limit { Err(Damage::Compression) } else { Ok(plain) }
    })
}
