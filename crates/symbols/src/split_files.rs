//! Split debug information: what the compiler left in `.dwo` files, or a linker packed into one `.dwp` file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::EndianSlice;

use crate::elf::MappedFiles;
use crate::inline_depth;
use crate::sections::{Dwarf, DwarfError, Slice, endian, load_needed, load_section};

/// Where the split debug information of a module may lie.
pub(crate) struct SplitFiles<'d> {
    files: &'d MappedFiles,
    /// The `.dwp` file with all split debug information.
    package: Option<gimli::DwarfPackage<Slice<'d>>>,
    /// Where `.dwo` files may lie if they are not where they were made: beside the program.
    beside: Option<PathBuf>,
}

impl<'d> SplitFiles<'d> {
    /// For the program or library `module`, whose other debug information is in `debug`.
    pub(crate) fn new(files: &'d MappedFiles, module: &Path, debug: &Path) -> Self {
        SplitFiles {
            files,
            package: open_package(files, module).or_else(|| open_package(files, debug)),
            beside: module.parent().map(Path::to_path_buf),
        }
    }

    /// Split debug information of one unit. Where it cannot be found, the unit still has lines, but no names.
    pub(crate) fn load(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Arc<Dwarf<'d>>> {
        let dwarf = self.packaged(load).or_else(|| self.beside_or_as_made(load))?;
        let header = dwarf.units().next().ok()??;
        let unit = dwarf.unit(header).ok()?;
        if unit.dwo_id != Some(load.dwo_id) || inline_depth::unit_is_too_deep(&dwarf, &unit) {
            return None;
        }
        Some(Arc::new(dwarf))
    }

    fn packaged(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Dwarf<'d>> {
        self.package.as_ref()?.find_cu(load.dwo_id, &load.parent).ok()?
    }

    fn beside_or_as_made(&self, load: &SplitDwarfLoad<Slice<'d>>) -> Option<Dwarf<'d>> {
        let name = Path::new(OsStr::from_bytes(load.path.as_ref()?.slice()));
        let directory = load.comp_dir.as_ref().map(|directory| Path::new(OsStr::from_bytes(directory.slice())));
        let as_made = directory.map_or_else(|| name.to_path_buf(), |directory| directory.join(name));
        let beside = self.beside.as_ref().zip(name.file_name());
        let moved = beside.map(|(directory, name)| directory.join(name));
        let file = [Some(as_made), moved].into_iter().flatten().find_map(|path| self.files.open(&path).ok())?;
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
fn open_package<'d>(files: &'d MappedFiles, module: &Path) -> Option<gimli::DwarfPackage<Slice<'d>>> {
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
