//! Rows of tables.

use crate::figures::Figures;
use crate::patterns::Pattern;
use memtoll_analysis::element_counts::elements;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::names;
use memtoll_analysis::site_processes;
use memtoll_analysis::sites::{self, GroupBy};
use memtoll_analysis::stable_key::Key;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::{FrameId, Frames, Recording};
use memtoll_trace::ids::ThreadNo;
use serde::Serialize;

/// A function in the program.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Place<'r> {
    /// Its name; of one without a name, its file and address.
    pub function: &'r str,
    /// The same with parameters, for [`crate::Answer::alike`].
    #[serde(skip)]
    pub whole: &'r str,
    /// In the file, of a function without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u64>,
    /// The loaded file, of a function without a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<&'r str>,
    /// The source file.
    pub file: Option<&'r str>,
    pub line: Option<u32>,
    /// Whether its code has no unwind tables: its caller was found by reading the code, or with the frame pointer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_tables: bool,
}

impl<'r> Place<'r> {
    pub fn of(frames: &'r Frames, id: FrameId) -> Place<'r> {
        let texts = Texts::of(frames, id);
        let address = frames.frame(id).address;
        Place {
            function: qualified_name(texts.function),
            whole: texts.function,
            address,
            module: address.map(|_| texts.module),
            file: texts.file,
            line: texts.line,
            without_tables: frames.is_without_tables(id),
        }
    }
}

/// A row of a table: a call site, or what rows are grouped by.
#[derive(Serialize)]
pub struct Row<'r> {
    /// Stays the same in all answers about this recording, and in those about others as long as names and lines do.
    pub key: String,
    /// The function, or what the row is called if it has none.
    pub function: String,
    /// The function with all that its name has, such as parameters.
    pub signature: Option<&'r str>,
    /// The source file.
    pub file: Option<&'r str>,
    /// The line, unless functions are shown.
    pub line: Option<u32>,
    /// The loaded file.
    pub module: Option<&'r str>,
    /// In the file, of a function without a name.
    pub address: Option<u64>,
    /// What the function is inlined into, innermost first.
    pub inlined: Vec<Place<'r>>,
    /// The type of the blocks, where inlined functions tell it.
    pub r#type: Option<String>,
    /// Size of an element, bytes.
    pub element_size: Option<u64>,
    /// Elements in each block, where all have the same size.
    pub elements: Option<u64>,
    /// The call path from the allocation outward, of call paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<Place<'r>>,
    /// The processes that it ran in, where several count.
    pub ran_in: Option<RanIn<'r>>,
    /// The metrics.
    #[serde(flatten)]
    pub figures: Figures,
    /// How its blocks were used: sizes, lifetimes, growth, threads. If that was asked for, of rows of stacks.
    pub pattern: Option<Pattern>,
    /// The row as the analysis has it, for printers.
    #[serde(skip)]
    pub row: sites::Row,
}

impl<'r> Row<'r> {
    /// The whole names of the functions that it shows.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &'r str> {
        self.signature.into_iter().chain(self.path.iter().map(|place| place.whole))
    }

    /// From a row of the analysis.
    pub(crate) fn new(recording: &'r Recording, group: GroupBy, tariff: &Tariff, row: sites::Row) -> Row<'r> {
        let frames = &recording.frames;
        let texts = row.frame.map(|frame| Texts::of(frames, frame));
        let by_line = group != GroupBy::Function;
        let of_frame = |id: &FrameId| Place::of(frames, *id);
        Row {
            key: key(frames, group, &row),
            function: texts.as_ref().map_or(row.label.as_str(), |texts| qualified_name(texts.function)).to_owned(),
            signature: texts.as_ref().map(|texts| texts.function),
            file: texts.as_ref().and_then(|texts| texts.file),
            line: texts.as_ref().and_then(|texts| texts.line).filter(|_| by_line),
            module: texts.as_ref().map(|texts| texts.module),
            address: row.frame.and_then(|frame| frames.frame(frame).address),
            inlined: row.inlined.iter().map(of_frame).collect(),
            r#type: row.type_name.clone(),
            element_size: row.element.map(|element| element.size),
            elements: elements(&row),
            path: row.path.iter().map(of_frame).collect(),
            ran_in: RanIn::of(recording, &row),
            figures: Figures::new(&row.metrics, tariff),
            pattern: None,
            row,
        }
    }
}

pub(crate) fn key(frames: &Frames, group: GroupBy, row: &sites::Row) -> String {
    let (first, rest) = match &row.path[..] {
        [] => (row.frame.as_ref(), &row.inlined[..]),
        [first, rest @ ..] => (Some(first), rest),
    };
    let start = Key::EMPTY.with(group.name()).with(&row.label).with(row.type_name.as_deref().unwrap_or(""));
    // A process may execute the same command again, and a number may be another thread's later.
    let start = row
        .of
        .iter()
        .fold(start, |key, of| key.with(&of.image.to_string()).with(&of.thread.map_or(0, ThreadNo::get).to_string()));
    let with_frame = |key: Key, frame: &FrameId| match group {
        // Any of its lines may stand for it.
        GroupBy::Function => {
            let module = frames.unique_name(frames.frame(*frame).module);
            key.with(Texts::of(frames, *frame).function).with(module)
        }
        _ => key.with_key(Key::of_frame(frames, *frame)),
    };
    first.into_iter().chain(rest).fold(start, with_frame).text()
}

/// The processes that a call site ran in.
#[derive(Serialize)]
pub struct RanIn<'a> {
    /// The process, where it is only one.
    pub pid: Option<u32>,
    /// The programs that they ran; of more than 62, the others are left out.
    pub programs: Vec<&'a str>,
}

impl<'a> RanIn<'a> {
    pub(crate) fn of(recording: &'a Recording, row: &sites::Row) -> Option<Self> {
        let image = |index: &usize| &recording.images[*index];
        Some(match row.ran_in.as_ref()? {
            site_processes::RanIn::Process(index) => {
                RanIn { pid: Some(image(index).about.pid), programs: vec![names::program(image(index))] }
            }
            site_processes::RanIn::Programs { programs, .. } => {
                RanIn { pid: None, programs: programs.iter().map(|index| names::program(image(index))).collect() }
            }
        })
    }
}
