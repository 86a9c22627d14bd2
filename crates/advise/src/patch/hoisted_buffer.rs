//! A buffer that is made in each turn of a loop is made before the loop, and emptied in each turn.
//!
//! It stays a variable of the same function, so that threads and recursion are no matter. Elements are numbers or
//! characters, whose destruction has no effect.

use super::Edit;
use super::Refusal;
use super::code::{Code, Kind, Language};
use super::names::{Declaration, declaration, object, outermost_loop, uses};
use regex::Regex;
use std::ops::Range;

const CXX: &str = r"(?:std::)?(?:vector\s*<[^;{}()]*>|(?:u8|u16|u32|w)?string)\s+";
const RUST: &str = r"let\s+mut\s+";
/// Elements that need no destruction, and whose names mean the same everywhere.
const PLAIN: &str = r"^(?:(?:std::)?(?:u?int(?:_fast|_least)?\d+_t|u?intptr_t|size_t|ptrdiff_t|byte)|char\d+_t|wchar_t|bool|float|(?:(?:un)?signed\s+|long\s+|short\s+)*(?:char|short|int|long|double|unsigned))$";
const RUST_PLAIN: &str = r"Vec<\s*(?:[iu](?:8|16|32|64|128|size)|f32|f64|bool|char)\s*>|String::new\(\)";

/// The change for the object that the code of this line adds to or declares.
pub fn edits(code: &Code, line: Range<usize>) -> Result<Vec<Edit>, Refusal> {
    if code.language == Language::C {
        return Err("the end of a block's use is not known in C".into());
    }
    let (name, found) = declared(code, line)?;
    let (name, found) = (name.as_str(), &found);
    let blocks = code.blocks(found.at.start)?;
    let outermost = outermost_loop(&blocks).ok_or_else(|| {
        format!(
            "\"{name}\" is in no loop of its function: keep it in the caller, or in the object that has the function"
        )
    })?;
    let function = blocks.iter().find(|block| block.kind == Kind::Function).ok_or("it is in no function")?;
    let inside = blocks.first().map_or(found.at.start, |block| block.open)..code.close(found.at.start);
    let whole = function.start..code.close(function.open);
    if uses(code, whole.clone(), name)? > uses(code, inside, name)? {
        return Err(format!("the function has another \"{name}\"").into());
    }
    if uses(code, whole, "goto")? > 0 {
        return Err("the function has a goto".into());
    }
    let rest = found.at.end..code.close(found.at.start);
    if is_given_away(code, rest, name)? {
        return Err(format!("\"{name}\" is moved or returned: its memory goes with it").into());
    }
    let turn = code.indentation(found.at.start)?;
    let before = code.indentation(outermost.start)?;
    let (declaration, refill) = match code.language {
        Language::Rust => rust(code, found, name)?,
        _ => cxx(code, found, name, turn)?,
    };
    Ok(vec![
        Edit::insert(outermost.start, format!("{declaration}\n{before}")),
        Edit { at: found.at.clone(), text: refill },
    ])
}

/// The object that a line adds to or declares, and its declaration.
pub fn declared(code: &Code, line: Range<usize>) -> Result<(String, Declaration), Refusal> {
    let before = if code.language == Language::Rust { RUST } else { CXX };
    let own = Regex::new(&format!("^{before}([A-Za-z_]\\w*)"))?;
    let statement = code.statement(line.start);
    let name = match own.captures(&code.plain[statement..]).and_then(|found| found.get(1)) {
        Some(name) => name.as_str().to_owned(),
        None => {
            let object = object(code, line.clone())?;
            let is_simple = object.is_simple();
            is_simple.then(|| object.path.to_owned()).ok_or_else(|| format!("{} is a member", object.path))?
        }
    };
    let found = declaration(code, &name, before, line.end, &code.blocks(line.start)?)?;
    let found = found.ok_or_else(|| format!("cannot find where `{name}` is constructed"))?;
    Ok((name, found))
}

/// Whether something else may take the object's memory over.
fn is_given_away(code: &Code, rest: Range<usize>, name: &str) -> Result<bool, Refusal> {
    let name = regex::escape(name);
    let pattern = match code.language {
        // As a whole, and not borrowed.
        Language::Rust => format!(r"(?:^|[^&\w.])(?:\s*){name}\s*[,;)}}]|\bmove\b"),
        _ => format!(r"\b(?:move|forward|swap|exchange)\b[^;]*\b{name}\b|\breturn\s+{name}\s*;|\b{name}\s*\.\s*swap\b"),
    };
    let pattern = Regex::new(&pattern)?;
    Ok(pattern.is_match(&code.plain[rest]))
}

/// The declaration, and what takes its place.
fn cxx(code: &Code, found: &Declaration, name: &str, indentation: &str) -> Result<(String, String), Refusal> {
    let head = code.text[found.at.start..found.name_end].trim();
    let kind = head.strip_suffix(name).unwrap_or(head).trim_end();
    let element = kind.split_once('<').map(|(_, rest)| rest.trim_end_matches('>').trim());
    let plain = Regex::new(PLAIN)?;
    if element.is_some_and(|element| !plain.is_match(element)) {
        return Err("its elements may have destructors, which would run later".into());
    }
    let rest = code.text[found.name_end..found.at.end].trim_end_matches(';').trim();
    let arguments = rest.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).map(str::trim);
    let refill = match (rest, arguments) {
        ("" | "{}", _) => format!("{name}.clear();"),
        // A size; of another container, it would be a copy.
        (_, Some(size)) if element.is_some() && !size.is_empty() && is_number(code, found, size)? => {
            format!("{name}.clear();\n{indentation}{name}.resize({size});")
        }
        _ => return Err(format!("\"{name}\" is made from something: assign that to the one that is kept").into()),
    };
    Ok((format!("{kind} {name};"), refill))
}

/// Whether a vector's argument is a size, for all that is known.
fn is_number(code: &Code, found: &Declaration, argument: &str) -> Result<bool, Refusal> {
    if argument.contains([',', '{', '<', '"']) {
        return Ok(false);
    }
    let is_name = argument.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return Ok(argument.ends_with(".size()") || argument.contains(['+', '-', '*', '/']));
    }
    let blocks = code.blocks(found.at.start)?;
    let function = blocks.last().map_or(found.at.start, |block| block.start);
    let container =
        format!(r"(?:>|\bauto|string)\s*&?\s*{0}\b|\b{0}\s*(?:\.|\[|->)|:\s*{0}\s*\)", regex::escape(argument));
    let container = Regex::new(&container)?;
    Ok(!container.is_match(&code.plain[function..code.close(found.at.start)]))
}

fn rust(code: &Code, found: &Declaration, name: &str) -> Result<(String, String), Refusal> {
    let text = &code.text[found.at.clone()];
    let plain = Regex::new(RUST_PLAIN)?;
    let is_empty = ["Vec::new();", "String::new();", "vec![];"].iter().any(|end| text.ends_with(end));
    match is_empty && plain.is_match(text) {
        true => Ok((text.to_owned(), format!("{name}.clear();"))),
        false => Err(format!("\"{name}\" is not made as an empty String, or an empty Vec of numbers").into()),
    }
}
