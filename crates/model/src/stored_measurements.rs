//! Writes into a recording what was measured since.

use crate::load::Loader;
use crate::symbolize::{SymbolizeError, write_block};
use memtoll_trace::frame::BlockKind;
use memtoll_trace::meta::{Calibration, Verified};
use std::io;
use std::path::Path;

/// Writes what plain runs took into the recording at `path`, in place of an older one.
/// If that fails, the recording is as it was before.
pub fn store_calibration(path: &Path, calibration: &Calibration) -> Result<(), SymbolizeError> {
    store(path, BlockKind::Calibration, serde_json::to_vec(calibration))
}

/// Writes what a change saved into the recording at `path`, in place of what is there of the same finding.
pub fn store_verified(path: &Path, verified: Verified) -> Result<(), SymbolizeError> {
    let mut all = Loader::read(path)?.verified;
    all.retain(|known| known.finding != verified.finding);
    all.push(verified);
    store(path, BlockKind::Verified, serde_json::to_vec(&all))
}

fn store(path: &Path, kind: BlockKind, json: serde_json::Result<Vec<u8>>) -> Result<(), SymbolizeError> {
    // A link stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cannot_write = |source| SymbolizeError::Write { path: path.clone(), source };
    write_block(path, kind, &json.map_err(|error| cannot_write(io::Error::from(error)))?)
}
