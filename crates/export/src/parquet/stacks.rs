//! The tables `stacks` and `frames`.

use super::column::{Column, metrics};
use super::runs::run_id;
use super::source::{Frame as Numbered, Source};
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::sums::each_sum_in_image;
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

/// Sums of stacks in all processes that run one program.
#[derive(Default)]
pub struct Sums {
    /// By program and the number of the stack: one more than the place in `all`; 0: it has no sums.
    places: BTreeMap<String, Vec<u32>>,
    all: Vec<Priced>,
}

impl Sums {
    /// The sums of all stacks.
    pub fn of(source: &mut Source) -> Sums {
        let (recording, selection) = (source.recording(), source.sums.selection);
        let mut sums = Sums::default();
        for (index, image) in recording.images.iter().enumerate() {
            let places = sums.places.entry(names::program(image).to_owned()).or_default();
            let all = &mut sums.all;
            each_sum_in_image(recording, index, selection, &source.sums.thread_filter, |node, metrics| {
                if *metrics == Priced::default() {
                    return;
                }
                let Some(stack) = source.stacks.of_node(node) else { return };
                places.resize(places.len().max(stack as usize + 1), 0);
                match places[stack as usize].checked_sub(1) {
                    Some(known) => all[known as usize].add(metrics),
                    None => {
                        all.push(*metrics);
                        places[stack as usize] = all.len() as u32;
                    }
                }
            });
        }
        sums
    }

    /// The sums with their programs and stacks, in the order of these.
    fn each(&self) -> impl Iterator<Item = (&str, u32, Priced)> {
        self.places.iter().flat_map(move |(program, places)| {
            let sums = move |place: &u32| self.all.get(place.checked_sub(1)? as usize).copied();
            (0..).zip(places).filter_map(move |(stack, place)| Some((program.as_str(), stack, sums(place)?)))
        })
    }
}

/// Those stacks as rows, and those that have events but no sums.
pub fn stacks<'s>(source: &'s mut Source, sums: &'s Sums) -> impl Iterator<Item = Stack> + 's {
    let mut have_sums = vec![false; source.stacks.count() as usize];
    sums.each().for_each(|(_, stack, _)| have_sums[stack as usize] = true);
    let others = (0..).zip(have_sums).filter_map(|(stack, has_sums)| (!has_sums).then_some(stack));
    let rows = sums.each().chain(others.map(|stack| ("", stack, Priced::default())));
    let sites: &[Row] = match &source.answer.shown {
        Shown::Table(table) => &table.sites,
        _ => &[],
    };
    let tariff = source.answer.basis.tariff;
    rows.map(move |(process, stack_id, metrics)| {
        let mut frames = Vec::new();
        source.stacks.frames_of(stack_id, &mut frames);
        let stack_key = source.stacks.key(stack_id);
        let stack = source.stacks.stack(stack_id);
        Stack {
            process: process.to_owned(),
            stack_id,
            stack_key,
            site_key: stack.site.and_then(|site| Some(sites.get(site)?.key.clone())),
            r#type: stack.type_name.clone(),
            frames,
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
        Column::list("frames", "Its frames in frames, from the allocation outwards.", |row: &Stack| &row.frames)
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
        Column::id("address", "Where a function without a name begins in the loaded file.", |row: &Frame| {
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
