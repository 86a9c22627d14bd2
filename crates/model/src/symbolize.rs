//! Writes names into a recording.

use crate::load::Loader;
use memtoll_symbols::{Findings, Search};
use memtoll_trace::frame::{BlockKind, HEADER_BYTES};
use memtoll_trace::index::Entry;
use memtoll_trace::meta::variables;
use memtoll_trace::reader::{self, BlockRef, Reader};
use memtoll_trace::symbols::file_name;
use memtoll_trace::writer::Writer;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// What [`symbolize`] did.
pub struct Symbolized {
    /// What the search led to.
    pub findings: Findings,
    /// Files with functions that still have no names, without their folders, sorted.
    pub unnamed: Vec<String>,
    /// Whether the recording is another one now.
    pub is_written: bool,
}

/// Why names could not be written into a recording. It is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum SymbolizeError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] reader::Error),
    /// It is being written.
    #[error("{} is being written by another memtoll: wait until that is done", .0.display())]
    InUse(PathBuf),
    /// The new recording cannot be written.
    #[error("cannot write into {}: {source}; the recording is unchanged", path.display())]
    Write {
        /// The recording.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Looks for names that the recording at `path` lacks and writes them into it. A recording that was cut off has none at
/// all, and gets those that can be found.
///
/// The recording is written anew beside the old one, which it replaces when it is complete: whatever happens meanwhile,
/// one of both is there.
pub fn symbolize(path: &Path, search: &mut Search) -> Result<Symbolized, SymbolizeError> {
    // A link stays one.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut loader = Loader::read(path)?;
    let had_names = loader.has_symbols();
    let (symbols, findings) = loader.symbols(Some(search));
    let is_unnamed = |module: &&memtoll_trace::symbols::ModuleSymbols| {
        (0..module.addresses.len()).any(|index| module.unnamed_at(&symbols, index).is_some())
    };
    let unnamed: BTreeSet<&str> =
        symbols.modules.iter().filter(is_unnamed).map(|module| file_name(&module.path)).collect();
    let unnamed = unnamed.into_iter().map(str::to_owned).collect();
    let has_names = !had_names || !findings.found.is_empty();
    if has_names {
        write_block(path, BlockKind::Symbols, &symbols.encode())?;
    }
    let variables = loader.more_variables(search.resolver()).ok().flatten();
    if let Some(variables) = &variables {
        write_block(path, BlockKind::Variables, &variables::encode(variables))?;
    }
    Ok(Symbolized { findings, unnamed, is_written: has_names || variables.is_some() })
}

/// Writes a block into the recording at `path`: in place of one of its kind, or before the end. The recording is written
/// anew, and takes the place of the old one when it is complete.
pub(crate) fn write_block(path: &Path, kind: BlockKind, payload: &[u8]) -> Result<(), SymbolizeError> {
    let cannot_write = |source| SymbolizeError::Write { path: path.to_owned(), source };
    let old = File::open(path).map_err(cannot_write)?;
    if rustix::fs::flock(&old, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
        return Err(SymbolizeError::InUse(path.to_owned()));
    }
    replace(path, &old, kind, payload).map_err(cannot_write)
}

fn replace(path: &Path, old: &File, kind: BlockKind, payload: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut new = tempfile::Builder::new().prefix(".memtoll-").tempfile_in(folder)?;
    copy_with(path, old, new.as_file_mut(), kind, payload)?;
    let data = old.metadata()?;
    // Another user's recording stays that user's, where possible.
    use std::os::unix::fs::MetadataExt;
    let _ = std::os::unix::fs::fchown(new.as_file(), Some(data.uid()), Some(data.gid()));
    new.as_file().set_permissions(data.permissions())?;
    // A full disk may become known only now.
    new.as_file().sync_all()?;
    new.persist(path)?;
    Ok(())
}

/// Copies a recording; the block takes the place of those of its kind. Whatever stands behind a damage is kept. The index is
/// made anew, if there was one.
fn copy_with(path: &Path, mut old: &File, new: &mut File, kind: BlockKind, payload: &[u8]) -> io::Result<()> {
    let reader = Reader::open(path).map_err(io::Error::other)?;
    let (blocks, all) = (reader.blocks, reader.bytes_before_index);
    let is = |kind| blocks.iter().position(|block| block.header.kind == kind);
    let place = is(kind).or(is(BlockKind::End)).unwrap_or(blocks.len());
    let end_of = |index: usize| blocks[index].offset + u64::from(blocks[index].header.length);
    let start_of = |index: usize| blocks.get(index).map(|block| block.offset - HEADER_BYTES as u64);
    let entries = |blocks: &[BlockRef]| -> Vec<Entry> {
        let others = blocks.iter().filter(|block| block.header.kind != kind);
        others.map(|block| (block.header, block.extent)).collect()
    };
    let mut copy = |new: &mut File, from: u64, to: u64| {
        old.seek(SeekFrom::Start(from))?;
        let mut part = io::Read::take(old, to - from);
        match io::copy(&mut part, new)? {
            copied if copied == to - from => Ok(()),
            _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    };
    let end = blocks.len().checked_sub(1).map_or(0, end_of);
    let place_at = start_of(place).unwrap_or(end);
    copy(new, 0, place_at)?;
    let mut writer = Writer::behind(&mut *new, place_at, entries(&blocks[..place]));
    writer.block(kind, None, payload)?;
    writer.flush()?;
    let mut written = writer.entries().to_vec();
    let mut from = place_at;
    for (index, block) in blocks.iter().enumerate().skip(place) {
        if block.header.kind == kind {
            copy(new, from, start_of(index).unwrap_or(end))?;
            from = end_of(index);
        }
    }
    copy(new, from, all)?;
    if all < reader.bytes {
        written.extend(entries(&blocks[place..]));
        let length = new.stream_position()?;
        Writer::behind(new, length, written).index()?;
    }
    Ok(())
}
