//! The tables `stacks` and `frames`.

use super::column::{Column, metrics};
use super::kinds::{Kind, Unit};
use super::runs::run_id;
use super::source::{Frame as Numbered, Source};
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::sums::sums_in_image;
use memtoll_query::rows::Row;
use memtoll_query::{Figures, Shown};
use parquet::data_type::ByteArray;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A call stack in all processes that run one program.
pub struct Stack {
    process: String,
    stack_id: u32,
    stack_key: String,
    site_key: Option<String>,
    r#type: Option<String>,
    frames: Vec<i64>,
    figures: Figures,
}

/// The sums of all stacks, by the program that runs and the stack's number.
pub fn sums(source: &mut Source) -> BTreeMap<(String, u32), Priced> {
    let (recording, selection) = (source.recording(), source.sums.selection);
    let mut all: BTreeMap<(String, u32), Priced> = BTreeMap::new();
    for (index, image) in recording.images.iter().enumerate() {
        let program = names::program(image);
        for (node, metrics) in sums_in_image(recording, index, selection, &source.sums.thread_filter) {
            if metrics == Priced::default() {
                continue;
            }
            if let Some(stack) = source.stacks.of_node(node) {
                all.entry((program.to_owned(), stack)).or_default().add(&metrics);
            }
        }
    }
    all
}

/// Those stacks as rows, and those that have events but no sums.
pub fn stacks<'s>(
    source: &'s mut Source,
    sums: &'s BTreeMap<(String, u32), Priced>,
) -> impl Iterator<Item = Stack> + 's {
    let known: rustc_hash::FxHashSet<u32> = sums.keys().map(|(_, stack)| *stack).collect();
    let others: Vec<(String, u32)> =
        (0..source.stacks.count()).filter(|stack| !known.contains(stack)).map(|stack| (String::new(), stack)).collect();
    let none = Priced::default();
    let rows =
        sums.iter().map(|(of, metrics)| (of.clone(), *metrics)).chain(others.into_iter().map(move |of| (of, none)));
    let sites: &[Row] = match &source.answer.shown {
        Shown::Table(table) => &table.sites,
        _ => &[],
    };
    let tariff = source.answer.basis.tariff;
    rows.map(move |((process, stack_id), metrics)| {
        let stack = source.stacks.stack(stack_id);
        Stack {
            process,
            stack_id,
            stack_key: source.stacks.key(stack_id),
            site_key: stack.site.and_then(|site| Some(sites.get(site)?.key.clone())),
            r#type: stack.type_name.clone(),
            frames: source.stacks.frames_of(stack_id),
            figures: Figures::new(&metrics, &tariff),
        }
    })
}

/// The columns of `stacks`.
pub fn stack_columns(id: &ByteArray) -> Vec<Column<Stack>> {
    let key = "The same in other recordings of the program, as long as names and lines stay the same.";
    let mut columns = vec![
        run_id(id),
        Column::text("process", "The name of the program that runs.", |row: &Stack| row.process.as_str().into()),
        Column::id("stack_id", "Number of the stack in the run.", |row: &Stack| row.stack_id.into()).in_order(),
        Column::text("stack_key", key, |row: &Stack| row.stack_key.as_str().into()),
        Column::text("site_key", "Its call site in sites; null: it has events and no sums.", |row: &Stack| {
            row.site_key.as_deref().into()
        })
        .optional(),
        Column::text("type", "The type of its blocks, where inlined functions tell it.", |row: &Stack| {
            row.r#type.as_deref().into()
        })
        .optional(),
        Column::new(
            Kind::Integers,
            "frames",
            Unit::None,
            "Its frames in frames, from the allocation outwards.",
            |row: &Stack| row.frames.clone().into(),
        )
        .in_order(),
    ];
    columns.extend(metrics(|row: &Stack| &row.figures));
    columns
}

/// A function at a line.
pub struct Frame {
    frame_id: i64,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    module: String,
    build_id: Option<String>,
    address: Option<u64>,
    is_inlined: bool,
    is_without_tables: bool,
}

/// The frames of all stacks that have rows.
pub fn frames<'s>(source: &'s Source) -> impl Iterator<Item = Frame> + 's {
    let recording = source.recording();
    let build_ids: FxHashMap<&str, &str> = recording
        .modules
        .iter()
        .filter(|module| !module.build_id.is_empty())
        .map(|module| (module.path.as_str(), module.build_id.as_str()))
        .collect();
    source.stacks.frames().iter().zip(0..).map(move |(Numbered { frame, is_inlined }, frame_id)| {
        let texts = Texts::of(&recording.frames, *frame);
        Frame {
            frame_id,
            function: source.stacks.function(*frame).to_owned(),
            file: texts.file.map(str::to_owned),
            line: texts.line,
            module: texts.module.to_owned(),
            build_id: build_ids.get(texts.module).map(|id| (*id).to_owned()),
            address: recording.frames.frame(*frame).address,
            is_inlined: *is_inlined,
            is_without_tables: recording.frames.is_without_tables(*frame),
        }
    })
}

/// The columns of `frames`.
pub fn frame_columns(id: &ByteArray) -> Vec<Column<Frame>> {
    vec![
        run_id(id),
        Column::id("frame_id", "Number of the frame in the run.", |row: &Frame| row.frame_id.into()).in_order(),
        Column::text("function", "The function; of one without a name, its file and address.", |row: &Frame| {
            row.function.as_str().into()
        }),
        Column::text("file", "The source file.", |row: &Frame| row.file.as_deref().into()).optional(),
        Column::id("line", "The line.", |row: &Frame| row.line.into()).optional(),
        Column::text("module", "The loaded file.", |row: &Frame| row.module.as_str().into()),
        Column::text("build_id", "The loaded file's build id.", |row: &Frame| row.build_id.as_deref().into())
            .optional(),
        Column::id("address", "The address in the loaded file, of a function without a name.", |row: &Frame| {
            row.address.into()
        })
        .optional(),
        Column::truth("is_inlined", "Whether it is inlined into the frame behind it.", |row: &Frame| {
            row.is_inlined.into()
        }),
        Column::truth(
            "is_without_tables",
            "Whether its code has no unwind tables: the frame behind it was found by reading the code, or with the frame pointer.",
            |row: &Frame| row.is_without_tables.into(),
        ),
    ]
}
