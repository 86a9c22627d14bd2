//! OTLP's profiles: one message with a profile for each metric, and one dictionary for all.

pub mod messages;

use crate::code_locations::Places;
use crate::format::Format;
use crate::labels;
use crate::metrics::{self, Total};
use crate::pprof;
use crate::samples::{Sample, Samples};
use crate::text_table::TextTable;
use memtoll_analysis::metric::About;
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::shell;
use memtoll_trace::path::last_part;
use messages as otlp;
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::Write;

/// Call stacks, and a profile of each metric, by thread and type.
pub struct Otlp;

impl Export for Otlp {
    fn name(&self) -> &'static str {
        "otlp"
    }

    fn help(&self) -> &'static str {
        "OpenTelemetry profiles (v1development), as collectors receive them"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let Samples { recording, mut stacks, all } = Samples::by_thread(answer);
        let mut places = Places::new(recording);
        let mut attributes = Attributes::new();
        // Stacks are in the order of samples, behind the empty one.
        let mut stack_table = vec![otlp::Stack::default()];
        let mut numbers: FxHashMap<Vec<usize>, i32> = FxHashMap::default();
        let mut keys: Vec<(i32, Vec<i32>)> = Vec::with_capacity(all.len());
        for sample in &all {
            let stack = places.stack(&mut stacks, sample.node);
            let number = *numbers.entry(stack).or_insert_with_key(|stack| {
                let location_indices = stack.iter().map(|location| index(*location)).collect();
                stack_table.push(otlp::Stack { location_indices });
                stack_table.len() as i32 - 1
            });
            let of_sample = labels::of(&stacks, sample).into_iter().map(|(key, value)| {
                let value = match value {
                    labels::Value::Text(text) => otlp::Value::Text(text.to_owned()),
                    labels::Value::Number(number) => otlp::Value::Number(number as i64),
                };
                attributes.number(name_of_label(key), value)
            });
            keys.push((number, of_sample.collect()));
        }
        let metrics = metrics::metrics(answer);
        let total = Total::of(answer);
        let (time_unix_nano, duration_nano) = labels::times(answer);
        let profile = |about: &&About, attributes: &mut Attributes| {
            let sample_type = otlp::ValueType {
                type_strindex: attributes.texts.number(pprof::name(about)) as i32,
                unit_strindex: attributes.texts.number(pprof::unit(about)) as i32,
            };
            let ends = total.inexact(about.metric).map(|sum| [("low", sum.low), ("high", sum.high)]);
            let attribute_indices = ends
                .into_iter()
                .flatten()
                .map(|(end, value)| {
                    attributes.number(&format!("memtoll.total.{end}"), otlp::Value::Number(value.round() as i64))
                })
                .collect();
            let sample = |(sample, (stack_index, attribute_indices)): (&Sample, &(i32, Vec<i32>))| {
                let value = about.metric.value(&sample.metrics) as i64;
                (value != 0).then(|| otlp::Sample {
                    stack_index: *stack_index,
                    attribute_indices: attribute_indices.clone(),
                    values: vec![value],
                })
            };
            let samples = all.iter().zip(&keys).filter_map(sample).collect();
            otlp::Profile { sample_type: Some(sample_type), samples, time_unix_nano, duration_nano, attribute_indices }
        };
        let mut profiles: Vec<otlp::Profile> = metrics.iter().map(|about| profile(about, &mut attributes)).collect();
        // Tools show the first one.
        let first = metrics::first(answer, &metrics);
        profiles.get_mut(..=first).into_iter().for_each(|profiles| profiles.rotate_right(1));
        let scope =
            otlp::InstrumentationScope { name: "memtoll".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
        let resource_profiles = otlp::ResourceProfiles {
            resource: Some(resource(answer)),
            scope_profiles: vec![otlp::ScopeProfiles { scope: Some(scope), profiles }],
        };
        let dictionary = dictionary(&places, attributes, stack_table);
        let data = otlp::ProfilesData { resource_profiles: vec![resource_profiles], dictionary: Some(dictionary) };
        out.write_all(&data.encode_to_vec())
    }
}

impl Format for Otlp {
    fn extension(&self) -> &'static str {
        "otlp.pb"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        metrics::lacks(answer)
    }
}

/// An index into a table whose first entry is empty.
fn index(number: usize) -> i32 {
    number as i32 + 1
}

/// What OpenTelemetry calls a label.
fn name_of_label(label: &'static str) -> &'static str {
    match label {
        "process" => "process.executable.name",
        "pid" => "process.pid",
        "process_start_ns" => "memtoll.process.start_ns",
        "thread" => "thread.name",
        "tid" => "thread.id",
        "type" => "memtoll.type",
        other => other,
    }
}

fn text(key: &str, value: &str) -> otlp::KeyValue {
    let value = otlp::AnyValue { value: Some(otlp::Value::Text(value.to_owned())) };
    otlp::KeyValue { key: key.to_owned(), value: Some(value) }
}

/// What all profiles are of.
fn resource(answer: &Answer) -> otlp::Resource {
    let program = answer.about.command.first().map_or("", |program| last_part(program));
    let attributes = vec![
        text("service.name", program),
        text("host.name", &answer.about.machine.host),
        text("process.command_line", &shell::line(answer.about.command)),
    ];
    otlp::Resource { attributes }
}

/// Attributes and the texts of all tables.
struct Attributes {
    texts: TextTable,
    table: Vec<otlp::KeyValueAndUnit>,
    numbers: FxHashMap<(i32, String), i32>,
}

impl Attributes {
    fn new() -> Attributes {
        let table = vec![otlp::KeyValueAndUnit::default()];
        Attributes { texts: TextTable::new(), table, numbers: FxHashMap::default() }
    }

    fn number(&mut self, key: &str, value: otlp::Value) -> i32 {
        let key_strindex = self.texts.number(key) as i32;
        let shown = match &value {
            otlp::Value::Text(text) => text.clone(),
            otlp::Value::Number(number) => number.to_string(),
        };
        let table = &mut self.table;
        *self.numbers.entry((key_strindex, shown)).or_insert_with(|| {
            let value = otlp::AnyValue { value: Some(value) };
            table.push(otlp::KeyValueAndUnit { key_strindex, value: Some(value) });
            table.len() as i32 - 1
        })
    }
}

fn dictionary(places: &Places, mut attributes: Attributes, stack_table: Vec<otlp::Stack>) -> otlp::ProfilesDictionary {
    let mut mapping_table = vec![otlp::Mapping::default()];
    for mapping in &places.mappings {
        let build_id = (!mapping.build_id.is_empty()).then(|| {
            let value = otlp::Value::Text(mapping.build_id.to_owned());
            attributes.number("process.executable.build_id.gnu", value)
        });
        let filename_strindex = attributes.texts.number(mapping.path) as i32;
        mapping_table.push(otlp::Mapping { filename_strindex, attribute_indices: build_id.into_iter().collect() });
    }
    let Attributes { mut texts, table, .. } = attributes;
    let mut number = |text: &str| texts.number(text) as i32;
    let mut function_table = vec![otlp::Function::default()];
    function_table.extend(places.functions.iter().map(|function| otlp::Function {
        name_strindex: number(function.name),
        system_name_strindex: number(function.full_name),
        filename_strindex: number(function.file.unwrap_or_default()),
    }));
    let line = |(function, line): &(usize, Option<u32>)| otlp::Line {
        function_index: index(*function),
        line: line.map_or(0, i64::from),
    };
    let mut location_table = vec![otlp::Location::default()];
    location_table.extend(places.locations.iter().map(|location| otlp::Location {
        mapping_index: location.mapping.map_or(0, index),
        address: location.address,
        lines: location.lines.iter().map(line).collect(),
    }));
    otlp::ProfilesDictionary {
        mapping_table,
        location_table,
        function_table,
        link_table: vec![otlp::Link::default()],
        string_table: texts.into_texts(),
        attribute_table: table,
        stack_table,
    }
}
