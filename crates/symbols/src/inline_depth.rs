//! Guards against debug information that nests without end.
//!
//! addr2line reads inlined functions by recursion, one level for each function inlined into another. In a damaged file
//! every entry can be the parent of the next, and the stack would overflow, which no caller can catch.

use rustc_hash::FxHashSet;

use crate::sections::{Dwarf, Slice};

/// Deepest chain of inlined functions that is believed. Compilers stop far earlier.
const DEEPEST_INLINING: usize = 512;

/// Whether a unit nests deeper than any compiler would, among the units which hold any of the addresses. The addresses
/// are sorted.
pub(crate) fn is_too_deep(dwarf: &Dwarf<'_>, addresses: &[u64]) -> bool {
    let from_table = units_in_address_table(dwarf, addresses);
    let mut headers = dwarf.units();
    while let Ok(Some(header)) = headers.next() {
        if matches!(
            header.type_(),
            gimli::UnitType::Type { .. } | gimli::UnitType::SplitType { .. } | gimli::UnitType::Partial
        ) {
            continue;
        }
        let in_table = header.debug_info_offset().is_some_and(|offset| from_table.contains(&offset.0));
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        let needed = in_table || may_hold(dwarf, &unit, addresses);
        if needed && unit_is_too_deep(dwarf, &unit) {
            return true;
        }
    }
    false
}

/// Whether one unit nests deeper than any compiler would.
pub(crate) fn unit_is_too_deep(dwarf: &Dwarf<'_>, unit: &gimli::Unit<Slice<'_>>) -> bool {
    deepest_inlining(gimli::UnitRef::new(dwarf, unit)).is_ok_and(|depth| depth > DEEPEST_INLINING)
}

/// An error means that addr2line will refuse the unit too, before it recurses.
fn deepest_inlining(unit: gimli::UnitRef<'_, Slice<'_>>) -> gimli::Result<usize> {
    let mut entries = unit.entries_raw(None)?;
    // Depths in the tree of the inlined functions that are open at this point.
    let mut open: Vec<isize> = Vec::new();
    let mut deepest = 0;
    while !entries.is_empty() {
        let depth = entries.next_depth();
        let Some(abbreviation) = entries.read_abbreviation()? else {
            continue;
        };
        while open.last().is_some_and(|last| *last >= depth) {
            open.pop();
        }
        if abbreviation.tag() == gimli::DW_TAG_inlined_subroutine {
            open.push(depth);
            deepest = deepest.max(open.len());
        }
        entries.skip_attributes(abbreviation.attributes())?;
    }
    Ok(deepest)
}

/// A unit that does not say which addresses it holds may hold any.
fn may_hold(dwarf: &Dwarf<'_>, unit: &gimli::Unit<Slice<'_>>, addresses: &[u64]) -> bool {
    let Ok(mut ranges) = dwarf.unit_ranges(unit) else {
        return true;
    };
    let mut any_range = false;
    loop {
        match ranges.next() {
            Ok(Some(range)) if range.begin < range.end => {
                any_range = true;
                if holds_any(addresses, range) {
                    return true;
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => return !any_range,
            Err(_) => return true,
        }
    }
}

/// Offsets of the units that `.debug_aranges` gives for the addresses.
fn units_in_address_table(dwarf: &Dwarf<'_>, addresses: &[u64]) -> FxHashSet<usize> {
    let mut units = FxHashSet::default();
    let mut headers = dwarf.debug_aranges.headers();
    while let Ok(Some(header)) = headers.next() {
        let mut entries = header.entries();
        // As addr2line does, entries after a damaged one still count.
        while let Some(entry) = entries.next().transpose() {
            if entry.is_ok_and(|entry| holds_any(addresses, entry.range())) {
                units.insert(header.debug_info_offset().0);
                break;
            }
        }
    }
    units
}

fn holds_any(addresses: &[u64], range: gimli::Range) -> bool {
    let first = addresses.partition_point(|address| *address < range.begin);
    addresses.get(first).is_some_and(|address| *address < range.end)
}
