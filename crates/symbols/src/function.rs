//! What the debug information says of a function beside its name.

use crate::sections::{Dwarf, Slice};

/// Most entries of a function that are looked at. Parameters come first.
const MOST_ENTRIES: usize = 256;

/// What GCC calls the pointer to a coroutine's frame in the function that makes it.
const COROUTINE_FRAME: &[u8] = b"_Coro_frameptr";

#[derive(Debug, Default)]
pub(crate) struct Function {
    /// Its name without anything around it, with Rust's arguments: `push<u8, alloc::alloc::Global>`.
    pub(crate) plain_name: Option<String>,
    /// Names of its template parameters, such as `T`, in their order.
    pub(crate) parameters: Vec<String>,
    /// Line of its declaration.
    pub(crate) line: Option<u32>,
    /// Whether the compiler wrote it: an implicit or defaulted member function, and other helpers of the compiler's.
    pub(crate) is_artificial: bool,
    /// Whether it makes the frame of a GCC coroutine.
    pub(crate) makes_coroutine: bool,
}

impl Function {
    /// Adds what one of its entries says. Gives the entry that this one refers to: a declaration, or what it is a copy of.
    pub(crate) fn add<'d>(
        &mut self,
        dwarf: &Dwarf<'d>,
        unit: &gimli::Unit<Slice<'d>>,
        at: gimli::UnitOffset,
    ) -> gimli::Result<Option<gimli::AttributeValue<Slice<'d>>>> {
        let mut entries = unit.header.entries_raw(&unit.abbreviations, Some(at))?;
        let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
        let mut origin = None;
        for specification in abbreviation.attributes() {
            let attribute = entries.read_attribute(*specification)?;
            match attribute.name() {
                gimli::DW_AT_name if self.plain_name.is_none() => {
                    let name = dwarf.attr_string(unit, attribute.value())?;
                    self.plain_name = Some(name.to_string_lossy().into_owned());
                }
                gimli::DW_AT_decl_line if self.line.is_none() => {
                    self.line = attribute.udata_value().and_then(|line| u32::try_from(line).ok());
                }
                gimli::DW_AT_artificial => self.is_artificial |= is_set(&attribute.value()),
                gimli::DW_AT_defaulted => {
                    let in_class = u64::from(gimli::DW_DEFAULTED_in_class.0);
                    self.is_artificial |= attribute.udata_value() == Some(in_class);
                }
                gimli::DW_AT_abstract_origin | gimli::DW_AT_specification => origin = Some(attribute.value()),
                _ => {}
            }
        }
        if abbreviation.has_children() {
            self.add_children(dwarf, unit, &mut entries)?;
        }
        Ok(origin)
    }

    fn add_children<'d>(
        &mut self,
        dwarf: &Dwarf<'d>,
        unit: &gimli::Unit<Slice<'d>>,
        entries: &mut gimli::EntriesRaw<'_, Slice<'d>>,
    ) -> gimli::Result<()> {
        let mut parameters = Vec::new();
        for _ in 0..MOST_ENTRIES {
            if entries.is_empty() {
                break;
            }
            let Some(abbreviation) = entries.read_abbreviation()? else { break };
            let tag = abbreviation.tag();
            let is_parameter =
                matches!(tag, gimli::DW_TAG_template_type_parameter | gimli::DW_TAG_template_value_parameter);
            let is_variable = tag == gimli::DW_TAG_variable;
            if !is_parameter && !is_variable && !matches!(tag, gimli::DW_TAG_formal_parameter | gimli::DW_TAG_label) {
                break;
            }
            for specification in abbreviation.attributes() {
                let attribute = entries.read_attribute(*specification)?;
                if attribute.name() == gimli::DW_AT_name && (is_parameter || is_variable) {
                    let name = dwarf.attr_string(unit, attribute.value())?;
                    self.makes_coroutine |= is_variable && name.slice() == COROUTINE_FRAME;
                    if is_parameter {
                        parameters.push(name.to_string_lossy().into_owned());
                    }
                }
            }
            if abbreviation.has_children() {
                break;
            }
        }
        if self.parameters.is_empty() {
            self.parameters = parameters;
        }
        Ok(())
    }
}

fn is_set(value: &gimli::AttributeValue<Slice<'_>>) -> bool {
    *value == gimli::AttributeValue::Flag(true)
}
