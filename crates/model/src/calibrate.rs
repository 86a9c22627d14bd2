//! Writes what plain runs took into a recording.

use crate::symbolize::{SymbolizeError, write_block};
use memtoll_trace::frame::BlockKind;
use memtoll_trace::meta::Calibration;
use std::io;
use std::path::Path;

/// Writes it into the recording at `path`, in place of an older one.
///
/// # Errors
/// The recording is as it was before: somebody writes it, or it cannot be replaced.
pub fn store_calibration(path: &Path, calibration: &Calibration) -> Result<(), SymbolizeError> {
    // A link stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cannot_write = |source| SymbolizeError::Write { path: path.clone(), source };
    let payload = serde_json::to_vec(calibration).map_err(|error| cannot_write(io::Error::from(error)))?;
    write_block(path, BlockKind::Calibration, &payload)
}
