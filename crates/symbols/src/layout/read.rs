//! Members of a type, and what their types take, from its entry.

use std::cell::RefCell;

use gimli::{AttributeValue, DebuggingInformationEntry, UnitOffset, UnitSectionOffset};
use rustc_hash::FxHashMap;

use super::{Kind, Layout, Member, Role};
use crate::sections::{Dwarf, Slice, declaring_file};

/// How deep types may refer to types. Damaged entries can do so in a circle.
const DEEPEST: usize = 128;
/// No type, offset or alignment is larger, bytes or bits: damaged entries can say anything.
const LARGEST: u64 = 1 << 40;
/// The name of a type of which nothing is known.
const UNKNOWN: &str = "?";

type Entry<'d> = DebuggingInformationEntry<Slice<'d>>;

/// What types take, each found once: those of a damaged file may consist of each other, many times at each level. A type that is
/// being looked at has nothing yet, as no type contains itself.
#[derive(Default)]
pub(super) struct Known(RefCell<FxHashMap<(usize, UnitSectionOffset, UnitOffset), Option<Taken>>>);

/// What is needed to read entries.
pub(super) struct Reading<'a, 'd> {
    dwarf: &'a Dwarf<'d>,
    pub(super) unit: &'a gimli::Unit<Slice<'d>>,
    known: &'a Known,
    /// The largest alignment of a type that has none of its own, bytes.
    largest: u64,
}

/// What a type takes.
#[derive(Clone, Debug)]
struct Taken {
    name: String,
    /// Bytes.
    size: Option<u64>,
    /// Bytes.
    alignment: u64,
}

/// Which kind of type with members an entry is.
pub(super) fn kind(tag: gimli::DwTag) -> Option<Kind> {
    match tag {
        gimli::DW_TAG_structure_type => Some(Kind::Struct),
        gimli::DW_TAG_class_type => Some(Kind::Class),
        gimli::DW_TAG_union_type => Some(Kind::Union),
        _ => None,
    }
}

impl<'a, 'd> Reading<'a, 'd> {
    pub(super) fn new(dwarf: &'a Dwarf<'d>, unit: &'a gimli::Unit<Slice<'d>>, known: &'a Known) -> Self {
        // Where words have 4 bytes, nothing in a structure is aligned to more.
        let largest = if unit.encoding().address_size == 4 { 4 } else { 16 };
        Reading { dwarf, unit, known, largest }
    }

    pub(super) fn name(&self, entry: &Entry<'d>) -> Option<String> {
        let name = self.dwarf.attr_string(self.unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
        Some(name.to_string_lossy().into_owned())
    }

    fn number(&self, entry: &Entry<'d>, name: gimli::DwAt) -> Option<u64> {
        entry.attr(name)?.udata_value().filter(|value| *value <= LARGEST)
    }

    fn has(&self, entry: &Entry<'d>, name: gimli::DwAt) -> bool {
        matches!(entry.attr_value(name), Some(AttributeValue::Flag(true)))
    }

    /// Where a member begins, bytes.
    fn location(&self, entry: &Entry<'d>) -> Option<u64> {
        match entry.attr_value(gimli::DW_AT_data_member_location)? {
            // Before DWARF 4: what is added to the address of the whole.
            AttributeValue::Exprloc(expression) => match expression.operations(self.unit.encoding()).next() {
                Ok(Some(gimli::Operation::PlusConstant { value })) => Some(value).filter(|value| *value <= LARGEST),
                _ => None,
            },
            value => value.udata_value().filter(|value| *value <= LARGEST),
        }
    }

    /// Does something with the type that an entry refers to, which may be in another unit.
    fn with_target<T>(
        &self,
        entry: &Entry<'d>,
        act: impl FnOnce(&Reading<'_, 'd>, UnitOffset) -> Option<T>,
    ) -> Option<T> {
        match entry.attr_value(gimli::DW_AT_type)? {
            AttributeValue::UnitRef(offset) => act(self, offset),
            AttributeValue::DebugInfoRef(at) => self.with_entry(self.dwarf, at, act),
            AttributeValue::DebugInfoRefSup(at) => self.with_entry(self.dwarf.sup()?, at, act),
            AttributeValue::DebugTypesRef(signature) => {
                let (unit, offset) = type_unit(self.dwarf, signature)?;
                act(&Reading::new(self.dwarf, &unit, self.known), offset)
            }
            _ => None,
        }
    }

    /// The same for an entry anywhere in `.debug_info`.
    fn with_entry<T>(
        &self,
        dwarf: &Dwarf<'d>,
        at: gimli::DebugInfoOffset,
        act: impl FnOnce(&Reading<'_, 'd>, UnitOffset) -> Option<T>,
    ) -> Option<T> {
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            if let Some(offset) = at.to_unit_offset(&header) {
                let unit = dwarf.unit(header).ok()?;
                return act(&Reading::new(dwarf, &unit, self.known), offset);
            }
        }
        None
    }

    /// The layout of a type that is defined here, or of what a `typedef` stands for; nothing of declarations.
    pub(super) fn layout(&self, entry: &Entry<'d>, name: &str) -> Option<Layout> {
        if entry.tag == gimli::DW_TAG_typedef {
            return self.with_target(entry, |other, target| other.target_layout(target, name, 0));
        }
        let (kind, size) = (kind(entry.tag)?, self.number(entry, gimli::DW_AT_byte_size)?);
        if self.has(entry, gimli::DW_AT_declaration) {
            return None;
        }
        let mut members = self.members(entry.offset, 0)?;
        members.sort_by_key(|member| (member.bit_offset, member.bit_size));
        let is_enum = members.iter().any(|member| member.role == Role::Variant);
        let natural = members.iter().map(|member| member.alignment).max().unwrap_or(1);
        let is_packed = is_packed(&members, size, natural);
        let own = self.number(entry, gimli::DW_AT_alignment);
        Some(Layout {
            name: name.to_owned(),
            kind: if is_enum { Kind::Enum } else { kind },
            size,
            alignment: own.unwrap_or(if is_packed { 1 } else { natural }),
            is_packed,
            file: self.file(entry),
            line: self.number(entry, gimli::DW_AT_decl_line),
            members,
        })
    }

    fn target_layout(&self, target: UnitOffset, name: &str, depth: usize) -> Option<Layout> {
        let entry = self.unit.entry(target).ok()?;
        match entry.tag {
            _ if depth > DEEPEST => None,
            gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type => {
                self.with_target(&entry, |other, target| other.target_layout(target, name, depth + 1))
            }
            tag if kind(tag).is_some() => self.layout(&entry, name),
            _ => None,
        }
    }

    fn file(&self, entry: &Entry<'d>) -> Option<String> {
        let number = self.number(entry, gimli::DW_AT_decl_file)?;
        declaring_file(self.dwarf, self.unit, number)
    }

    /// The members of the type at `offset`.
    fn members(&self, offset: UnitOffset, depth: usize) -> Option<Vec<Member>> {
        let mut tree = self.unit.entries_tree(Some(offset)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = Vec::new();
        let mut variants = Vec::new();
        while let Some(child) = children.next().ok()? {
            let entry = child.entry();
            match entry.tag {
                gimli::DW_TAG_member => members.extend(self.member(entry, depth)),
                gimli::DW_TAG_inheritance => members.push(self.base(entry, depth)),
                gimli::DW_TAG_variant_part => variants.push(entry.offset),
                _ => {}
            }
        }
        for part in variants {
            members.extend(self.variants(part, depth).unwrap_or_default());
        }
        Some(members)
    }

    /// What the variants of an enum hold.
    fn variants(&self, part: UnitOffset, depth: usize) -> Option<Vec<Member>> {
        let mut tree = self.unit.entries_tree(Some(part)).ok()?;
        let mut children = tree.root().ok()?.children();
        let mut members = Vec::new();
        while let Some(child) = children.next().ok()? {
            match child.entry().tag {
                gimli::DW_TAG_member => {
                    // The tag of the variants; where a niche tells them apart, it lies within one of them.
                    let tag = self.member(child.entry(), depth);
                    let named = |member| Member { name: Some("(tag)".to_owned()), role: Role::Variant, ..member };
                    members.extend(tag.map(named));
                }
                gimli::DW_TAG_variant => {
                    let mut inner = child.children();
                    while let Some(member) = inner.next().ok()? {
                        if member.entry().tag == gimli::DW_TAG_member {
                            let found = self.member(member.entry(), depth);
                            members.extend(found.map(|member| Member { role: Role::Variant, ..member }));
                        }
                    }
                }
                _ => {}
            }
        }
        Some(members)
    }

    fn member(&self, entry: &Entry<'d>, depth: usize) -> Option<Member> {
        // A static member takes nothing.
        if self.has(entry, gimli::DW_AT_external) || self.has(entry, gimli::DW_AT_declaration) {
            return None;
        }
        let taken = self.taken_by(entry, depth);
        let name = self.name(entry);
        let byte = self.location(entry).unwrap_or(0);
        let bits = self.number(entry, gimli::DW_AT_bit_size);
        let bit_offset = match (self.number(entry, gimli::DW_AT_data_bit_offset), bits) {
            (Some(offset), _) => offset,
            (None, Some(bits)) => {
                // Before DWARF 4: counted from the most significant bit of a storage unit.
                let unit = self.number(entry, gimli::DW_AT_byte_size).or(taken.size).unwrap_or(0) * 8;
                let from_top = self.number(entry, gimli::DW_AT_bit_offset).unwrap_or(0);
                (byte * 8 + unit).saturating_sub(from_top + bits)
            }
            (None, None) => byte.saturating_mul(8),
        };
        let is_table = name.as_deref().is_some_and(|name| name.starts_with("_vptr"));
        let role = match bits {
            Some(_) => Role::BitField,
            None if is_table => Role::VirtualTable,
            None => Role::Field,
        };
        let alignment = self.number(entry, gimli::DW_AT_alignment).unwrap_or(taken.alignment);
        let bit_size = bits.or(taken.size.map(|size| size.saturating_mul(8)));
        Some(Member { name, type_name: taken.name, role, bit_offset, bit_size, alignment })
    }

    fn base(&self, entry: &Entry<'d>, depth: usize) -> Member {
        let taken = self.taken_by(entry, depth);
        let is_virtual = entry.attr(gimli::DW_AT_virtuality).and_then(|value| value.udata_value()).unwrap_or(0) != 0
            || matches!(
                entry.attr_value(gimli::DW_AT_virtuality),
                Some(AttributeValue::Virtuality(gimli::DW_VIRTUALITY_virtual))
            );
        let byte = self.location(entry);
        Member {
            name: None,
            type_name: taken.name,
            role: if is_virtual { Role::VirtualBase } else { Role::Base },
            bit_offset: byte.unwrap_or(0).saturating_mul(8),
            bit_size: taken.size.map(|size| size.saturating_mul(8)),
            alignment: taken.alignment,
        }
    }

    /// What the type of an entry takes.
    fn taken_by(&self, entry: &Entry<'d>, depth: usize) -> Taken {
        let unknown = || Taken { name: UNKNOWN.to_owned(), size: None, alignment: 1 };
        self.with_target(entry, |other, target| other.taken(target, depth + 1)).unwrap_or_else(unknown)
    }

    fn taken(&self, at: UnitOffset, depth: usize) -> Option<Taken> {
        if depth > DEEPEST {
            return None;
        }
        let place = (std::ptr::from_ref(self.dwarf).addr(), self.unit.header.offset(), at);
        if let Some(known) = self.known.0.borrow().get(&place) {
            return known.clone();
        }
        self.known.0.borrow_mut().insert(place, None);
        let taken = self.find_taken(at, depth);
        self.known.0.borrow_mut().insert(place, taken.clone());
        taken
    }

    fn find_taken(&self, at: UnitOffset, depth: usize) -> Option<Taken> {
        let entry = self.unit.entry(at).ok()?;
        let name = self.spelled(at, depth)?;
        let size = self.number(&entry, gimli::DW_AT_byte_size);
        let address = u64::from(self.unit.encoding().address_size);
        let inner = || match entry.attr(gimli::DW_AT_type) {
            Some(_) => self.taken_by(&entry, depth),
            None => Taken { name: String::new(), size: None, alignment: 1 },
        };
        // A number's alignment is its size.
        let of_number = |size: u64| (Some(size), if size.is_power_of_two() { size.min(self.largest) } else { 1 });
        let (size, alignment) = match entry.tag {
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type => of_number(size?),
            gimli::DW_TAG_unspecified_type => of_number(address),
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
                of_number(size.unwrap_or(address))
            }
            gimli::DW_TAG_subroutine_type => (None, 1),
            gimli::DW_TAG_ptr_to_member_type => {
                // Of functions: the function and what is added to `this`.
                let is_function = || self.with_target(&entry, |other, target| other.is_function(target));
                let size = size.unwrap_or_else(|| if is_function().is_some() { 2 * address } else { address });
                (Some(size), address)
            }
            gimli::DW_TAG_atomic_type => of_number(inner().size.unwrap_or(1)),
            gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_typedef => {
                let inner = inner();
                (inner.size, inner.alignment)
            }
            gimli::DW_TAG_array_type => self.array(&entry, inner(), size),
            tag => {
                kind(tag)?;
                let members = self.members(at, depth + 1)?;
                let natural = members.iter().map(|member| member.alignment).max().unwrap_or(1);
                let is_packed = is_packed(&members, size.unwrap_or(0), natural);
                (size, if is_packed { 1 } else { natural })
            }
        };
        let alignment = self.number(&entry, gimli::DW_AT_alignment).unwrap_or(alignment);
        Some(Taken { name, size, alignment })
    }

    fn is_function(&self, at: UnitOffset) -> Option<()> {
        (self.unit.entry(at).ok()?.tag == gimli::DW_TAG_subroutine_type).then_some(())
    }

    /// How a type is written. Of what it points to, only the name is read: types that point to each other are many.
    fn spelled(&self, at: UnitOffset, depth: usize) -> Option<String> {
        if depth > DEEPEST {
            return None;
        }
        let entry = self.unit.entry(at).ok()?;
        let name = self.name(&entry);
        let inner = || match entry.attr(gimli::DW_AT_type) {
            Some(_) => {
                let inner = self.with_target(&entry, |other, target| other.spelled(target, depth + 1));
                inner.unwrap_or_else(|| UNKNOWN.to_owned())
            }
            None => "void".to_owned(),
        };
        let named = |otherwise: &dyn Fn() -> String| name.clone().unwrap_or_else(otherwise);
        Some(match entry.tag {
            gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type => named(&|| "enum".to_owned()),
            gimli::DW_TAG_pointer_type => named(&|| inner() + "*"),
            gimli::DW_TAG_reference_type => named(&|| inner() + "&"),
            gimli::DW_TAG_rvalue_reference_type => named(&|| inner() + "&&"),
            gimli::DW_TAG_subroutine_type => "function".to_owned(),
            gimli::DW_TAG_ptr_to_member_type => inner() + " class::*",
            gimli::DW_TAG_const_type => format!("const {}", inner()),
            gimli::DW_TAG_volatile_type => format!("volatile {}", inner()),
            gimli::DW_TAG_atomic_type => format!("_Atomic {}", inner()),
            gimli::DW_TAG_restrict_type => inner(),
            gimli::DW_TAG_unspecified_type | gimli::DW_TAG_typedef => name?,
            gimli::DW_TAG_array_type => {
                let counts = self.dimensions(&entry).unwrap_or_default();
                let length = |count: &Option<u64>| count.map_or(String::new(), |count| count.to_string());
                counts.iter().fold(inner(), |name, count| format!("{name}[{}]", length(count)))
            }
            tag => match kind(tag)? {
                Kind::Union => named(&|| "union {…}".to_owned()),
                _ => named(&|| "struct {…}".to_owned()),
            },
        })
    }

    /// The size and alignment of an array, of several dimensions perhaps. One without a length at the end of a structure takes
    /// nothing.
    fn array(&self, entry: &Entry<'d>, element: Taken, size: Option<u64>) -> (Option<u64>, u64) {
        let counts = self.dimensions(entry).unwrap_or_default();
        let all = counts.iter().try_fold(1u64, |all, count| all.checked_mul((*count).unwrap_or(0)));
        let size = size.or_else(|| element.size?.checked_mul(all?)).filter(|size| *size <= LARGEST);
        let is_vector = self.has(entry, gimli::DW_AT_GNU_vector);
        let alignment = match size {
            // A vector register's.
            Some(size) if is_vector && size.is_power_of_two() => size,
            _ => element.alignment,
        };
        (size, alignment)
    }

    /// How many elements an array has in each dimension; nothing where that is not fixed.
    fn dimensions(&self, array: &Entry<'d>) -> gimli::Result<Vec<Option<u64>>> {
        let mut counts = Vec::new();
        let mut tree = self.unit.entries_tree(Some(array.offset))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let range = child.entry();
            let upper = range.attr(gimli::DW_AT_upper_bound).and_then(|value| value.udata_value());
            counts.push(self.number(range, gimli::DW_AT_count).or(upper.map(|upper| upper.wrapping_add(1))));
        }
        Ok(counts)
    }
}

/// The unit that holds the type of a signature, and where it is in it.
fn type_unit<'d>(
    dwarf: &Dwarf<'d>,
    signature: gimli::DebugTypeSignature,
) -> Option<(gimli::Unit<Slice<'d>>, UnitOffset)> {
    let is_it = |header: &gimli::UnitHeader<Slice<'d>>| match header.type_() {
        gimli::UnitType::Type { type_signature, type_offset }
        | gimli::UnitType::SplitType { type_signature, type_offset } => {
            (type_signature == signature).then_some(type_offset)
        }
        _ => None,
    };
    let (mut units, mut types) = (dwarf.units(), dwarf.type_units());
    let mut next = || units.next().ok().flatten().or_else(|| types.next().ok().flatten());
    while let Some(header) = next() {
        if let Some(offset) = is_it(&header) {
            return Some((dwarf.unit(header).ok()?, offset));
        }
    }
    None
}

/// Whether members lie where only `packed` puts them.
fn is_packed(members: &[Member], size: u64, natural: u64) -> bool {
    let is_off = |member: &Member| {
        let placed = !matches!(member.role, Role::BitField | Role::VirtualBase);
        placed && !member.bit_offset.is_multiple_of(member.alignment.max(1) * 8)
    };
    members.iter().any(is_off) || !size.is_multiple_of(natural.max(1))
}
