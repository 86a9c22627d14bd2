//! Room for all elements before the first one is added: as many as the loop adds that fills the object.

use super::Edit;
use super::Refusal;
use super::code::{Code, Language};
use super::loop_bounds::{added, names_of};
use super::names::{Object, declaration, may_be_declared, object, position};
use std::ops::Range;

/// What stands before the name of a container that has `reserve`.
const CXX: &str = r"(?:static\s+|thread_local\s+)?(?:(?:[A-Za-z_]\w*::)*(?:vector|basic_string|(?:u8|u16|u32|w)?string|unordered_(?:multi)?(?:map|set)|flat_map|flat_set)\b(?:\s*<[^;{}()]*>)?|auto)\s+(?:[A-Za-z_]\w*\s*,\s*)*";
/// The same of Rust.
const RUST: &str = r"let\s+mut\s+";

struct Room<'a> {
    object: Object<'a>,
    /// Elements, as the source has their number.
    count: String,
    /// Where the loop begins that adds them.
    before: usize,
    /// Where the object is declared, if that is in the same function.
    declared: Option<super::names::Declaration>,
}

impl<'a> Room<'a> {
    fn of(code: &'a Code, line: Range<usize>) -> Result<Room<'a>, Refusal> {
        let object = object(code, line.clone())?;
        let at = position(code, line.clone(), &object)?;
        let blocks = code.blocks(at)?;
        let before = if code.language == Language::Rust { RUST } else { CXX };
        let declared = if object.is_simple() { declaration(code, object.path, before, at, &blocks)? } else { None };
        // Of an object from elsewhere, all loops of the function count.
        let from = declared.as_ref().map_or(0, |declared| declared.at.end);
        let outside = blocks.iter().rfind(|block| block.kind != super::code::Kind::Function && block.start >= from);
        if declared.is_none()
            && let Some(outermost) = outside
            && may_be_declared(code, outermost.start..at, object.base())?
        {
            return Err(
                format!("\"{}\" is declared in the loop, in a way that is not recognized", object.base()).into()
            );
        }
        let function = blocks.last().map_or(0, |function| function.open);
        let (count, before) = added(code, at..line.end, object.path, from.max(function))?;
        Ok(Room { object, count, before, declared })
    }

    fn call(&self) -> String {
        format!("{}{}reserve({});", self.object.path, self.object.join, self.count)
    }
}

/// The call that makes room for what this line adds, for a snippet.
pub fn call(code: &Code, line: Range<usize>) -> Result<String, Refusal> {
    Room::of(code, line).map(|room| room.call())
}

/// The change for the object that the code of this line adds to.
pub fn edits(code: &Code, line: Range<usize>) -> Result<Vec<Edit>, Refusal> {
    if code.language == Language::C {
        return Err("the size of a block in C is up to the code around it".into());
    }
    let room = Room::of(code, line)?;
    if room.object.join == "->" && room.object.path != "this" {
        return Err(format!("{} may be null before the loop", room.object.path).into());
    }
    if code.language == Language::Rust
        && let Some(edit) = with_capacity(code, &room)?
    {
        return Ok(vec![edit]);
    }
    let indentation = code.indentation(room.before)?;
    Ok(vec![Edit::insert(room.before, format!("{}\n{indentation}", room.call()))])
}

/// Rust's `with_capacity` in place of `new`, where the number is known there already.
fn with_capacity(code: &Code, room: &Room) -> Result<Option<Edit>, Refusal> {
    let Some(found) = &room.declared else { return Ok(None) };
    for name in names_of(&room.count) {
        if may_be_declared(code, found.at.end..room.before, name)? {
            return Ok(None);
        }
    }
    let rest = &code.plain[found.name_end..found.at.end];
    for (empty, class) in [("vec![]", "Vec"), ("Vec::new()", "Vec")] {
        if let Some(index) = rest.find(empty).filter(|index| rest[..*index].trim_end().ends_with('=')) {
            let from = found.name_end + index;
            let text = format!("{class}::with_capacity({})", room.count);
            return Ok(Some(Edit { at: from..from + empty.len(), text }));
        }
    }
    Ok(None)
}
