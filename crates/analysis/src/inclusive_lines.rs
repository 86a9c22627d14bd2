//! Lines of source with all that is allocated below them: one for each line, whatever the types of the blocks are and
//! however deep the code is that asks for them.
//!
//! A call site ([`GroupBy::Site`]) is a line, what it is inlined into, and the type of the blocks: `Regex::new(...)` in a
//! loop is a hundred of them. A change of the line changes all of these.

use crate::sites::Row;
use crate::stacks::Texts;
use memtoll_model::{FrameId, Frames, TextId};
use memtoll_trace::path::last_part;
use rustc_hash::FxHashMap;

/// A line, or a function of which no line is known.
#[derive(Clone, Debug)]
pub struct InclusiveLine {
    /// The sums of its call sites. What these have in common stands here: a type only if it is that of all.
    pub row: Row,
    /// The call sites, those that cost most first.
    pub parts: Vec<Row>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key<'a> {
    /// A file, and a line of it: macros make several functions in one.
    Line(TextId, u32),
    /// A function of a loaded file.
    Function(TextId, TextId),
    /// What no frame leads.
    Label(&'a str),
}

fn key<'a>(frames: &Frames, row: &'a Row) -> Key<'a> {
    let Some(frame) = row.frame.map(|frame| frames.frame(frame)) else { return Key::Label(&row.label) };
    match (frame.file, frame.line) {
        (Some(file), Some(line)) => Key::Line(file, line),
        _ => Key::Function(frame.function, frame.module),
    }
}

/// Whether two call sites, or lines of such, are of one line.
pub fn are_of_one_line(frames: &Frames, one: &Row, other: &Row) -> bool {
    key(frames, one) == key(frames, other)
}

/// The lines of call sites, in the order in which these first have each.
pub fn inclusive_lines(frames: &Frames, sites: &[Row]) -> Vec<InclusiveLine> {
    let mut by_key: FxHashMap<Key, usize> = FxHashMap::default();
    let mut parts: Vec<Vec<Row>> = Vec::new();
    for site in sites {
        let index = *by_key.entry(key(frames, site)).or_insert(parts.len());
        if index == parts.len() {
            parts.push(Vec::new());
        }
        parts[index].push(site.clone());
    }
    parts.into_iter().map(line).collect()
}

/// A line from its call sites, of which there is one at least.
fn line(mut parts: Vec<Row>) -> InclusiveLine {
    parts.sort_by_key(|part| std::cmp::Reverse((part.metrics.cost_ns(), part.metrics.bytes)));
    let mut row = parts[0].clone();
    for part in &parts[1..] {
        row.metrics.add(&part.metrics);
        row.nodes.extend(&part.nodes);
        if part.type_name != row.type_name {
            row.type_name = None;
        }
        if part.element != row.element || row.type_name.is_none() {
            row.element = None;
        }
        if part.inlined != row.inlined {
            row.inlined = Vec::new();
        }
        if part.ran_in != row.ran_in {
            row.ran_in = None;
        }
    }
    InclusiveLine { row, parts }
}

/// What a reader types for a line: `main.rs:22`; the function where no line is known. It is the same in
/// each recording of a program, as long as its lines are.
pub fn place(frames: &Frames, frame: FrameId) -> String {
    let texts = Texts::of(frames, frame);
    match (texts.file, texts.line) {
        (Some(file), Some(line)) => format!("{}:{line}", last_part(file)),
        _ => crate::library::qualified_name(texts.function).to_owned(),
    }
}

/// Whether `asked`, as typed, means this place: its end as far as whole names go (`src/main.rs:22`, `main.rs:22`),
/// all lines of a file or of a function (`main.rs`, `scan`).
pub fn is_meant(asked: &str, function: &str, file: Option<&str>, line: Option<u32>) -> bool {
    let ends = |text: &str| {
        text.strip_suffix(asked)
            .is_some_and(|before| before.is_empty() || before.ends_with('/') || before.ends_with(':'))
    };
    let function = crate::library::qualified_name(function);
    let at = file.zip(line).map(|(file, line)| format!("{file}:{line}"));
    !asked.is_empty() && (ends(function) || file.is_some_and(ends) || at.is_some_and(|at| ends(&at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;
    use memtoll_trace::ids::Bytes;
    use memtoll_trace::metrics::Metrics;

    fn site(frame: Option<FrameId>, type_name: &str, bytes: u64) -> Row {
        let metrics = Metrics { new_blocks: 1, bytes: Bytes(bytes), ..Metrics::default() };
        Row { frame, type_name: Some(type_name.to_owned()), metrics: metrics.into(), ..Row::default() }
    }

    #[test]
    fn types_and_inlined_functions_of_one_line_are_its_parts() {
        let frames = golden("costs").frames;
        let with_line = frames.ids().find(|id| frames.frame(*id).line.is_some());
        let other = frames.ids().find(|id| frames.frame(*id).line.is_none());
        assert!(with_line.is_some() && other.is_some());
        let sites = [
            site(with_line, "String", 10),
            site(other, "Vec<u8>", 7),
            Row { inlined: other.into_iter().collect(), ..site(with_line, "Vec<u8>", 20) },
            site(None, "", 3),
        ];
        let lines = inclusive_lines(&frames, &sites);
        assert_eq!(lines.iter().map(|line| line.parts.len()).collect::<Vec<_>>(), [2, 1, 1]);
        let whole = &lines[0].row;
        assert_eq!((whole.metrics.new_blocks, whole.metrics.bytes), (2, Bytes(30)));
        assert_eq!((&whole.type_name, whole.inlined.len()), (&None, 0), "they have neither in common");
        assert_eq!(lines[0].parts[0].type_name.as_deref(), Some("Vec<u8>"), "the larger one first");
        assert_eq!(lines[1].row.type_name.as_deref(), Some("Vec<u8>"));
    }

    #[test]
    fn a_place_is_meant_by_its_end() {
        let meant = |asked| is_meant(asked, "app::scan(int)", Some("/home/me/app/src/main.rs"), Some(22));
        for asked in ["main.rs:22", "src/main.rs:22", "/home/me/app/src/main.rs:22", "scan", "app::scan", "main.rs"] {
            assert!(meant(asked), "{asked}");
        }
        for asked in ["ain.rs:22", "main.rs:2", "can", "main.rs:221", "", "main"] {
            assert!(!meant(asked), "{asked}");
        }
    }
}
