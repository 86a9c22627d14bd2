//! How frames are named on a screen.

use crate::alike::Alike;
use crate::library::qualified_name;
use crate::site_processes::RanIn;
use crate::sites::Row;
use crate::stacks::Texts;
use crate::type_name::short_type;
use memtoll_model::{FrameId, Frames, Image, Recording};
use memtoll_text::format;
use memtoll_trace::nodes::BEFORE_ATTACH;
pub use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;

/// A function without its parameters, return type and default template arguments.
pub fn function(frames: &Frames, frame: FrameId) -> String {
    short_function(Texts::of(frames, frame).function)
}

/// The same, of its whole name.
pub fn short_function(name: &str) -> String {
    if name == BEFORE_ATTACH {
        return BEFORE_ATTACH.to_owned();
    }
    let name = qualified_name(name);
    // Rust paths and operators are left as they are: their brackets are not template arguments.
    let is_plain = !name.contains(" as ") && !name.contains("operator");
    let name = match short_self(name) {
        Some(short) => short,
        None if is_plain => short_type(name),
        None => name.to_owned(),
    };
    with_short_arguments(&name, LONGEST_FUNCTION)
}

/// Whether it stands for the time before memtoll was attached, and for no code.
pub fn is_before_attach(frames: &Frames, frame: FrameId) -> bool {
    Texts::of(frames, frame).function == BEFORE_ATTACH
}

/// Rust's `<alloc::vec::Vec<T> as core::clone::Clone>::clone` with a short type.
fn short_self(name: &str) -> Option<String> {
    let (own, rest) = name.strip_prefix('<')?.split_once(" as ")?;
    // Another `as` may be among the arguments.
    let is_whole = own.matches('<').count() == own.matches('>').count();
    is_whole.then(|| format!("<{} as {rest}", short_type(own)))
}

/// Longest name of a function that is shown whole, characters.
const LONGEST_FUNCTION: usize = 100;

/// A name of at most `most` characters, as far as leaving arguments out can do that: the innermost ones first, and never the
/// name itself. `f<a::B<c::D<e> > >` becomes `f<a::B<…> >`.
fn with_short_arguments(name: &str, most: usize) -> String {
    let length = |text: &str| text.chars().count();
    if length(name) <= most {
        return name.to_owned();
    }
    let deepest = arguments_deeper_than(name, usize::MAX).1;
    let shorter = (0..deepest).rev().map(|depth| arguments_deeper_than(name, depth).0);
    let mut last = name.to_owned();
    for text in shorter {
        if length(&text) <= most {
            return text;
        }
        last = text;
    }
    last
}

/// The name with an ellipsis for arguments within more than `depth` brackets, and the number of the innermost brackets.
fn arguments_deeper_than(name: &str, depth: usize) -> (String, usize) {
    const UNNAMED: &str = "(anonymous namespace)";
    let mut text = String::new();
    let (mut open, mut deepest, mut skipped) = (0usize, 0usize, 0usize);
    for (at, c) in name.char_indices() {
        let before = &name[..at];
        let is_name = before.ends_with("operator") || before.ends_with("operator<") || before.ends_with("operator>");
        // Of `->`, `operator<` and unnamed namespaces.
        let is_part_of_name = c == '>' && before.ends_with('-')
            || matches!(c, '<' | '>') && is_name
            || name[at..].starts_with(UNNAMED)
            || c == ')' && before.ends_with(&UNNAMED[..UNNAMED.len() - 1]);
        let is_bracket = !is_part_of_name;
        if is_bracket && matches!(c, '>' | ')') {
            open = open.saturating_sub(1);
        }
        if skipped > 0 && open < skipped {
            skipped = 0;
            text.push('…');
        }
        if skipped == 0 {
            text.push(c);
        }
        if is_bracket && matches!(c, '<' | '(') {
            open += 1;
            deepest = deepest.max(open);
            let is_empty = name[at + 1..].starts_with(['>', ')']);
            if skipped == 0 && open > depth && !is_empty {
                skipped = open;
            }
        }
    }
    (text, deepest)
}

/// `buffer.cpp:120`, or the loaded file's name where there is no line; both where several loaded files have that line.
pub fn place(frames: &Frames, frame: FrameId) -> String {
    let texts = Texts::of(frames, frame);
    let module = frames.short_path(frames.frame(frame).module);
    let place = match (texts.file, texts.line) {
        (Some(file), Some(line)) => format!("{}:{line}", last_part(file)),
        (Some(file), None) => last_part(file).to_owned(),
        _ => return module.to_owned(),
    };
    if frames.share_source(frame) { format!("{place}, {module}") } else { place }
}

/// `grow (buffer.cpp:120)`; `libc.so.6+0x1234`, the name of a function that has none, says where it is by itself.
/// `read (libc.musl.so.1, no unwind tables)`: the caller is less sure.
pub fn function_and_place(frames: &Frames, frame: FrameId) -> String {
    function_and_place_among(frames, frame, &Alike::default())
}

/// The same, beside others.
pub fn function_and_place_among(frames: &Frames, frame: FrameId, alike: &Alike) -> String {
    with_place(frames, frame, alike.name(Texts::of(frames, frame).function))
}

fn with_place(frames: &Frames, frame: FrameId, function: String) -> String {
    let place = place(frames, frame);
    let is_place = function.strip_prefix(&place).is_some_and(|rest| rest.starts_with('+'));
    // Generated code's is in brackets.
    let place = (!is_place && !place.is_empty()).then(|| place.trim_matches(['(', ')']));
    let remarks: Vec<&str> =
        place.into_iter().chain(frames.is_without_tables(frame).then_some(NO_UNWIND_TABLES)).collect();
    if remarks.is_empty() { function } else { format!("{function} ({})", remarks.join(", ")) }
}

/// Said of functions whose callers were found by reading the code, or with the frame pointer.
pub const NO_UNWIND_TABLES: &str = "no unwind tables";

/// `, inlined into main`, where that is another function: one that the compiler took apart is inlined into itself.
pub fn inlined_into(frames: &Frames, row: &Row) -> String {
    inlined_into_among(frames, row, &Alike::default())
}

fn inlined_into_among(frames: &Frames, row: &Row, alike: &Alike) -> String {
    let is_other =
        |outer: &&FrameId| row.frame.is_some_and(|own| frames.frame(own).function != frames.frame(**outer).function);
    let outer = row.inlined.last().filter(is_other);
    let name = |outer: &FrameId| alike.name(Texts::of(frames, *outer).function);
    outer.map_or_else(String::new, |outer| format!(", inlined into {}", name(outer)))
}

/// ` in git 4711`, or ` in git, sh and 3 more programs`; nothing where that is clear.
pub fn ran_in(recording: &Recording, row: &Row) -> String {
    /// More programs are only counted.
    const SHOWN: usize = 3;
    let name = |index: &usize| program(&recording.images[*index]);
    match &row.ran_in {
        None => String::new(),
        Some(RanIn::Process(index)) => format!(" in {} {}", name(index), recording.images[*index].about.pid),
        Some(RanIn::Programs { programs, has_more }) => {
            let shown: Vec<&str> = programs.iter().take(SHOWN).map(name).collect();
            let more = programs.len().saturating_sub(SHOWN);
            let rest = match (more, has_more) {
                (_, true) => "many more programs".to_owned(),
                (0, false) => String::new(),
                (more, false) => format::counted(more as u64, "more program"),
            };
            match (&shown[..], rest.is_empty()) {
                ([only], true) => format!(" in processes of {only}"),
                ([first @ .., last], true) => format!(" in {} and {last}", first.join(", ")),
                (shown, _) => format!(" in {} and {rest}", shown.join(", ")),
            }
        }
    }
}

/// What a process runs, without its folder: `git`.
pub fn program(image: &Image) -> &str {
    crate::thread_filter::program(image)
}

/// A type that fits into a line: only the first template argument of a long one.
pub fn short_kind(kind: &str) -> String {
    const LONG: usize = 48;
    match kind.find(", ") {
        Some(comma) if kind.len() > LONG && kind[..comma].matches('<').count() == 1 => {
            format!("{}, …>", &kind[..comma])
        }
        _ => with_short_arguments(kind, LONG * 2),
    }
}

/// The row's name with its place, type, and what it is inlined into.
fn of_row(recording: &Recording, row: &Row, alike: &Alike) -> String {
    let frames = &recording.frames;
    let Some(frame) = row.frame else {
        return row.label.clone();
    };
    if !row.path.is_empty() {
        let path: Vec<String> = row.path.iter().map(|frame| alike.name(Texts::of(frames, *frame).function)).collect();
        return path.join(" < ") + &ran_in(recording, row);
    }
    let mut text = function_and_place_among(frames, frame, alike);
    if let Some(kind) = &row.type_name {
        text = format!("{text}: {}", short_kind(kind));
    }
    text + &inlined_into_among(frames, row, alike) + &ran_in(recording, row)
}

/// The names of the rows of a table, each of a recording. Functions that share a name have their parameters, and rows that are
/// equal then are unabridged.
pub fn of_rows(rows: &[(&Recording, &Row)]) -> Vec<String> {
    let functions = rows.iter().flat_map(|(recording, row)| {
        let shown = row.frame.iter().chain(row.inlined.last()).chain(&row.path);
        shown.map(|frame| Texts::of(&recording.frames, *frame).function)
    });
    let alike = Alike::among(functions);
    let mut names: Vec<String> = rows.iter().map(|(recording, row)| of_row(recording, row, &alike)).collect();
    let mut equal: FxHashMap<&str, usize> = FxHashMap::default();
    names.iter().for_each(|name| *equal.entry(name).or_default() += 1);
    let equal: Vec<bool> = names.iter().map(|name| equal[name.as_str()] > 1).collect();
    for ((name, (recording, row)), _) in names.iter_mut().zip(rows).zip(equal).filter(|(_, is_equal)| *is_equal) {
        *name = unabridged(recording, row);
    }
    names
}

/// The row's name with all that tells it from others: parameters, what it is inlined into.
fn unabridged(recording: &Recording, row: &Row) -> String {
    let frames = &recording.frames;
    let Some(frame) = row.frame else {
        return row.label.clone();
    };
    let full = |frame: &FrameId| with_place(frames, *frame, Texts::of(frames, *frame).function.to_owned());
    let chain = |all: &[FrameId]| all.iter().map(full).collect::<Vec<_>>().join(" < ");
    if !row.path.is_empty() {
        return chain(&row.path) + &ran_in(recording, row);
    }
    let mut text = full(&frame);
    if let Some(kind) = &row.type_name {
        text = format!("{text}: {kind}");
    }
    if !row.inlined.is_empty() {
        text = format!("{text}, inlined into {}", chain(&row.inlined));
    }
    text + &ran_in(recording, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_left_out_from_the_inside() {
        let name = "app::Table<std::map<std::pair<int, long>, app::Cell<double> > >::insert(app::Row<int> const&)";
        for (most, expected) in [
            (100, name),
            (90, "app::Table<std::map<std::pair<…>, app::Cell<…> > >::insert(app::Row<int> const&)"),
            (60, "app::Table<std::map<…> >::insert(app::Row<…> const&)"),
            (30, "app::Table<…>::insert(…)"),
            (5, "app::Table<…>::insert(…)"),
        ] {
            assert_eq!(with_short_arguments(name, most), expected);
        }
        for (name, expected) in [
            ("(anonymous namespace)::f<std::vector<int> >", "(anonymous namespace)::f<…>"),
            ("std::operator<< <char, traits<char> >", "std::operator<< <…>"),
            ("<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<…>::clone"),
            ("main::{lambda(std::vector<int>)#1}::operator()", "main::{lambda(…)#1}::operator()"),
            ("g<fn(u8) -> u8>::h", "g<…>::h"),
        ] {
            assert_eq!(with_short_arguments(name, 10), expected);
        }
    }

    #[test]
    fn the_type_of_a_trait_is_short() {
        let name = "<app::Rows<alloc::vec::Vec<u8>> as core::default::Default>::default";
        assert_eq!(short_self(name).as_deref(), Some("<app::Rows<Vec<u8>> as core::default::Default>::default"));
        assert_eq!(short_self("<<A as app::Of>::B as core::default::Default>::default"), None);
        assert_eq!(short_self("app::f<u8>"), None);
    }
}
