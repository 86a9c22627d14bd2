//! DHAT's format, version 2: a program point for each call path, as `dh_view.html` of Valgrind reads it.

use crate::format::{Format, needs_frees};
use crate::metrics;
use crate::samples::{Sample, Samples};
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Frames};
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use memtoll_text::shell;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::io::Write;

/// Blocks by call path: all of them, at the peak, at the end.
pub struct Dhat;

/// Blocks that live for less are short-lived, ns.
const SHORT_NS: u64 = 10_000;

/// The names are those of the format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File {
    dhat_file_version: u32,
    mode: &'static str,
    verb: &'static str,
    /// There are lifetimes.
    bklt: bool,
    /// There are no accesses.
    bkacc: bool,
    /// The unit of times, and a million of it.
    tu: &'static str,
    #[serde(rename = "Mtu")]
    mtu: &'static str,
    tuth: u64,
    cmd: String,
    pid: u32,
    /// When the peak was, and the end.
    tg: u64,
    te: u64,
    pps: Vec<Point>,
    ftbl: Vec<String>,
}

/// Bytes and blocks: in all, with the sum of their lifetimes; the most at a time; at the peak; at the end.
#[derive(Serialize)]
struct Point {
    tb: u64,
    tbk: u64,
    tl: u64,
    mb: u64,
    mbk: u64,
    gb: u64,
    gbk: u64,
    eb: u64,
    ebk: u64,
    fs: Vec<usize>,
}

impl Export for Dhat {
    fn name(&self) -> &'static str {
        "dhat"
    }

    fn help(&self) -> &'static str {
        "Blocks by call path in dh_view.html, the viewer of Valgrind's DHAT"
    }

    fn view(&self, _asked: View) -> Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let samples = Samples::by_path(answer);
        let frames = &samples.recording.frames;
        let mut texts = vec!["[root]".to_owned()];
        let mut numbers: FxHashMap<Option<FrameId>, usize> = FxHashMap::default();
        let mut number = |frame: Option<FrameId>| {
            *numbers.entry(frame).or_insert_with(|| {
                texts.push(frame.map_or_else(|| "(no stack)".to_owned(), |frame| text(frames, frame)));
                texts.len() - 1
            })
        };
        let point = |sample: &Sample| {
            let path = samples.stacks.frames(sample.stack.path);
            let fs = match path.is_empty() {
                true => vec![number(None)],
                false => path.into_iter().map(|frame| number(Some(frame))).collect(),
            };
            let of = &sample.metrics;
            Point {
                tb: of.bytes.0,
                tbk: of.allocations(),
                tl: of.lifetime_ns.0,
                mb: of.peak_bytes.max(of.live_bytes).0,
                mbk: of.peak_blocks.max(of.live_blocks),
                gb: of.peak_bytes.0,
                gbk: of.peak_blocks,
                eb: of.live_bytes.0,
                ebk: of.live_blocks,
                fs,
            }
        };
        let pps = samples.all.iter().map(point).collect();
        let tariff = &answer.basis.tariff;
        let peak_time = answer.basis.sums.as_ref().map_or(0, |sums| sums.peak_time);
        let ended = (answer.about.seconds.unwrap_or(0.0) * 1e9) as u64;
        let end = answer.about.span.and_then(|span| span.to_ns).map_or(ended, |to| to.min(ended));
        let file = File {
            dhat_file_version: 2,
            mode: "heap",
            verb: "Allocated",
            bklt: true,
            bkacc: false,
            tu: "ns",
            mtu: "ms",
            tuth: SHORT_NS,
            cmd: shell::line(answer.about.command),
            pid: samples.recording.images.first().map_or(0, |image| image.about.pid),
            tg: tariff.ns(peak_time as f64) as u64,
            te: end,
            pps,
            ftbl: texts,
        };
        serde_json::to_writer(out, &file)?;
        Ok(())
    }
}

/// `grow (buffer.cpp:120)`, with the path of the file; or `grow (in /usr/lib/libz.so.1)`.
fn text(frames: &Frames, frame: FrameId) -> String {
    let texts = Texts::of(frames, frame);
    let name = qualified_name(texts.function);
    match (texts.file, texts.line) {
        (Some(file), Some(line)) => format!("{name} ({file}:{line})"),
        (Some(file), None) => format!("{name} ({file})"),
        (None, _) => format!("{name} (in {})", texts.shown_module),
    }
}

impl Format for Dhat {
    fn extension(&self) -> &'static str {
        "dhat.json"
    }

    fn refuses(&self, answer: &Answer) -> Option<String> {
        needs_frees(answer)
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let mut lacks = vec![
            "it has blocks and bytes only: no costs, no mappings, no threads".to_owned(),
            "a recording does not tell the most bytes that each call path had at a time: the file says what it had at the \
             peak or at the end"
                .to_owned(),
            "lifetimes are those of the blocks that were freed".to_owned(),
        ];
        if answer.basis.sums.as_ref().is_some_and(|sums| sums.are_of_several()) {
            lacks.push("\"at t-gmax\" adds up the peaks of several processes, each at a time of its own".to_owned());
        }
        lacks.extend(metrics::not_among(answer, &["bytes", "allocations", "live", "live-blocks", "peak"]));
        lacks
    }
}
