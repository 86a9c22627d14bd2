//! Inline chains and lines from DWARF.

use std::borrow::Cow;
use std::path::Path;

use addr2line::{Context, LookupContinuation, LookupResult};
use gimli::{EndianSlice, RunTimeEndian};
use object::Object;

use crate::debug_files::DebugFile;
use crate::elf::{ElfError, MappedFiles};
use crate::nesting;
use crate::scopes::Scopes;
use crate::split_files::SplitFiles;

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

/// One function of an inline chain as the debug information has it.
pub(crate) struct DwarfFrame<'a> {
    /// Name as it stands there: a linkage name, or a plain name where there is none.
    pub(crate) name: Option<Cow<'a, str>>,
    /// For a C++ function the place of its entry in its unit, for [`DebugInfo::qualified_name`].
    pub(crate) cpp_entry: Option<gimli::UnitOffset>,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
}

/// The debug information of one file.
pub(crate) struct DebugInfo<'d> {
    context: Context<Slice<'d>>,
    scopes: Scopes<'d>,
    split: SplitFiles<'d>,
}

impl<'d> DebugInfo<'d> {
    /// Reads the index of the debug information. The rest is read as addresses ask for it.
    ///
    /// `module` is the program or library itself, `addresses` those that will be asked for, sorted.
    pub(crate) fn load(
        files: &'d MappedFiles,
        module: &Path,
        debug: &DebugFile<'d>,
        supplementary: Option<&DebugFile<'d>>,
        addresses: &[u64],
    ) -> Result<Self, DwarfError> {
        // The second try is without the address table, which other tables can stand in for.
        Self::load_from(files, module, debug, supplementary, addresses, true)
            .or_else(|_| Self::load_from(files, module, debug, supplementary, addresses, false))
    }

    fn load_from(
        files: &'d MappedFiles,
        module: &Path,
        debug: &DebugFile<'d>,
        supplementary: Option<&DebugFile<'d>>,
        addresses: &[u64],
        with_address_table: bool,
    ) -> Result<Self, DwarfError> {
        let mut dwarf = gimli::Dwarf::load(|id| {
            if id == gimli::SectionId::DebugAranges && !with_address_table {
                return Ok(EndianSlice::new(&[], endian(&debug.file)));
            }
            load_needed(files, &debug.file, id, id.name())
        })?;
        if let Some(supplementary) = supplementary {
            dwarf.load_sup(|id| load_needed(files, &supplementary.file, id, id.name()))?;
        }
        // All of them, since the check for nesting reads units as well.
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::All);
        if nesting::is_too_deep(&dwarf, addresses) {
            return Err(DwarfError::TooDeep);
        }
        Ok(DebugInfo {
            context: Context::from_dwarf(dwarf)?,
            scopes: Scopes::default(),
            split: SplitFiles::new(files, module, &debug.path),
        })
    }

    /// The inline chain of an address, innermost first; empty where the debug information does not cover it.
    pub(crate) fn frames(&self, address: u64) -> gimli::Result<Vec<DwarfFrame<'_>>> {
        // addr2line looks for the range that ends after the address.
        if address == u64::MAX {
            return Ok(Vec::new());
        }
        let mut frames = self.complete(self.context.find_frames(address))?;
        let mut chain = Vec::new();
        while let Some(frame) = frames.next()? {
            let name = match &frame.function {
                Some(function) => Some(match function.name.to_string_lossy() {
                    Cow::Borrowed(name) => Cow::Borrowed(name),
                    Cow::Owned(name) => Cow::Owned(name),
                }),
                None => None,
            };
            let is_cpp = frame.function.as_ref().and_then(|function| function.language).is_some_and(is_cpp);
            let location = frame.location.as_ref();
            chain.push(DwarfFrame {
                name,
                cpp_entry: frame.dw_die_offset.filter(|_| is_cpp),
                file: location.and_then(|location| location.file),
                line: location.and_then(|location| location.line),
            });
        }
        Ok(chain)
    }

    /// Name of a C++ function with its namespaces and classes, but without arguments, from the entries around its own.
    /// `address` leads to the unit that holds the entry.
    pub(crate) fn qualified_name(&self, address: u64, entry: gimli::UnitOffset) -> Option<String> {
        let unit = self.complete(self.context.find_dwarf_and_unit(address))?;
        let unit_at = unit.header.debug_info_offset()?;
        self.scopes.qualified_name(unit.dwarf, unit_at, entry)
    }

    /// Carries a lookup through, with the split debug information that it asks for.
    fn complete<L>(&self, mut lookup: LookupResult<L>) -> L::Output
    where
        L: LookupContinuation<Buf = Slice<'d>>,
    {
        loop {
            match lookup {
                LookupResult::Output(output) => return output,
                LookupResult::Load { load, continuation } => {
                    lookup = continuation.resume(self.split.load(&load));
                }
            }
        }
    }
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

fn is_cpp(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20
    )
}
