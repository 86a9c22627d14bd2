//! Where variables are declared, from the debug information.

use gimli::{AttributeValue, UnitOffset};
use memtoll_trace::meta::Variable;

use crate::dwarf::DebugSections;
use crate::sections::{Dwarf, Slice, declaring_file};
use crate::source_path;

type Header<'d> = gimli::UnitHeader<Slice<'d>>;
type Unit<'d> = gimli::Unit<Slice<'d>>;

/// All entries are read, at some 100 MB a second: larger debug information costs more than lines of variables are worth. Bytes.
pub(crate) const MOST_DEBUG_INFO: u64 = 32 << 20;
/// Longest way from an entry to the one that has its line.
const MOST_STEPS: usize = 4;

/// What an entry of a variable says that matters here.
#[derive(Default)]
struct Entry {
    address: Option<u64>,
    /// A number in the unit's list of files.
    file: Option<u64>,
    line: Option<u32>,
    /// The entry that says the rest.
    origin: Option<UnitOffset>,
}

/// Adds files and lines to `variables`, which are sorted, as far as the debug information can be read.
pub(crate) fn find(sections: &DebugSections<'_>, variables: &mut [Variable]) {
    let dwarf = &sections.dwarf;
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        // A damaged unit costs its own lines only.
        let _ = find_in_unit(dwarf, header, variables);
    }
}

fn find_in_unit<'d>(dwarf: &Dwarf<'d>, header: Header<'d>, variables: &mut [Variable]) -> gimli::Result<()> {
    let unit = dwarf.unit(header)?;
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        if abbreviation.tag() != gimli::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes())?;
            continue;
        }
        let entry = read(dwarf, &unit, &mut entries, abbreviation)?;
        let Some(address) = entry.address else { continue };
        let Ok(at) = variables.binary_search_by_key(&address, |variable| variable.start) else { continue };
        let variable = &mut variables[at];
        if variable.line.is_none()
            && let Some((file, line)) = declaration(dwarf, &unit, entry)
        {
            (variable.file, variable.line) = (Some(file), Some(line));
        }
    }
    Ok(())
}

/// The file and the line of a variable: they may stand in the entry that declares it.
fn declaration<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>, mut entry: Entry) -> Option<(String, u32)> {
    for _ in 0..MOST_STEPS {
        let Some(origin) = entry.origin.filter(|_| entry.file.is_none() || entry.line.is_none()) else { break };
        let mut entries = unit.entries_raw(Some(origin)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let of = read(dwarf, unit, &mut entries, abbreviation).ok()?;
        entry = Entry { file: entry.file.or(of.file), line: entry.line.or(of.line), origin: of.origin, address: None };
    }
    let path = declaring_file(dwarf, unit, entry.file?)?;
    let path = match unit.comp_dir.as_ref().and_then(|folder| std::str::from_utf8(folder.slice()).ok()) {
        Some(folder) if !path.starts_with('/') => format!("{folder}/{path}"),
        _ => path,
    };
    Some((source_path::normalize(&path), entry.line?))
}

fn read<'d>(
    dwarf: &Dwarf<'d>,
    unit: &Unit<'d>,
    entries: &mut gimli::EntriesRaw<'_, Slice<'d>>,
    abbreviation: &gimli::Abbreviation,
) -> gimli::Result<Entry> {
    let mut entry = Entry::default();
    for specification in abbreviation.attributes() {
        let attribute = entries.read_attribute(*specification)?;
        match (attribute.name(), attribute.value()) {
            (gimli::DW_AT_location, AttributeValue::Exprloc(expression)) => {
                entry.address = fixed_address(dwarf, unit, expression);
            }
            (gimli::DW_AT_decl_file, AttributeValue::FileIndex(number)) => entry.file = Some(number),
            (gimli::DW_AT_decl_line, _) => {
                entry.line = attribute.udata_value().and_then(|line| u32::try_from(line).ok());
            }
            (gimli::DW_AT_specification | gimli::DW_AT_abstract_origin, AttributeValue::UnitRef(offset)) => {
                entry.origin = Some(offset);
            }
            _ => {}
        }
    }
    Ok(entry)
}

/// The address of a variable that lies at one, and at no place of a stack or a thread.
fn fixed_address<'d>(dwarf: &Dwarf<'d>, unit: &Unit<'d>, expression: gimli::Expression<Slice<'d>>) -> Option<u64> {
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(address)
}
