//! Room for all elements before the first one is added.
//!
//! The number is one that the recording has taught, and `reserve` with the same number does nothing the second time, so
//! the call may stand anywhere before the loop, and be repeated.

use super::Edit;
use super::code::{Code, Language};
use super::names::{declaration, may_be_declared, object, outermost_loop};
use std::ops::Range;

/// What stands before the name of a container that has `reserve`.
const CXX: &str = r"(?:static\s+|thread_local\s+)?(?:(?:[A-Za-z_]\w*::)*(?:vector|basic_string|(?:u8|u16|u32|w)?string|unordered_(?:multi)?(?:map|set)|flat_map|flat_set)\b(?:\s*<[^;{}()]*>)?|auto)\s+(?:[A-Za-z_]\w*\s*,\s*)*";
/// The same of Rust.
const RUST: &str = r"let\s+mut\s+";

/// The change for the object that the code of this line adds to.
pub fn edits(code: &Code, line: Range<usize>, count: u64) -> Result<Vec<Edit>, String> {
    match code.language {
        Language::C => Err("the size of a block in C is up to the code around it".to_owned()),
        Language::Cxx => cxx(code, line, count),
        Language::Rust => rust(code, line, count),
    }
}

fn cxx(code: &Code, line: Range<usize>, count: u64) -> Result<Vec<Edit>, String> {
    let object = object(code, line.clone())?;
    let at = code.plain[line.clone()].find(object.path).map_or(line.start, |index| line.start + index);
    let blocks = code.blocks(at)?;
    let call = format!("{}{}reserve({count});", object.path, object.join);
    if object.is_simple()
        && let Some(found) = declaration(code, object.path, CXX, at, &blocks)?
    {
        let indentation = code.indentation(found.at.start)?;
        let rest = code.text[found.at.end..].lines().next().unwrap_or_default();
        return match code.plain[found.at.end..found.at.end + rest.len()].trim().is_empty() {
            true => Ok(vec![Edit::insert(found.at.end + rest.len(), format!("\n{indentation}{call}"))]),
            false => Ok(vec![Edit::insert(found.at.end, format!(" {call}"))]),
        };
    }
    if object.join == "->" && object.path != "this" {
        return Err(format!("{} may be null before the loop", object.path));
    }
    let before = match outermost_loop(&blocks) {
        Some(outermost) if may_be_declared(code, outermost.start..at, object.base())? => {
            return Err(format!("\"{}\" is declared in the loop, in a way that is not recognized", object.base()));
        }
        Some(outermost) => outermost.start,
        None => code.statement(at),
    };
    let indentation = code.indentation(before)?;
    Ok(vec![Edit::insert(before, format!("{call}\n{indentation}"))])
}

fn rust(code: &Code, line: Range<usize>, count: u64) -> Result<Vec<Edit>, String> {
    let object = object(code, line.clone())?;
    let blocks = code.blocks(line.start)?;
    let found = if object.is_simple() { declaration(code, object.path, RUST, line.end, &blocks)? } else { None };
    let found = found.ok_or_else(|| format!("it is not seen where \"{}\" is made", object.path))?;
    let rest = &code.plain[found.name_end..found.at.end];
    for (empty, class) in [
        ("vec![]", "Vec"),
        ("Vec::new()", "Vec"),
        ("String::new()", "String"),
        ("HashMap::new()", "HashMap"),
        ("HashSet::new()", "HashSet"),
    ] {
        if let Some(index) = rest.find(empty).filter(|index| rest[..*index].trim_end().ends_with('=')) {
            let from = found.name_end + index;
            let room = format!("{class}::with_capacity({count})");
            return Ok(vec![Edit { at: from..from + empty.len(), text: room }]);
        }
    }
    Err(format!("\"{}\" is not made empty, with new()", object.path))
}
