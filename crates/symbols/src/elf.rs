//! Opening ELF files and reading their sections, within bounds.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use memmap2::Mmap;
use object::{CompressionFormat, FileKind, Object, ObjectKind, ObjectSection, ObjectSegment};
use typed_arena::Arena;

use crate::functions_hash::functions_hash;

/// Most bytes that a compressed section may grow to for each byte in the file. zlib cannot do more than about 1030; a
/// larger claim means a damaged header, and the memory for it would be asked for before the first byte is looked at.
const LARGEST_EXPANSION: u64 = 2048;

/// Why an ELF file could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ElfError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("not a regular file")]
    NotRegular,
    #[error("not an ELF file")]
    NotElf,
    #[error("damaged ELF file: {0}")]
    Damaged(#[from] object::Error),
    #[error("section claims {0} bytes, more than its compressed form can hold")]
    Oversized(u64),
    #[error("section is compressed in an unknown way")]
    Compression,
    #[error("section has {found} bytes when decompressed, {expected} expected")]
    Length { expected: usize, found: usize },
}

/// Keeps every file that was mapped and every section that was decompressed, so that all views of them can share one
/// lifetime.
#[derive(Default)]
pub(crate) struct MappedFiles {
    maps: Arena<Mmap>,
    sections: Arena<Vec<u8>>,
}

impl MappedFiles {
    /// Maps a file into memory. The length is in bytes and never zero.
    pub(crate) fn map(&self, path: &Path) -> Result<&[u8], ElfError> {
        // Looked at before it is opened: opening a pipe would wait for its other end.
        let metadata = fs::metadata(path)?;
        if !metadata.is_file() {
            return Err(ElfError::NotRegular);
        }
        if metadata.len() == 0 {
            return Err(ElfError::NotElf);
        }
        let file = File::open(path)?;
        // SAFETY: the mapping is private and read-only. If another process shortened the file meanwhile, reading would
        // raise SIGBUS: every symbolizer takes that risk, since linkers and package managers replace files by renaming,
        // which leaves the mapped one alone.
        let map = unsafe { Mmap::map(&file)? };
        Ok(self.maps.alloc(map))
    }

    pub(crate) fn open<'a>(&'a self, path: &Path) -> Result<object::File<'a>, ElfError> {
        parse(self.map(path)?)
    }

    /// An ELF file that was in another one.
    pub(crate) fn parse_own(&self, bytes: Vec<u8>) -> Result<object::File<'_>, ElfError> {
        parse(self.sections.alloc(bytes))
    }

    /// The contents of a section, decompressed, or `None` if the file lacks it.
    pub(crate) fn section<'a>(&'a self, file: &object::File<'a>, name: &str) -> Result<Option<&'a [u8]>, ElfError> {
        let Some(section) = find_section(file, name) else {
            return Ok(None);
        };
        let compressed = section.compressed_data()?;
        let in_file = compressed.data.len() as u64;
        if compressed.uncompressed_size > in_file.saturating_mul(LARGEST_EXPANSION) {
            return Err(ElfError::Oversized(compressed.uncompressed_size));
        }
        Ok(Some(match compressed.format {
            CompressionFormat::None => compressed.data,
            format => self.sections.alloc(decompress(format, compressed.data, compressed.uncompressed_size)?),
        }))
    }
}

/// A section of debug information; where an old linker compressed it, its name begins with `.zdebug` instead.
fn find_section<'f, 'd>(file: &'f object::File<'d>, name: &str) -> Option<object::Section<'d, 'f>> {
    file.section_by_name(name).or_else(|| file.section_by_name(&name.replacen(".debug", ".zdebug", 1)))
}

/// The contents of a compressed section, which must be `size` bytes long.
fn decompress(format: CompressionFormat, compressed: &[u8], size: u64) -> Result<Vec<u8>, ElfError> {
    let size = usize::try_from(size).map_err(|_| ElfError::Oversized(size))?;
    let mut plain = Vec::new();
    plain.try_reserve_exact(size).map_err(|_| ElfError::Oversized(size as u64))?;
    match format {
        CompressionFormat::Zlib => {
            flate2::Decompress::new(true)
                .decompress_vec(compressed, &mut plain, flate2::FlushDecompress::Finish)
                .map_err(io::Error::from)?;
        }
        CompressionFormat::Zstandard => {
            zstd::bulk::Decompressor::new()?.decompress_to_buffer(compressed, &mut plain)?;
        }
        _ => return Err(ElfError::Compression),
    }
    if plain.len() == size { Ok(plain) } else { Err(ElfError::Length { expected: size, found: plain.len() }) }
}

fn parse(bytes: &[u8]) -> Result<object::File<'_>, ElfError> {
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => Ok(object::File::parse(bytes)?),
        _ => Err(ElfError::NotElf),
    }
}

/// What is loaded of a program or library, section by section, but for its build id: two that are alike in this do the same.
/// `None` of other files.
pub fn loaded_content(path: &Path) -> Option<Vec<u8>> {
    let files = MappedFiles::default();
    let file = files.open(path).ok()?;
    if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return None;
    }
    // Others have no place in memory.
    let is_loaded = |section: &object::Section| section.address() != 0;
    let mut content = Vec::new();
    for section in file.sections().filter(is_loaded) {
        if section.name() != Ok(".note.gnu.build-id") {
            content.extend_from_slice(&section.size().to_le_bytes());
            content.extend_from_slice(section.data().ok()?);
        }
    }
    Some(content)
}

/// What tells a program or library from all others.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum FileId {
    /// Its build id, in hexadecimal digits.
    BuildId(String),
    /// It has none: a hash of its functions.
    Functions(u32),
}

impl FileId {
    /// Of a file. `None`: it is no program or library, or nothing tells it apart.
    pub fn of(path: &Path) -> Option<FileId> {
        let files = MappedFiles::default();
        let content = files.map(path).ok()?;
        let file = parse(content).ok()?;
        FileId::new(&hex(build_id(&file)), functions_hash(content))
    }

    /// Of a loaded file with this build id, or else with this hash of its functions.
    pub fn new(build_id: &str, functions_hash: u32) -> Option<FileId> {
        match (build_id, functions_hash) {
            ("", 0) => None,
            ("", hash) => Some(FileId::Functions(hash)),
            (digits, _) => Some(FileId::BuildId(digits.to_owned())),
        }
    }
}

/// Where a program or library lies when it is loaded: addresses in the file.
#[derive(Clone, Debug)]
pub struct Extent {
    /// That of the file's first byte.
    pub first: u64,
    /// Behind its last variable.
    pub end: u64,
    /// First addresses of what of the file is mapped.
    pub segments: Vec<u64>,
    /// In hexadecimal digits; empty if it has none.
    pub build_id: String,
}

impl Extent {
    /// Of a file. `None`: it is no program or library.
    pub fn of(path: &Path) -> Option<Extent> {
        let files = MappedFiles::default();
        let file = files.open(path).ok()?;
        if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
            return None;
        }
        let first = file.segments().next()?;
        let in_file = file.segments().filter(|segment| segment.file_range().1 > 0);
        Some(Extent {
            first: first.address().checked_sub(first.file_range().0)?,
            end: file.segments().map(|segment| segment.address().saturating_add(segment.size())).max()?,
            segments: in_file.map(|segment| segment.address()).collect(),
            build_id: hex(build_id(&file)),
        })
    }
}

/// The address of a place in the file, in bytes.
pub(crate) fn address_of(file: &object::File<'_>, offset: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        let inside = offset.checked_sub(start).filter(|inside| *inside < length)?;
        segment.address().checked_add(inside)
    })
}

/// The build id of a file, empty where it has none.
pub(crate) fn build_id<'a>(file: &object::File<'a>) -> &'a [u8] {
    file.build_id().ok().flatten().unwrap_or_default()
}

/// Whether a file holds DWARF debug information itself.
pub(crate) fn has_debug_info(file: &object::File<'_>) -> bool {
    debug_info_bytes(file) > 0
}

/// How much of it there is when it is decompressed, without what it refers to.
pub(crate) fn debug_info_bytes(file: &object::File<'_>) -> u64 {
    let data = find_section(file, ".debug_info").and_then(|section| section.compressed_data().ok());
    data.filter(|data| !data.data.is_empty()).map_or(0, |data| data.uncompressed_size)
}

/// Whether a file has the names of its functions: in a symbol table of its own or in `.gnu_debugdata`.
pub(crate) fn has_symbol_table(file: &object::File<'_>) -> bool {
    has_own_symbol_table(file) || has_section(file, ".gnu_debugdata")
}

/// Whether a file has `.symtab`.
pub(crate) fn has_own_symbol_table(file: &object::File<'_>) -> bool {
    has_section(file, ".symtab")
}

/// Whether other files can call functions of a file by their names.
pub(crate) fn has_exported_names(file: &object::File<'_>) -> bool {
    use object::ObjectSymbol;
    file.dynamic_symbols().any(|symbol| symbol.is_definition() && symbol.kind() == object::SymbolKind::Text)
}

fn has_section(file: &object::File<'_>, name: &str) -> bool {
    file.section_by_name(name).is_some_and(|section| section.size() > 0)
}

/// A build id as `file` and `readelf` print it.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
