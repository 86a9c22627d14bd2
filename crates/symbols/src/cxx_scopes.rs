//! Names of C++ functions with their namespaces and classes, for functions without a linkage name.
//!
//! GCC gives no linkage name to functions that only one file can see: static functions, those in unnamed namespaces,
//! and lambdas. Their plain name alone, such as `operator()`, says nothing.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::function::Function;
use crate::sections::{Dwarf, Slice};

/// Longest way from an entry to the outermost scope, counting the steps from a definition to its declaration. Damaged
/// entries can refer to each other in a circle.
const MOST_STEPS: usize = 64;

/// Scopes of the units that were asked for so far.
#[derive(Default)]
pub(crate) struct Scopes<'d> {
    units: RefCell<FxHashMap<UnitKey, Option<Rc<UnitScopes<'d>>>>>,
    /// Where the units of each file start, in order.
    starts: RefCell<FxHashMap<usize, Rc<Vec<usize>>>>,
    functions: RefCell<FxHashMap<EntryKey, Option<Rc<Function>>>>,
}

/// Address of the sections in memory, and offset of the unit in `.debug_info`: together with a supplementary file or
/// split debug information there are several files with a unit 0.
type UnitKey = (usize, usize);

/// A unit, and the offset of the entry in it.
type EntryKey = (UnitKey, usize);

/// The entries of one unit that can be part of a name.
struct UnitScopes<'d> {
    unit: gimli::Unit<Slice<'d>>,
    /// Sorted by offset. Read when asked for.
    entries: OnceCell<Vec<ScopeEntry>>,
}

struct ScopeEntry {
    offset: usize,
    /// Index of the entry around it.
    parent: Option<usize>,
}

/// A place in the debug information.
#[derive(Clone)]
struct Place<'a, 'd> {
    dwarf: &'a Dwarf<'d>,
    scopes: Rc<UnitScopes<'d>>,
    entry: gimli::UnitOffset,
}

/// What one entry says of its name.
struct Naming<'d> {
    tag: gimli::DwTag,
    name: Option<String>,
    /// The declaration, or the function that this is a copy of.
    origin: Option<gimli::AttributeValue<Slice<'d>>>,
}

impl<'d> Scopes<'d> {
    /// The full name of the function at `entry` in the unit at `unit_at`, without arguments.
    pub(crate) fn qualified_name(
        &self,
        dwarf: &Dwarf<'d>,
        unit_at: gimli::DebugInfoOffset,
        entry: gimli::UnitOffset,
    ) -> Option<String> {
        let scopes = self.unit(dwarf, unit_at)?;
        let mut place = Place { dwarf, scopes, entry };
        // Innermost first.
        let mut parts = Vec::new();
        let mut name = None;
        for _ in 0..MOST_STEPS {
            let naming = place.naming()?;
            name = name.or(naming.name);
            if let Some(origin) = naming.origin {
                // The declaration stands where the function belongs; its definition may stand elsewhere.
                place = self.follow(&place, origin)?;
                continue;
            }
            match (name.take(), naming.tag) {
                (Some(name), _) => parts.push(name),
                (None, gimli::DW_TAG_namespace) => parts.push("(anonymous namespace)".to_string()),
                (None, _) => match parts.last().map(String::as_str) {
                    None => return None,
                    Some("operator()") => parts.push("{lambda}".to_string()),
                    Some(_) => parts.push("{unnamed}".to_string()),
                },
            }
            match place.parent() {
                Some(parent) => place = parent,
                None => {
                    parts.reverse();
                    return Some(parts.join("::"));
                }
            }
        }
        None
    }

    /// What the entries of the function at `entry` in the unit at `unit_at` say beside its name.
    pub(crate) fn function(
        &self,
        dwarf: &Dwarf<'d>,
        unit_at: gimli::DebugInfoOffset,
        entry: gimli::UnitOffset,
    ) -> Option<Rc<Function>> {
        let key = ((key(dwarf), unit_at.0), entry.0);
        if let Some(known) = self.functions.borrow().get(&key) {
            return known.clone();
        }
        let function = self.read_function(dwarf, unit_at, entry).map(Rc::new);
        self.functions.borrow_mut().insert(key, function.clone());
        function
    }

    fn read_function(
        &self,
        dwarf: &Dwarf<'d>,
        unit_at: gimli::DebugInfoOffset,
        entry: gimli::UnitOffset,
    ) -> Option<Function> {
        let mut place = Place { dwarf, scopes: self.unit(dwarf, unit_at)?, entry };
        let mut function = Function::default();
        for _ in 0..MOST_STEPS {
            match function.add(place.dwarf, &place.scopes.unit, place.entry).ok()? {
                None => break,
                Some(origin) => place = self.follow(&place, origin)?,
            }
        }
        Some(function)
    }

    fn follow<'a>(&self, from: &Place<'a, 'd>, reference: gimli::AttributeValue<Slice<'d>>) -> Option<Place<'a, 'd>> {
        let (dwarf, at) = match reference {
            gimli::AttributeValue::UnitRef(entry) => {
                return Some(Place { entry, ..from.clone() });
            }
            gimli::AttributeValue::DebugInfoRef(at) => (from.dwarf, at),
            gimli::AttributeValue::DebugInfoRefSup(at) => (from.dwarf.sup()?, at),
            _ => return None,
        };
        let starts = self.unit_starts(dwarf);
        let next = starts.partition_point(|start| *start <= at.0);
        let unit_at = *starts.get(next.checked_sub(1)?)?;
        let scopes = self.unit(dwarf, gimli::DebugInfoOffset(unit_at))?;
        let entry = at.to_unit_offset(&scopes.unit.header)?;
        Some(Place { dwarf, scopes, entry })
    }

    fn unit(&self, dwarf: &Dwarf<'d>, unit_at: gimli::DebugInfoOffset) -> Option<Rc<UnitScopes<'d>>> {
        self.units
            .borrow_mut()
            .entry((key(dwarf), unit_at.0))
            .or_insert_with(|| UnitScopes::read(dwarf, unit_at).map(Rc::new))
            .clone()
    }

    fn unit_starts(&self, dwarf: &Dwarf<'d>) -> Rc<Vec<usize>> {
        self.starts
            .borrow_mut()
            .entry(key(dwarf))
            .or_insert_with(|| {
                let mut starts = Vec::new();
                let mut headers = dwarf.units();
                while let Ok(Some(header)) = headers.next() {
                    starts.extend(header.debug_info_offset().map(|offset| offset.0));
                }
                Rc::new(starts)
            })
            .clone()
    }
}

/// The sections stay where they are as long as the [`Scopes`] live: addr2line's context holds both.
fn key(dwarf: &Dwarf<'_>) -> usize {
    std::ptr::from_ref(dwarf).addr()
}

impl<'d> UnitScopes<'d> {
    fn read(dwarf: &Dwarf<'d>, unit_at: gimli::DebugInfoOffset) -> Option<Self> {
        let header = dwarf.debug_info.header_from_offset(unit_at).ok()?;
        let unit = dwarf.unit(header).ok()?;
        Some(UnitScopes { unit, entries: OnceCell::new() })
    }

    fn entries(&self) -> &[ScopeEntry] {
        self.entries.get_or_init(|| Self::read_entries(&self.unit).unwrap_or_default())
    }

    fn read_entries(unit: &gimli::Unit<Slice<'d>>) -> gimli::Result<Vec<ScopeEntry>> {
        let mut all = unit.header.entries_raw(&unit.abbreviations, None)?;
        let mut entries = Vec::new();
        // Index and depth of the scopes that are open at this point.
        let mut open: Vec<(usize, isize)> = Vec::new();
        while !all.is_empty() {
            let offset = all.next_offset().0;
            let depth = all.next_depth();
            let Some(abbreviation) = all.read_abbreviation()? else {
                continue;
            };
            while open.last().is_some_and(|(_, last)| *last >= depth) {
                open.pop();
            }
            if is_scope(abbreviation.tag()) {
                let parent = open.last().map(|(index, _)| *index);
                open.push((entries.len(), depth));
                entries.push(ScopeEntry { offset, parent });
            }
            all.skip_attributes(abbreviation.attributes())?;
        }
        Ok(entries)
    }
}

impl<'a, 'd> Place<'a, 'd> {
    fn naming(&self) -> Option<Naming<'d>> {
        let unit = &self.scopes.unit;
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(self.entry)).ok()?;
        let abbreviation = entries.read_abbreviation().ok()??;
        let mut naming = Naming { tag: abbreviation.tag(), name: None, origin: None };
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification).ok()?;
            match attribute.name() {
                gimli::DW_AT_name => {
                    naming.name = self
                        .dwarf
                        .attr_string(unit, attribute.value())
                        .ok()
                        .map(|name| name.to_string_lossy().into_owned());
                }
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => {
                    naming.origin = Some(attribute.value());
                }
                _ => {}
            }
        }
        Some(naming)
    }

    fn parent(&self) -> Option<Place<'a, 'd>> {
        let entries = self.scopes.entries();
        let at = entries.binary_search_by_key(&self.entry.0, |entry| entry.offset).ok()?;
        let parent = entries.get(entries.get(at)?.parent?)?;
        Some(Place { entry: gimli::UnitOffset(parent.offset), ..self.clone() })
    }
}

fn is_scope(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_subprogram
    )
}
