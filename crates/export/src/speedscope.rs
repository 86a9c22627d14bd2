//! speedscope's file format: a profile for each metric, with weights in its unit.
//!
//! Its schema: <https://www.speedscope.app/file-format-schema.json>.

use crate::format::Format;
use crate::metrics::{self, Total};
use crate::samples::Samples;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::About;
use memtoll_analysis::stacks::Texts;
use memtoll_model::FrameId;
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::format::Unit;
use memtoll_text::shell;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::io::Write;

/// Call stacks, and a profile of each metric.
pub struct Speedscope;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    exporter: &'static str,
    name: String,
    active_profile_index: usize,
    shared: Shared<'a>,
    profiles: Vec<Profile<'a>>,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile<'a> {
    r#type: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    samples: Vec<&'a [usize]>,
    weights: Vec<u64>,
}

impl Export for Speedscope {
    fn name(&self) -> &'static str {
        "speedscope"
    }

    fn help(&self) -> &'static str {
        "Flame graphs in speedscope (speedscope.app), a profile for each metric"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let samples = Samples::by_path(answer);
        let frames = &samples.recording.frames;
        let mut numbers: FxHashMap<FrameId, usize> = FxHashMap::default();
        let mut shared: Vec<Frame> = Vec::new();
        let mut stacks: Vec<Vec<usize>> = Vec::with_capacity(samples.all.len());
        for sample in &samples.all {
            let number = |frame: FrameId| {
                *numbers.entry(frame).or_insert_with(|| {
                    let texts = Texts::of(frames, frame);
                    let file = texts.file.or(Some(texts.shown_module));
                    shared.push(Frame { name: qualified_name(texts.function), file, line: texts.line });
                    shared.len() - 1
                })
            };
            stacks.push(samples.stacks.frames(sample.stack.path).into_iter().rev().map(number).collect());
        }
        let metrics = metrics::metrics(answer);
        let profile = |about: &&'static About| {
            let values = samples.all.iter().map(|sample| about.metric.value(&sample.metrics));
            let (samples, weights): (Vec<&[usize]>, Vec<u64>) =
                stacks.iter().map(Vec::as_slice).zip(values).filter(|(_, value)| *value > 0).unzip();
            let end_value = weights.iter().fold(0, |sum: u64, weight| sum.wrapping_add(*weight));
            Profile {
                r#type: "sampled",
                name: about.name,
                unit: unit(about),
                start_value: 0,
                end_value,
                samples,
                weights,
            }
        };
        let file = File {
            schema: "https://www.speedscope.app/file-format-schema.json",
            exporter: concat!("memtoll ", env!("CARGO_PKG_VERSION")),
            name: shell::line(answer.about.command),
            active_profile_index: metrics::first(answer, &metrics),
            profiles: metrics.iter().map(profile).collect(),
            shared: Shared { frames: shared },
        };
        serde_json::to_writer(out, &file)?;
        Ok(())
    }
}

impl Format for Speedscope {
    fn extension(&self) -> &'static str {
        "speedscope.json"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let total = Total::of(answer);
        let errors = metrics::metrics(answer).into_iter().filter_map(|about| total.error(about.metric, about.name));
        metrics::lacks(answer).into_iter().chain(errors).collect()
    }
}

fn unit(about: &About) -> &'static str {
    match about.unit {
        Unit::Count | Unit::Share => "none",
        Unit::Bytes => "bytes",
        Unit::Time => "nanoseconds",
    }
}
