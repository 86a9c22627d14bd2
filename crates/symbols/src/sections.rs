//! The sections of DWARF debug information, as gimli reads them.

use gimli::{EndianSlice, RunTimeEndian};
use object::Object;

use crate::elf::{ElfError, MappedFiles};

pub(crate) type Slice<'d> = EndianSlice<'d, RunTimeEndian>;
pub(crate) type Dwarf<'d> = gimli::Dwarf<Slice<'d>>;

/// Why debug information could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DwarfError {
    #[error("section {name}: {error}")]
    Section { name: &'static str, error: ElfError },
    #[error("{0}")]
    Dwarf(#[from] gimli::Error),
    #[error("functions are nested deeper than compilers do")]
    TooDeep,
}

/// Reads one section, or leaves it empty if only debuggers need it, for the values of variables: those sections are
/// large, and may have to be decompressed.
pub(crate) fn load_needed<'d>(
    files: &'d MappedFiles,
    file: &object::File<'d>,
    id: gimli::SectionId,
    name: &'static str,
) -> Result<Slice<'d>, DwarfError> {
    use gimli::SectionId::*;
    match id {
        DebugAbbrev | DebugAddr | DebugAranges | DebugInfo | DebugLine | DebugLineStr | DebugStr | DebugStrOffsets
        | DebugRanges | DebugRngLists | DebugTypes => load_section(files, file, name),
        _ => Ok(EndianSlice::new(&[], endian(file))),
    }
}

/// Reads one section; one that the file lacks is empty.
pub(crate) fn load_section<'d>(
    files: &'d MappedFiles,
    file: &object::File<'d>,
    name: &'static str,
) -> Result<Slice<'d>, DwarfError> {
    let bytes = files.section(file, name).map_err(|error| DwarfError::Section { name, error })?;
    Ok(EndianSlice::new(bytes.unwrap_or_default(), endian(file)))
}

pub(crate) fn endian(file: &object::File<'_>) -> RunTimeEndian {
    if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big }
}

/// The source file of a number in `DW_AT_decl_file`.
pub(crate) fn declaring_file<'d>(dwarf: &Dwarf<'d>, unit: &gimli::Unit<Slice<'d>>, number: u64) -> Option<String> {
    let program = unit.line_program.as_ref()?.header();
    let file = program.file(number)?;
    let text = |value| dwarf.attr_string(unit, value).ok().map(|text| text.to_string_lossy().into_owned());
    let name = text(file.path_name())?;
    match file.directory(program).and_then(text) {
        Some(folder) if !name.starts_with('/') && !folder.is_empty() => Some(format!("{folder}/{name}")),
        _ => Some(name),
    }
}
