//! Sizes of types from the debug information.
//!
//! Only the entries of types and of the scopes around wanted types are read: functions, and scopes in which nothing is
//! wanted, are passed over, in one leap where the compiler left a reference to the entry after them.

use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::{AttributeValue, DebugStrOffsetsBase, UnitOffset};
use rustc_hash::FxHashMap;

use crate::canonical_type::UNNAMED_NAMESPACE;
use crate::dwarf::DebugSections;
use crate::sections::{Dwarf, Slice};
use crate::wanted_types::{OUTERMOST, ScopeId, WantedTypes};

type Header<'d> = gimli::UnitHeader<Slice<'d>>;

/// Longest way from a `typedef` to what it stands for. Damaged entries can refer to each other in a circle.
const MOST_STEPS: usize = 32;

/// Looks for wanted types in the debug information of one file, as far as it can be read.
pub(crate) fn find<'d>(sections: &DebugSections<'d>, wanted: &mut WantedTypes) {
    let dwarf = &sections.dwarf;
    find_in_units(dwarf, wanted, &mut |header| sections.split.load(&split_request(dwarf, header)?));
    if let Some(supplementary) = dwarf.sup() {
        find_in_units(supplementary, wanted, &mut |_| None);
    }
}

/// What to ask for where a unit leaves the rest to another file.
fn split_request<'d>(dwarf: &Arc<Dwarf<'d>>, header: Header<'d>) -> Option<SplitDwarfLoad<Slice<'d>>> {
    let unit = dwarf.unit(header).ok()?;
    Some(SplitDwarfLoad {
        dwo_id: unit.dwo_id?,
        comp_dir: unit.comp_dir,
        path: unit.dwo_name().ok()?.and_then(|name| dwarf.attr_string(&unit, name).ok()),
        parent: dwarf.clone(),
    })
}

/// Looks for wanted types in all units. A damaged unit costs its own types only.
fn find_in_units<'d>(
    dwarf: &Dwarf<'d>,
    wanted: &mut WantedTypes,
    load_split: &mut dyn FnMut(Header<'d>) -> Option<Arc<Dwarf<'d>>>,
) {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if wanted.is_complete() {
            return;
        }
        if let Ok(Contents::Split) = find_in_unit(dwarf, header, wanted)
            && let Some(split) = load_split(header)
        {
            // One level: what a split unit refers to is not split again.
            find_in_units(&split, wanted, &mut |_| None);
        }
    }
    let mut units = dwarf.type_units();
    while let Ok(Some(header)) = units.next() {
        if wanted.is_complete() {
            return;
        }
        let _ = find_in_unit(dwarf, header, wanted);
    }
}

/// Where the entries of a unit are.
enum Contents {
    Here,
    /// In another file.
    Split,
}

/// What is needed to read the entries of a unit.
struct UnitReader<'a, 'd> {
    dwarf: &'a Dwarf<'d>,
    header: Header<'d>,
    abbreviations: &'a gimli::Abbreviations,
    strings: DebugStrOffsetsBase,
}

/// What an entry says that matters here.
#[derive(Default)]
struct Entry<'d> {
    name: Option<AttributeValue<Slice<'d>>>,
    /// Bytes.
    size: Option<u64>,
    is_declaration: bool,
    /// The entry after this one and all in it.
    sibling: Option<UnitOffset>,
    /// The declaration of what is defined here.
    specification: Option<UnitOffset>,
    /// What a `typedef` stands for.
    target: Option<UnitOffset>,
}

fn find_in_unit<'d>(dwarf: &Dwarf<'d>, header: Header<'d>, wanted: &mut WantedTypes) -> gimli::Result<Contents> {
    let abbreviations = dwarf.abbreviations(&header)?;
    let base = DebugStrOffsetsBase::default_for_encoding_and_file(header.encoding(), dwarf.file_type);
    let mut reader = UnitReader { dwarf, header, abbreviations: &abbreviations, strings: base };
    let mut entries = header.entries_raw(&abbreviations, None)?;
    let Some(root) = entries.read_abbreviation()? else {
        return Ok(Contents::Here);
    };
    for specification in root.attributes() {
        let attribute = entries.read_attribute(*specification)?;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_str_offsets_base, AttributeValue::DebugStrOffsetsBase(base)) => reader.strings = base,
            (gimli::DW_AT_dwo_name | gimli::DW_AT_GNU_dwo_name, _) => return Ok(Contents::Split),
            // The names asked for come from templates, and C has its own types of the same names.
            (gimli::DW_AT_language, AttributeValue::Language(language)) if is_c(language) => return Ok(Contents::Here),
            _ => {}
        }
    }
    reader.find(entries, wanted)?;
    Ok(Contents::Here)
}

impl<'d> UnitReader<'_, 'd> {
    /// Reads the entries below the root, which has been read.
    fn find<'s>(
        &'s self,
        mut entries: gimli::EntriesRaw<'s, Slice<'d>>,
        wanted: &mut WantedTypes,
    ) -> gimli::Result<()> {
        // Depth of the entry at which `entries` began: those made by a leap count from 0 again.
        let mut base = 0;
        let mut open: Vec<(isize, ScopeId)> = vec![(0, OUTERMOST)];
        // Wanted types that were only declared so far.
        let mut declared: FxHashMap<UnitOffset, ScopeId> = FxHashMap::default();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let depth = base + entries.next_depth();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                continue;
            };
            while open.last().is_some_and(|(last, _)| *last >= depth) {
                open.pop();
            }
            let Some(&(outer_depth, outer)) = open.last() else {
                return Ok(());
            };
            let tag = abbreviation.tag();
            if outer_depth + 1 != depth || !matters(tag) {
                let sibling = skip(&mut entries, abbreviation)?;
                self.leap(&mut entries, &mut base, depth, sibling)?;
                continue;
            }
            let entry = read(&mut entries, abbreviation)?;
            let scope = match (entry.specification, &entry.name) {
                // The declaration stands where the type belongs; its definition may stand elsewhere.
                (Some(declaration), _) => declared.get(&declaration).copied(),
                (None, Some(name)) => self.text(*name).and_then(|name| wanted.inner(outer, name)),
                (None, None) if tag == gimli::DW_TAG_namespace => wanted.inner(outer, UNNAMED_NAMESPACE.as_bytes()),
                (None, None) => None,
            };
            if let Some(scope) = scope {
                if entry.is_declaration {
                    declared.insert(offset, scope);
                }
                if wanted.needs_size(scope)
                    && let Some(size) = self.size(tag, &entry)
                {
                    wanted.set_size(scope, size);
                    if wanted.is_complete() {
                        return Ok(());
                    }
                }
                if wanted.has_inner(scope) && abbreviation.has_children() {
                    open.push((depth, scope));
                    continue;
                }
            }
            if abbreviation.has_children() {
                self.leap(&mut entries, &mut base, depth, entry.sibling)?;
            }
        }
        Ok(())
    }

    /// Goes on with the entry after one at `depth` whose contents do not matter, if it says where that is. Only forwards,
    /// so that it comes to an end.
    fn leap<'s>(
        &'s self,
        entries: &mut gimli::EntriesRaw<'s, Slice<'d>>,
        base: &mut isize,
        depth: isize,
        sibling: Option<UnitOffset>,
    ) -> gimli::Result<()> {
        if let Some(sibling) = sibling
            && sibling > entries.next_offset()
        {
            *entries = self.header.entries_raw(self.abbreviations, Some(sibling))?;
            *base = depth;
        }
        Ok(())
    }

    /// Size of the type that an entry defines, bytes.
    fn size(&self, tag: gimli::DwTag, entry: &Entry<'d>) -> Option<u64> {
        match tag {
            gimli::DW_TAG_namespace => None,
            gimli::DW_TAG_typedef => self.target_size(entry.target?),
            _ if entry.is_declaration => None,
            gimli::DW_TAG_pointer_type => Some(entry.size.unwrap_or(u64::from(self.header.address_size()))),
            _ => entry.size,
        }
    }

    /// Size of the type at the end of a chain of type definitions, bytes.
    fn target_size(&self, mut target: UnitOffset) -> Option<u64> {
        for _ in 0..MOST_STEPS {
            let mut entries = self.header.entries_raw(self.abbreviations, Some(target)).ok()?;
            let abbreviation = entries.read_abbreviation().ok()??;
            let entry = read(&mut entries, abbreviation).ok()?;
            match abbreviation.tag() {
                gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                    target = entry.target?
                }
                tag if is_type(tag) => return self.size(tag, &entry),
                _ => return None,
            }
        }
        None
    }

    fn text(&self, value: AttributeValue<Slice<'d>>) -> Option<&'d [u8]> {
        let text = match value {
            AttributeValue::DebugStrOffsetsIndex(index) => {
                let offsets = &self.dwarf.debug_str_offsets;
                let offset = offsets.get_str_offset(self.header.format(), self.strings, index).ok()?;
                self.dwarf.string(offset).ok()?
            }
            value => self.dwarf.attr_line_string(value).ok()?,
        };
        Some(text.slice())
    }
}

fn read<'d>(
    entries: &mut gimli::EntriesRaw<'_, Slice<'d>>,
    abbreviation: &gimli::Abbreviation,
) -> gimli::Result<Entry<'d>> {
    let mut entry = Entry::default();
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute_inline(*specification)?;
        let reference = || match attribute.value() {
            AttributeValue::UnitRef(offset) => Some(offset),
            _ => None,
        };
        match attribute.name() {
            gimli::DW_AT_name => entry.name = Some(attribute.value()),
            gimli::DW_AT_byte_size => entry.size = attribute.udata_value(),
            gimli::DW_AT_declaration => entry.is_declaration = attribute.value() == AttributeValue::Flag(true),
            gimli::DW_AT_sibling => entry.sibling = reference(),
            gimli::DW_AT_specification => entry.specification = reference(),
            gimli::DW_AT_type => entry.target = reference(),
            _ => {}
        }
    }
    Ok(entry)
}

/// Passes over the attributes of an entry; gives the entry after it and all in it, if it says where that is.
fn skip(
    entries: &mut gimli::EntriesRaw<'_, Slice<'_>>,
    abbreviation: &gimli::Abbreviation,
) -> gimli::Result<Option<UnitOffset>> {
    let attributes = abbreviation.attributes();
    let at = match abbreviation.has_children() {
        true => attributes.iter().position(|attribute| attribute.name() == gimli::DW_AT_sibling),
        false => None,
    };
    let Some(at) = at else {
        entries.skip_attributes(attributes)?;
        return Ok(None);
    };
    entries.skip_attributes(&attributes[..at])?;
    let sibling = entries.read_attribute(attributes[at])?;
    entries.skip_attributes(&attributes[at + 1..])?;
    Ok(match sibling.value() {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    })
}

fn matters(tag: gimli::DwTag) -> bool {
    tag == gimli::DW_TAG_namespace || tag == gimli::DW_TAG_typedef || is_type(tag)
}

fn is_type(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_base_type
            | gimli::DW_TAG_pointer_type
    )
}

fn is_c(language: gimli::DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C
            | gimli::DW_LANG_C89
            | gimli::DW_LANG_C99
            | gimli::DW_LANG_C11
            | gimli::DW_LANG_C17
            | gimli::DW_LANG_Mips_Assembler
    )
}
