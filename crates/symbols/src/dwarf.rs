//! Inline chains and lines from DWARF.

use std::borrow::Cow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use addr2line::{Context, LookupContinuation, LookupResult};
use object::Object;

use crate::cxx_scopes::Scopes;
use crate::debug_files::DebugFile;
use crate::elf::MappedFiles;
use crate::function::Function;
use crate::inline_depth;
use crate::sections::{Dwarf, DwarfError, Slice, load_needed};
use crate::split_files::SplitFiles;

/// One function of an inline chain as the debug information has it.
pub(crate) struct DwarfFrame<'a> {
    /// Name as it stands there: a linkage name, or a plain name where there is none.
    pub(crate) name: Option<Cow<'a, str>>,
    /// What it is written in, as far as that matters here.
    pub(crate) language: Option<Language>,
    /// The place of its entry in its unit, for [`DebugInfo::function`].
    pub(crate) entry: Option<gimli::UnitOffset>,
    pub(crate) file: Option<&'a str>,
    pub(crate) line: Option<u32>,
}

/// A language whose names need a closer look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Cpp,
    Rust,
}

/// The debug information of one file: its sections, and where it was split.
pub(crate) struct DebugSections<'d> {
    own: gimli::DwarfSections<Slice<'d>>,
    supplementary: Option<gimli::DwarfSections<Slice<'d>>>,
    pub(crate) dwarf: Arc<Dwarf<'d>>,
    pub(crate) split: SplitFiles<'d>,
    lacks_a_part: bool,
}

impl<'d> DebugSections<'d> {
    /// Reads the sections of `debug`; compressed ones are decompressed. `module` is the program or library itself.
    pub(crate) fn load(
        files: &'d MappedFiles,
        module: &Path,
        debug: &DebugFile<'d>,
        supplementary: Option<&DebugFile<'d>>,
    ) -> Result<Self, DwarfError> {
        let sections = |file| gimli::DwarfSections::load(|id| load_needed(files, file, id, id.name()));
        let own = sections(&debug.file)?;
        let supplementary = supplementary.map(|supplementary| sections(&supplementary.file)).transpose()?;
        let mut dwarf = own.borrow_with_sup(supplementary.as_ref(), |section| *section);
        // All of them: each unit is looked at several times.
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::All);
        let split = SplitFiles::new(files, module, &debug.path);
        let lacks_a_part = supplementary.is_none() && debug.file.gnu_debugaltlink().is_ok_and(|link| link.is_some());
        Ok(DebugSections { own, supplementary, dwarf: Arc::new(dwarf), split, lacks_a_part })
    }

    /// Whether the file that `dwz` moved a part to is missing.
    pub(crate) fn lacks_a_part(&self) -> bool {
        self.lacks_a_part
    }

    /// The same without the table of addresses, which other tables can stand in for.
    fn without_address_table(&self) -> Dwarf<'d> {
        let mut dwarf = self.own.borrow_with_sup(self.supplementary.as_ref(), |section| *section);
        dwarf.debug_aranges = gimli::DebugAranges::default();
        dwarf
    }
}

/// Functions and lines in the debug information of one file.
pub(crate) struct DebugInfo<'s, 'd> {
    context: Context<Slice<'d>>,
    scopes: Scopes<'d>,
    split: &'s SplitFiles<'d>,
}

impl<'s, 'd> DebugInfo<'s, 'd> {
    /// Reads the index of the debug information. The rest is read as addresses ask for it.
    ///
    /// `addresses` are those that will be asked for, sorted.
    pub(crate) fn new(sections: &'s DebugSections<'d>, addresses: &[u64]) -> Result<Self, DwarfError> {
        Self::index(sections, sections.dwarf.clone(), addresses)
            .or_else(|_| Self::index(sections, Arc::new(sections.without_address_table()), addresses))
    }

    fn index(sections: &'s DebugSections<'d>, dwarf: Arc<Dwarf<'d>>, addresses: &[u64]) -> Result<Self, DwarfError> {
        if inline_depth::is_too_deep(&dwarf, addresses) {
            return Err(DwarfError::TooDeep);
        }
        Ok(DebugInfo { context: Context::from_arc_dwarf(dwarf)?, scopes: Scopes::default(), split: &sections.split })
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
            let language = frame.function.as_ref().and_then(|function| function.language).and_then(language);
            let location = frame.location.as_ref();
            chain.push(DwarfFrame {
                name,
                language,
                entry: frame.dw_die_offset,
                file: location.and_then(|location| location.file),
                line: location.and_then(|location| location.line),
            });
        }
        Ok(chain)
    }

    /// Name of a function with its namespaces and classes, but without arguments, from the entries around its own.
    /// `address` leads to the unit that holds the entry.
    pub(crate) fn qualified_name(&self, address: u64, entry: gimli::UnitOffset) -> Option<String> {
        let unit = self.complete(self.context.find_dwarf_and_unit(address))?;
        let unit_at = unit.header.debug_info_offset()?;
        self.scopes.qualified_name(unit.dwarf, unit_at, entry)
    }

    /// What the function's entries say beside its name. `address` leads to the unit that holds the entry.
    pub(crate) fn function(&self, address: u64, entry: gimli::UnitOffset) -> Option<Rc<Function>> {
        let unit = self.complete(self.context.find_dwarf_and_unit(address))?;
        let unit_at = unit.header.debug_info_offset()?;
        self.scopes.function(unit.dwarf, unit_at, entry)
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

fn language(language: gimli::DwLang) -> Option<Language> {
    match language {
        gimli::DW_LANG_Rust => Some(Language::Rust),
        gimli::DW_LANG_C_plus_plus
        | gimli::DW_LANG_C_plus_plus_03
        | gimli::DW_LANG_C_plus_plus_11
        | gimli::DW_LANG_C_plus_plus_14
        | gimli::DW_LANG_C_plus_plus_17
        | gimli::DW_LANG_C_plus_plus_20 => Some(Language::Cpp),
        _ => None,
    }
}
