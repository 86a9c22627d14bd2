//! pprof's format: gzip over a message of Protocol Buffers.
//!
//! A message may be written in pieces, one behind the other, so samples are: they are never in memory as a whole.

pub mod messages;

use crate::code_locations::Places;
use crate::format::Format;
use crate::labels::{self, Value};
use crate::metrics::{self, Total};
use crate::samples::Samples;
use crate::text_table::TextTable;
use flate2::Compression;
use flate2::write::GzEncoder;
use memtoll_analysis::metric::{About, Metric};
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::format::Unit;
use messages::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use prost::Message;
use std::io::Write;

/// Call stacks with all metrics, by thread and type.
pub struct Pprof;

impl Export for Pprof {
    fn name(&self) -> &'static str {
        "pprof"
    }

    fn help(&self) -> &'static str {
        "go tool pprof, Pyroscope, Parca and others that read profiles of Go"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let mut out = GzEncoder::new(out, Compression::default());
        let mut texts = TextTable::new();
        let Samples { recording, mut stacks, all } = Samples::by_thread(answer);
        let mut places = Places::new(recording);
        let metrics = metrics::metrics(answer);
        let mut write = |part: &Profile| out.write_all(&part.encode_to_vec());
        for sample in &all {
            let location_id = places.stack(&mut stacks, sample.node).into_iter().map(id).collect();
            let value = metrics.iter().map(|about| about.metric.value(&sample.metrics) as i64).collect();
            let labels = labels::of(&stacks, sample).into_iter().map(|(key, value)| {
                let key = texts.number(key) as i64;
                match value {
                    Value::Text(text) => Label { key, str: texts.number(text) as i64, num: 0 },
                    Value::Number(num) => Label { key, str: 0, num: num as i64 },
                }
            });
            let sample = Sample { location_id, value, label: labels.collect() };
            write(&Profile { sample: vec![sample], ..Profile::default() })?;
        }
        write(&head(answer, &metrics, &places, texts))?;
        out.finish()?;
        Ok(())
    }
}

impl Format for Pprof {
    fn extension(&self) -> &'static str {
        "pb.gz"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        metrics::lacks(answer)
    }
}

/// All but the samples.
fn head(answer: &Answer, metrics: &[&About], places: &Places, mut texts: TextTable) -> Profile {
    let mut text = |text: &str| texts.number(text) as i64;
    let sample_type: Vec<ValueType> =
        metrics.iter().map(|about| ValueType { r#type: text(name(about)), unit: text(unit(about)) }).collect();
    let mapping = places.mappings.iter().enumerate().map(|(index, mapping)| Mapping {
        id: id(index),
        filename: text(mapping.path),
        build_id: text(mapping.build_id),
        // Names are looked for by memtoll, not by readers.
        has_functions: true,
        has_filenames: mapping.has_files,
        has_line_numbers: mapping.has_lines,
        has_inline_frames: mapping.has_inlined,
        ..Mapping::default()
    });
    let mapping = mapping.collect();
    let function = places.functions.iter().enumerate().map(|(index, function)| Function {
        id: id(index),
        name: text(function.name),
        system_name: text(function.full_name),
        filename: text(function.file.unwrap_or_default()),
        start_line: 0,
    });
    let function = function.collect();
    let location = places.locations.iter().enumerate().map(|(index, location)| Location {
        id: id(index),
        mapping_id: location.mapping.map_or(0, id),
        address: location.address,
        line: location
            .lines
            .iter()
            .map(|(function, line)| Line { function_id: id(*function), line: line.map_or(0, i64::from) })
            .collect(),
    });
    let location = location.collect();
    let (started, duration) = labels::times(answer);
    let period_type = ValueType { r#type: text("space"), unit: text("bytes") };
    let comments = labels::comments(answer);
    let total = Total::of(answer);
    let errors = metrics.iter().filter_map(|about| total.error(about.metric, name(about)));
    let comment = comments.into_iter().chain(errors).map(|comment| text(&comment)).collect();
    let default_sample_type = sample_type.get(metrics::first(answer, metrics)).map_or(0, |first| first.r#type);
    Profile {
        sample_type,
        mapping,
        location,
        function,
        time_nanos: started as i64,
        duration_nanos: duration as i64,
        period_type: Some(period_type),
        period: 1, // all are recorded
        comment,
        default_sample_type,
        string_table: texts.into_texts(),
        ..Profile::default()
    }
}

/// Ids are not 0.
fn id(index: usize) -> u64 {
    index as u64 + 1
}

/// What pprof's users call a metric.
pub fn name(about: &About) -> &'static str {
    match about.metric {
        Metric::Allocations => "alloc_objects",
        Metric::Bytes => "alloc_space",
        Metric::LiveBlocks => "inuse_objects",
        Metric::Live => "inuse_space",
        Metric::FaultTime => "fault",
        _ => about.name,
    }
}

/// What pprof calls a unit.
pub fn unit(about: &About) -> &'static str {
    match about.unit {
        Unit::Count | Unit::Share => "count",
        Unit::Bytes => "bytes",
        Unit::Time => "nanoseconds",
    }
}
