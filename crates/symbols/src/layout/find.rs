//! Finding a type by its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use addr2line::SplitDwarfLoad;
use gimli::{AttributeValue, UnitOffset};
use rustc_hash::FxHashMap;

use super::read::{self, Known, Reading};
use super::{Layout, LayoutError};
use crate::canonical_type::{UNNAMED_NAMESPACE, canonical, parts};
use crate::dwarf::DebugSections;
use crate::sections::{Dwarf, Slice};

/// Similar names in an error, at most.
const MOST_NAMES: usize = 5;

/// Where the type is that is looked for, as far as it was found.
struct Search<'w> {
    /// The name in the one spelling, and its last part without template arguments.
    wanted: String,
    stem: &'w str,
    /// By full name. Of several definitions in several units, the first one counts.
    found: BTreeMap<String, Layout>,
    /// Similar names, with how similar they are: less is better.
    near: BTreeMap<String, usize>,
    known: &'w Known,
}

/// Definitions that stand elsewhere than their declarations, which have the scopes.
#[derive(Default)]
struct Apart {
    /// The full names of declarations.
    declared: FxHashMap<UnitOffset, String>,
    defined: Vec<UnitOffset>,
}

/// Finds a type. A name without its scopes will do if only one type has it.
pub(super) fn find(sections: &DebugSections, name: &str) -> Result<Layout, LayoutError> {
    let wanted = canonical(name).unwrap_or_default();
    let stem = stem(parts(&wanted).last().copied().unwrap_or_default()).to_owned();
    let known = Known::default();
    let mut search =
        Search { wanted: wanted.clone(), stem: &stem, found: BTreeMap::new(), near: BTreeMap::new(), known: &known };
    if !stem.is_empty() {
        let dwarf = &sections.dwarf;
        search.units(dwarf, &mut |unit| {
            let load = SplitDwarfLoad {
                dwo_id: unit.dwo_id?,
                comp_dir: unit.comp_dir,
                path: unit.dwo_name().ok()?.and_then(|name| dwarf.attr_string(unit, name).ok()),
                parent: dwarf.clone(),
            };
            sections.split.load(&load)
        });
        if let Some(supplementary) = dwarf.sup() {
            search.units(supplementary, &mut |_| None);
        }
    }
    if let Some(exact) = search.found.remove(&wanted) {
        return Ok(exact);
    }
    let name = name.to_owned();
    match search.found.len() {
        1 => search.found.into_values().next().ok_or(LayoutError::NoType { name, there_are: Vec::new() }),
        0 => Err(LayoutError::NoType { name, there_are: search.nearest() }),
        _ => Err(LayoutError::Several { name, there_are: search.found.into_keys().take(2 * MOST_NAMES).collect() }),
    }
}

/// A name without template arguments.
fn stem(part: &str) -> &str {
    part.split(['<', '(']).next().unwrap_or(part).trim()
}

impl Search<'_> {
    /// Looks into all units. A damaged one costs its own types only.
    fn units<'d>(
        &mut self,
        dwarf: &Dwarf<'d>,
        load_split: &mut dyn FnMut(&gimli::Unit<Slice<'d>>) -> Option<Arc<Dwarf<'d>>>,
    ) {
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            if self.found.contains_key(&self.wanted) {
                return;
            }
            if unit.dwo_id.is_some()
                && let Some(split) = load_split(&unit)
            {
                // One level: what a split unit refers to is not split again.
                self.units(&split, &mut |_| None);
                continue;
            }
            let _ = self.unit(&Reading::new(dwarf, &unit, self.known));
        }
        let mut headers = dwarf.type_units();
        while let Ok(Some(header)) = headers.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let _ = self.unit(&Reading::new(dwarf, &unit, self.known));
        }
    }

    /// Goes through scopes and types; functions and what is in them are passed over.
    fn unit<'d>(&mut self, reading: &Reading<'_, 'd>) -> gimli::Result<()> {
        let mut tree = reading.unit.entries_tree(None)?;
        let mut children = tree.root()?.children();
        let mut inner: Vec<(UnitOffset, String)> = Vec::new();
        let mut apart = Apart::default();
        while let Some(child) = children.next()? {
            inner.extend(self.entry(reading, child.entry(), "", &mut apart));
        }
        while let Some((offset, scope)) = inner.pop() {
            let mut tree = reading.unit.entries_tree(Some(offset))?;
            let mut children = tree.root()?.children();
            while let Some(child) = children.next()? {
                inner.extend(self.entry(reading, child.entry(), &scope, &mut apart));
            }
        }
        for offset in apart.defined {
            let entry = reading.unit.entry(offset)?;
            if let Some(AttributeValue::UnitRef(declaration)) = entry.attr_value(gimli::DW_AT_specification)
                && let (Some(full), Some(name)) = (apart.declared.get(&declaration), reading.name(&entry))
            {
                self.weigh(reading, &entry, &name, full);
            }
        }
        Ok(())
    }

    /// Looks at an entry; gives its scope if there may be types in it.
    fn entry<'d>(
        &mut self,
        reading: &Reading<'_, 'd>,
        entry: &gimli::DebuggingInformationEntry<Slice<'d>>,
        scope: &str,
        apart: &mut Apart,
    ) -> Option<(UnitOffset, String)> {
        let tag = entry.tag;
        let is_type = read::kind(tag).is_some();
        if !is_type && tag != gimli::DW_TAG_namespace && tag != gimli::DW_TAG_typedef {
            return None;
        }
        let name = match reading.name(entry) {
            Some(name) => name,
            None if tag == gimli::DW_TAG_namespace => UNNAMED_NAMESPACE.to_owned(),
            None => return None,
        };
        let full = if scope.is_empty() { name.clone() } else { format!("{scope}::{name}") };
        if is_type && entry.attr(gimli::DW_AT_specification).is_some() {
            apart.defined.push(entry.offset);
            return None;
        }
        if is_type && entry.attr(gimli::DW_AT_declaration).is_some() {
            apart.declared.insert(entry.offset, full.clone());
        }
        if is_type || tag == gimli::DW_TAG_typedef {
            self.weigh(reading, entry, &name, &full);
        }
        (tag != gimli::DW_TAG_typedef && entry.has_children).then_some((entry.offset, full))
    }

    /// Whether a type is the one, or is called like it.
    fn weigh<'d>(
        &mut self,
        reading: &Reading<'_, 'd>,
        entry: &gimli::DebuggingInformationEntry<Slice<'d>>,
        name: &str,
        full: &str,
    ) {
        let own = stem(name);
        if own != self.stem {
            let distance = strsim::damerau_levenshtein(&own.to_lowercase(), &self.stem.to_lowercase());
            let most = if self.stem.len() < 4 { 1 } else { self.stem.len() / 3 };
            if distance <= most && (self.near.len() < 1000 || distance < 2) && !self.near.contains_key(full) {
                self.near.insert(full.to_owned(), distance);
            }
            return;
        }
        let Some(canonical) = canonical(full) else { return };
        let ends_so =
            canonical == self.wanted || canonical.strip_suffix(&self.wanted).is_some_and(|scope| scope.ends_with("::"));
        if !ends_so {
            // The same template with other arguments, or in another scope.
            self.near.insert(full.to_owned(), 0);
        } else if !self.found.contains_key(&canonical)
            && let Some(layout) = reading.layout(entry, full)
        {
            self.found.insert(canonical, layout);
        }
    }

    fn nearest(self) -> Vec<String> {
        let mut near: Vec<(String, usize)> = self.near.into_iter().collect();
        near.sort_by_key(|(name, distance)| (*distance, name.len()));
        near.into_iter().take(MOST_NAMES).map(|(name, _)| name).collect()
    }
}
