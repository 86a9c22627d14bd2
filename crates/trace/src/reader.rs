//! Opens a recording and hands out its blocks.
//!
//! Opening reads the index at the end of the file or, where that is missing, the block headers (20 bytes for some 64 K
//! events), so a recording of any length opens at once and any part of it can be read without what lies before.

use crate::events;
use crate::frame::{BlockKind, HEADER_BYTES, Header, MAJOR, SIGNATURE, SIGNATURE_BYTES};
use crate::index::{self, Extent};
use crate::unreadable::{Fault, Unreadable};
use memtoll_text::format;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened or read.
    #[error("cannot read {path}: {source}{}", next_step(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{path} is not a memtoll recording: expected it to begin with \"memtoll\", found {found}; make one with: memtoll record -- PROGRAM"
    )]
    NotARecording {
        /// The file.
        path: PathBuf,
        /// Its first bytes, readable.
        found: String,
    },
    /// The file begins like a recording, but it was cut off at once, or changed as if it were a text.
    #[error("{path} is a damaged memtoll recording: {why}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How it is damaged, and what may help.
        why: String,
    },
    /// The file's format is of another major version.
    #[error("{path} has format version {found}, this memtoll reads version {MAJOR}; use the memtoll that wrote it")]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
    },
    /// The file ends before it says anything.
    #[error("{path} holds no process: it was cut off after {bytes} bytes")]
    Empty {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
}

/// Where a block stands.
#[derive(Clone, Copy, Debug)]
pub struct BlockRef {
    pub header: Header,
    /// Offset of the payload in the file, bytes.
    pub offset: u64,
    /// What times it is about, as the index or else, of events, the block itself says.
    pub extent: Option<Extent>,
}

fn next_step(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::NotFound => "; make a recording with: memtoll record -- PROGRAM",
        _ => "",
    }
}

impl BlockRef {
    /// The block cannot be read because something is wrong with it.
    pub fn damaged(&self, fault: impl Into<Fault>) -> Unreadable {
        Unreadable::Block { at: self.offset, fault: fault.into() }
    }
}

/// An open recording.
pub struct Reader {
    file: File,
    path: PathBuf,
    /// All blocks before the first damage, in the order of the file, without the index.
    pub blocks: Vec<BlockRef>,
    /// What is missing, as a statement for the user.
    pub damage: Option<String>,
    /// Length of the file, bytes.
    pub bytes: u64,
    /// Bytes before the index block; all, if the file has none.
    pub bytes_before_index: u64,
    /// Whether the index says what times blocks are about. If not, the blocks say it themselves, and may be damaged.
    pub is_indexed: bool,
}

/// What a stream has to say, in a file without a name: a recording is read from its end. A terminal has nothing.
fn copied(mut stream: File) -> io::Result<File> {
    if stream.is_terminal() {
        let why = "it is a terminal; expected a recording in a file or a pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut stream, &mut file)?;
    Ok(file)
}

impl Reader {
    /// Opens the recording at `path`; `-` is standard input. What comes through a pipe is copied first.
    pub fn open(path: &Path) -> Result<Reader, Error> {
        let io = |source| Error::Io { path: path.to_owned(), source };
        let mut file = match path == Path::new("-") {
            true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
            false => File::open(path),
        }
        .map_err(io)?;
        let kind = file.metadata().map_err(io)?.file_type();
        if kind.is_dir() {
            return Err(io(io::Error::from(io::ErrorKind::IsADirectory)));
        }
        if !kind.is_file() {
            file = copied(file).map_err(io)?;
        }
        let bytes = file.metadata().map_err(io)?.len();
        let mut reader = Reader {
            file,
            path: path.to_owned(),
            blocks: Vec::new(),
            damage: None,
            bytes,
            bytes_before_index: bytes,
            is_indexed: false,
        };
        reader.check_signature()?;
        reader.is_indexed = reader.take_index().is_some();
        if !reader.is_indexed {
            reader.scan()?;
        }
        Ok(reader)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file now, bytes.
    pub fn bytes_now(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn io(&self, source: io::Error) -> Error {
        Error::Io { path: self.path.clone(), source }
    }

    fn check_signature(&self) -> Result<(), Error> {
        let mut start = [0; SIGNATURE_BYTES];
        let have = (self.bytes as usize).min(SIGNATURE_BYTES);
        self.file.read_exact_at(&mut start[..have], 0).map_err(|e| self.io(e))?;
        let damaged = |why: String| Err(Error::Damaged { path: self.path.clone(), why });
        let named = have.min(SIGNATURE.len());
        if have > 0 && have < SIGNATURE_BYTES && start[..named] == SIGNATURE[..named] {
            return damaged(format!("it was cut off after {have} bytes; copy it again"));
        }
        // The line ends behind the name are there to show this.
        if start.starts_with(&SIGNATURE[..SIGNATURE.len() - 2]) && !start.starts_with(&SIGNATURE[..]) {
            return damaged(
                "its line ends were changed, as transfers of text do; copy it again as a binary file".to_owned(),
            );
        }
        if have < SIGNATURE_BYTES || start[..SIGNATURE.len()] != SIGNATURE[..] {
            let found = match have {
                0 => "an empty file".to_owned(),
                _ => format!("\"{}\"", start[..have].escape_ascii()),
            };
            return Err(Error::NotARecording { path: self.path.clone(), found });
        }
        let found = u16::from_le_bytes([start[10], start[11]]);
        if found != MAJOR {
            return Err(Error::Version { path: self.path.clone(), found });
        }
        Ok(())
    }

    /// Takes the blocks from the index. `None` if there is none that fits the file.
    fn take_index(&mut self) -> Option<()> {
        let mut trailer = [0; index::TRAILER_BYTES];
        self.file.read_exact_at(&mut trailer, self.bytes.checked_sub(index::TRAILER_BYTES as u64)?).ok()?;
        let start = self.bytes.checked_sub(index::length(&trailer)?).filter(|at| *at >= SIGNATURE_BYTES as u64)?;
        let mut header = [0; HEADER_BYTES];
        self.file.read_exact_at(&mut header, start).ok()?;
        let header = Header::parse(&header).filter(|header| header.kind == BlockKind::Index)?;
        let offset = start + HEADER_BYTES as u64;
        let mut payload = Vec::new();
        if offset + u64::from(header.length) != self.bytes {
            return None;
        }
        self.payload(&BlockRef { header, offset, extent: None }, &mut payload).ok()?;
        let mut at = SIGNATURE_BYTES as u64;
        let mut blocks = Vec::new();
        for (header, extent) in index::decode(&payload).ok()? {
            let offset = at + HEADER_BYTES as u64;
            at = offset + u64::from(header.length);
            blocks.push(BlockRef { header, offset, extent });
        }
        let is_whole = at == start && blocks.last().is_some_and(|block| block.header.kind == BlockKind::End);
        if is_whole {
            (self.blocks, self.bytes_before_index) = (blocks, start);
        }
        is_whole.then_some(())
    }

    fn scan(&mut self) -> Result<(), Error> {
        let mut offset = SIGNATURE_BYTES as u64;
        let mut ended = false;
        while offset < self.bytes {
            if self.bytes - offset < HEADER_BYTES as u64 {
                self.lost_from(offset, "the file is cut off");
                return Ok(());
            }
            let mut bytes = [0; HEADER_BYTES];
            self.file.read_exact_at(&mut bytes, offset).map_err(|e| self.io(e))?;
            let Some(header) = Header::parse(&bytes) else {
                self.lost_from(offset, "the file is damaged");
                return Ok(());
            };
            let payload = offset + HEADER_BYTES as u64;
            if header.length as u64 > self.bytes - payload {
                self.lost_from(offset, "the file is cut off");
                return Ok(());
            }
            match header.kind {
                BlockKind::Index => self.bytes_before_index = offset,
                kind => {
                    ended = kind == BlockKind::End;
                    let extent = if kind == BlockKind::Events { self.extent_of(&header, payload) } else { None };
                    self.blocks.push(BlockRef { header, offset: payload, extent });
                }
            }
            offset = payload + header.length as u64;
        }
        if self.blocks.is_empty() {
            return Err(Error::Empty { path: self.path.clone(), bytes: self.bytes });
        }
        if !ended {
            self.damage = Some(
                "the recording has no end: memtoll record was killed or could not write on; \
                                what came later is missing"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What an events block says first of its times.
    fn extent_of(&self, header: &Header, payload: u64) -> Option<Extent> {
        let mut front = [0; events::MAX_HEADER_BYTES];
        let front = &mut front[..events::MAX_HEADER_BYTES.min(header.length as usize)];
        self.file.read_exact_at(front, payload).ok()?;
        events::read_header(front).ok().map(Extent::from)
    }

    fn lost_from(&mut self, offset: u64, why: &str) {
        self.damage = Some(format!(
            "{why} at byte {} of {}: what follows is missing",
            format::count(offset),
            format::count(self.bytes)
        ));
    }

    /// Reads a block's payload into `buffer`.
    pub fn payload(&self, block: &BlockRef, buffer: &mut Vec<u8>) -> Result<(), Unreadable> {
        buffer.resize(block.header.length as usize, 0);
        self.file
            .read_exact_at(buffer, block.offset)
            .map_err(|error| Unreadable::File { path: self.path.clone(), error })?;
        if block.header.checksum(buffer) != block.header.check {
            return Err(block.damaged(Fault::Checksum));
        }
        Ok(())
    }

    /// Reads a block that is JSON.
    pub fn json<T: DeserializeOwned>(&self, block: &BlockRef) -> Result<T, Unreadable> {
        let mut buffer = Vec::new();
        self.payload(block, &mut buffer)?;
        serde_json::from_slice(&buffer).map_err(|error| block.damaged(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BlockNo, ImageNo, Units};
    use crate::writer::Writer;

    fn recording() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.json(BlockKind::Note, None, &vec![1, 2, 3]).unwrap();
        writer.block(BlockKind::Unknown(200), ImageNo::new(3), b"later").unwrap();
        writer.json(BlockKind::End, None, &0).unwrap();
        writer.sink_mut().clone()
    }

    fn open(bytes: &[u8]) -> Result<Reader, Error> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Reader::open(file.path())
    }

    #[test]
    fn blocks_come_back() {
        let reader = open(&recording()).unwrap();
        assert!(reader.damage.is_none());
        assert_eq!(reader.blocks.len(), 3);
        assert_eq!(reader.json::<Vec<u32>>(&reader.blocks[0]).unwrap(), vec![1, 2, 3]);
    }

    fn indexed() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        let extent = Some(Extent { first_time: Units(5), last_time: Units(9), count: 3, first_block: BlockNo(0) });
        writer.block_of(BlockKind::Costs, ImageNo::new(7), b"costs", extent).unwrap();
        writer.json(BlockKind::End, None, &0).unwrap();
        writer.index().unwrap();
        writer.sink_mut().clone()
    }

    /// Kind, image, offset and length of each block, and whether its extent is known.
    fn blocks(reader: &Reader) -> Vec<(BlockKind, u32, u64, u32, bool)> {
        let about = |BlockRef { header, offset, extent }: &BlockRef| {
            (header.kind, ImageNo::or_zero(header.image), *offset, header.length, extent.is_some())
        };
        reader.blocks.iter().map(about).collect()
    }

    #[test]
    fn the_index_says_what_a_scan_finds() {
        let bytes = indexed();
        let reader = open(&bytes).unwrap();
        assert!(reader.damage.is_none());
        let known = [(BlockKind::Costs, 7, 36, 5, true), (BlockKind::End, 0, 61, 1, false)];
        assert_eq!(blocks(&reader), known);
        assert_eq!(reader.blocks[0].extent.unwrap().last_time, Units(9));
        assert_eq!((reader.bytes_before_index, reader.bytes), (62, bytes.len() as u64));
        let mut payload = Vec::new();
        reader.payload(&reader.blocks[0], &mut payload).unwrap();
        assert_eq!(payload, b"costs");
        // Whatever is wrong with the index, the blocks are found.
        for at in 62..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let reader = open(&damaged).unwrap();
            let found: Vec<_> = blocks(&reader).into_iter().map(|block| (block.0, block.2)).collect();
            assert!(found.starts_with(&[(BlockKind::Costs, 36), (BlockKind::End, 61)]), "byte {at}");
        }
        let reader = open(&bytes[..bytes.len() - 1]).unwrap();
        assert_eq!(reader.blocks.len(), 2);
        assert!(reader.damage.is_some());
    }

    #[test]
    fn an_index_that_does_not_fit_the_file_is_not_used() {
        let mut other = indexed();
        other.splice(62..62, *b"between");
        let reader = open(&other).unwrap();
        assert_eq!(blocks(&reader), [(BlockKind::Costs, 7, 36, 5, false), (BlockKind::End, 0, 61, 1, false)]);
        assert!(reader.damage.is_some());
    }

    #[test]
    fn a_cut_file_yields_what_came_before() {
        let whole = recording();
        for cut in 0..whole.len() {
            match open(&whole[..cut]) {
                Ok(reader) => assert!(reader.damage.is_some(), "{cut}"),
                Err(error) => assert!(cut <= SIGNATURE_BYTES, "{cut}: {error}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_read_says_where_and_why() {
        let mut bytes = recording();
        let at = open(&bytes).unwrap().blocks[0].offset;
        bytes[at as usize] ^= 1;
        let reader = open(&bytes).unwrap();
        let why = reader.json::<Vec<u32>>(&reader.blocks[0]).unwrap_err();
        assert!(matches!(why, Unreadable::Block { fault: Fault::Checksum, .. }), "{why:?}");
        assert_eq!(why.to_string(), format!("the file is damaged at byte {at}: a checksum does not match"));

        let reader = open(&recording()).unwrap();
        let why = reader.json::<String>(&reader.blocks[0]).unwrap_err();
        assert!(matches!(why, Unreadable::Block { fault: Fault::Json(_), .. }), "{why:?}");
        assert!(why.to_string().starts_with(&format!("the file is damaged at byte {at}: invalid type")), "{why}");

        let beyond = BlockRef { offset: u64::MAX >> 1, ..reader.blocks[0] };
        let why = reader.payload(&beyond, &mut Vec::new()).unwrap_err();
        assert!(matches!(why, Unreadable::File { .. }), "{why:?}");
        assert!(why.to_string().starts_with(&format!("cannot read {}: ", reader.path().display())), "{why}");
    }

    #[test]
    fn damage_is_noticed() {
        let whole = recording();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            let Ok(reader) = open(&damaged) else { continue };
            let mut buffer = Vec::new();
            let intact = reader.blocks.iter().all(|block| reader.payload(block, &mut buffer).is_ok());
            // Bytes 12 to 16 are the minor version and a reserved word.
            assert!(reader.damage.is_some() || !intact || (12..16).contains(&at), "byte {at}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(open(b"#!/bin/sh\nexit 0 # a script"), Err(Error::NotARecording { .. })));
        assert!(matches!(open(b""), Err(Error::NotARecording { .. })));
        let why = |content: &[u8]| open(content).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(why(b"\x89memtoll\r\n\x01").ends_with("it was cut off after 11 bytes; copy it again"));
        assert!(why(b"\x89mem").ends_with("it was cut off after 4 bytes; copy it again"));
        assert!(why(b"\x89memtoll\n\x01\0\x02\0\0\0MTBK").contains("its line ends were changed"));
        let mut later = recording();
        later[10] = 9;
        assert!(matches!(open(&later), Err(Error::Version { found: 9, .. })));
    }
}
