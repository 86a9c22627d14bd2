//! How frames are named on a screen.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::type_name::short_type;
use memtoll_model::{Frames, Image};

/// A function without its parameters, return type and default template arguments.
pub fn function(frames: &Frames, frame: u32) -> String {
    let texts = Texts::of(frames, frame);
    let name = qualified_name(texts.function);
    // Rust paths and operators are left as they are: their brackets are not template arguments.
    if name.contains(" as ") || name.contains("operator") { name.to_owned() } else { short_type(name) }
}

/// `buffer.cpp:120`, or the loaded file's name where there is no line.
pub fn place(frames: &Frames, frame: u32) -> String {
    let texts = Texts::of(frames, frame);
    match (texts.file, texts.line) {
        (Some(file), Some(line)) => format!("{}:{line}", last_part(file)),
        (Some(file), None) => last_part(file).to_owned(),
        _ => last_part(texts.module).to_owned(),
    }
}

/// `grow (buffer.cpp:120)`; `libc.so.6+0x1234`, the name of a function that has none, says where it is by itself.
pub fn function_and_place(frames: &Frames, frame: u32) -> String {
    let (function, place) = (function(frames, frame), place(frames, frame));
    let is_place = function.strip_prefix(&place).is_some_and(|rest| rest.starts_with('+'));
    match place.starts_with('(') {
        _ if is_place => function,
        true => format!("{function} {place}"), // generated code
        false => format!("{function} ({place})"),
    }
}

/// `, inlined into main`, where that is another function: one that the compiler took apart is inlined into itself.
pub fn inlined_into(frames: &Frames, row: &Row) -> String {
    let is_other =
        |outer: &&u32| row.frame.is_some_and(|own| frames.frame(own).function != frames.frame(**outer).function);
    let outer = row.inlined.last().filter(is_other);
    outer.map_or_else(String::new, |outer| format!(", inlined into {}", function(frames, *outer)))
}

/// What a process runs, without its folder: `git`.
pub fn program(image: &Image) -> &str {
    image.about.command.first().map_or("", |command| last_part(command))
}

/// The last part of a path.
pub fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A type that fits into a line: only the first template argument of a long one.
pub fn short_kind(kind: &str) -> String {
    const LONG: usize = 48;
    match kind.find(", ") {
        Some(comma) if kind.len() > LONG && kind[..comma].matches('<').count() == 1 => {
            format!("{}, …>", &kind[..comma])
        }
        _ => shorten(kind, LONG * 2),
    }
}

/// Shortens a text to `width` characters, with an ellipsis in the middle: both ends of a name tell something.
pub fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width < 8 {
        return text.to_owned();
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("abcdefghijkl", 9), "abcd…ijkl");
        assert_eq!(shorten("abc", 9), "abc");
    }
}
