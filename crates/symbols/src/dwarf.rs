//! Inline chains and lines from DWARF.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult, SplitDwarfLoad};
use gimli::{EndianSlice, RunTimeEndian};
use object::Object;

use crate::debug_files::DebugFile;
use crate::elf::{ElfError, MappedFiles};
use crate::nesting;
use crate::scopes::Scopes;

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
    files: &'d MappedFiles,
    /// The `.dwp` file with all split debug information.
    package: Option<gimli::DwarfPackage<Slice<'d>>>,
    /// Where `.dwo` files may lie if they are not where they were made: beside the program.
    beside: Option<PathBuf>,
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
            files,
            package: open_package(files, module).or_else(|| open_package(files, &debug.path)),
            beside: module.parent().map(Path::to_path_buf),
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
            let is_cpp = frame
                .function
                .as_ref()
                .and_then(|function| function.language)
                .is_some_and(is_cpp);
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
                    lookup = continuation.resume(self.load_split(&load));
                }
            }
        }
    }

    /// Split debug information of one unit. Where it cannot be found, the unit still has lines, but no names.
    fn load_split(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Arc<Dwarf<'d>>> {
        let dwarf = self
            .split_from_package(load)
            .or_else(|| self.split_from_dwo(load))?;
        let header = dwarf.units().next().ok()??;
        let unit = dwarf.unit(header).ok()?;
        if unit.dwo_id != Some(load.dwo_id) || nesting::unit_is_too_deep(&dwarf, &unit) {
            return None;
        }
        Some(Arc::new(dwarf))
    }

    fn split_from_package(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Dwarf<'d>> {
        self.package
            .as_ref()?
            .find_cu(load.dwo_id, &load.parent)
            .ok()?
    }

    fn split_from_dwo(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Dwarf<'d>> {
        let name = Path::new(OsStr::from_bytes(load.path.as_ref()?.slice()));
        let directory = load
            .comp_dir
            .as_ref()
            .map(|directory| Path::new(OsStr::from_bytes(directory.slice())));
        let as_made =
            directory.map_or_else(|| name.to_path_buf(), |directory| directory.join(name));
        let beside = self.beside.as_ref().zip(name.file_name());
        let moved = beside.map(|(directory, name)| directory.join(name));
        let file = [Some(as_made), moved]
            .into_iter()
            .flatten()
            .find_map(|path| self.files.open(&path).ok())?;
        let mut dwarf: Dwarf<'d> = gimli::Dwarf::load(|id| match id.dwo_name() {
            Some(name) => load_needed(self.files, &file, id, name),
            None => Ok(EndianSlice::new(&[], endian(&file))),
        })
        .ok()?;
        dwarf.make_dwo(&load.parent);
        Some(dwarf)
    }
}

/// Opens `PROGRAM.dwp`.
fn open_package<'d>(
    files: &'d MappedFiles,
    module: &Path,
) -> Option<gimli::DwarfPackage<Slice<'d>>> {
    let mut path = OsString::from(module);
    path.push(".dwp");
    let file = files.open(Path::new(&path)).ok()?;
    let empty = EndianSlice::new(&[][..], endian(&file));
    gimli::DwarfPackage::load::<_, DwarfError>(
        |id| match id.dwo_name() {
            // All of them: the index of a package tells where each unit's part of each section lies.
            Some(name) => load_section(files, &file, name),
            None => Ok(empty),
        },
        empty,
    )
    .ok()
}

/// Reads one section, or leaves it empty if only debuggers need it, for the values of variables: those sections are
/// large, and may have to be decompressed.
fn load_needed<'d>(
    files: &'d MappedFiles,
    file: &object::File<'d>,
    id: gimli::SectionId,
    name: &'static str,
) -> Result<Slice<'d>, DwarfError> {
    use gimli::SectionId::*;
    match id {
        DebugAbbrev | DebugAddr | DebugAranges | DebugInfo | DebugLine | DebugLineStr
        | DebugStr | DebugStrOffsets | DebugRanges | DebugRngLists => {
            load_section(files, file, name)
        }
        _ => Ok(EndianSlice::new(&[], endian(file))),
    }
}

/// Reads one section; one that the file lacks is empty.
fn load_section<'d>(
    files: &'d MappedFiles,
    file: &object::File<'d>,
    name: &'static str,
) -> Result<Slice<'d>, DwarfError> {
    let bytes = files
        .section(file, name)
        .map_err(|error| DwarfError::Section { name, error })?;
    Ok(EndianSlice::new(bytes.unwrap_or_default(), endian(file)))
}

fn endian(file: &object::File<'_>) -> RunTimeEndian {
    if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    }
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
