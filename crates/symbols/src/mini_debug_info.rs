//! `.gnu_debugdata`: a small ELF file, compressed by xz, that holds the names of functions and nothing else. Fedora's
//! programs have it, and others that were made with it.

use std::io::{self, Read};

use crate::elf::{ElfError, MappedFiles};

/// Most bytes that it may grow to for each byte in the file: names of functions become some five times as long. More means
/// a damaged file.
const LARGEST_EXPANSION: u64 = 100;
/// Memory that decompressing may take beside, KiB. xz's largest setting takes 65 MB.
const DECODER_KIB: u32 = 128 << 10;

/// The file in a file's `.gnu_debugdata`, or `None` if it has none.
pub(crate) fn open<'a>(files: &'a MappedFiles, file: &object::File<'a>) -> Result<Option<object::File<'a>>, ElfError> {
    let Some(packed) = files.section(file, ".gnu_debugdata")?.filter(|packed| !packed.is_empty()) else {
        return Ok(None);
    };
    let reader = lzma_rust2::XzReader::new_mem_limit(packed, false, DECODER_KIB);
    let longest = packed.len() as u64 * LARGEST_EXPANSION;
    let mut plain = Vec::new();
    reader.take(longest + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 > longest {
        return Err(ElfError::Io(io::Error::from(io::ErrorKind::FileTooLarge)));
    }
    files.parse_own(plain).map(Some)
}
