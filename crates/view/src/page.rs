//! One self-contained page: the front end, and packs of the whole recording and of slices of its time, compressed, which
//! the browser itself unpacks.

mod sparse_values;
mod time_parts;

use crate::ask::Changes;
use crate::bounded_tree::Tree;
use crate::bundle::Bundle;
use crate::home_folders::Private;
use crate::metrics::{self, Values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{MetricsPack, NothingPack, PartColumns, SourceText, SourcesPack};
use crate::profile::Sites;
use crate::recordings::{Compared, Recordings};
use crate::source_file;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::finer_chapters::Sliced;
use memtoll_analysis::looks::Looks;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::View as StackView;
use memtoll_model::Recording;
use memtoll_query::{Query, View};
use memtoll_tally::in_order;
use memtoll_tally::span::Which;
use sha2::{Digest, Sha256};
use sparse_values::SparseRows;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::mpsc::channel;
use std::thread::ScopedJoinHandle;
use time_parts::{Outline, PartSums, Parts, RowSums, Whole};

/// Bytes of a page at the most.
pub const MOST_BYTES: usize = 5_000_000;

/// How detailed a page is; the first one that fits is taken.
const DETAILS: [Detail; 5] = [
    Detail { nodes: 20_000, sites: 3_000 },
    Detail { nodes: 8_000, sites: 1_500 },
    Detail { nodes: 3_000, sites: 600 },
    Detail { nodes: 800, sites: 200 },
    Detail { nodes: 200, sites: 60 },
];

/// Intervals of the time line at the most. They are half as many at the least, and a screen shows half of them.
const INTERVALS: usize = 4096;

/// Rows of what changed; the others are one.
const MOST_CHANGES: usize = 2000;

/// Equal parts of the recording's time.
const PARTS: usize = 50;

/// One of this many parts is packed first: a page that these say is much too large is not packed as a whole.
const SAMPLED: usize = 8;
const MOST_EXPECTED: usize = MOST_BYTES / 10 * 11;

#[derive(Clone, Copy, PartialEq)]
struct Detail {
    nodes: usize,
    sites: usize,
}

/// What is done while a page is made, for those who wait.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Step {
    /// Events are read: the share that is done.
    Reading(f64),
    /// Parts of the time are added up: how many are done, of how many.
    AddingUp(usize, usize),
    /// The page is packed.
    Packing,
}

/// How far the pass over the events is.
enum News {
    /// The share of events that are read.
    Read(f64),
    /// All are read: what lies in memory, by the lines of a view.
    AtEnd(Box<(StackView, Looks)>),
}

/// What a page is made of.
#[derive(Default)]
pub struct Options {
    /// Whether home folders stay in paths.
    pub keep_paths: bool,
    /// The home folder of the user who makes the page.
    pub home: Option<String>,
    /// Whether the page holds source files that the recording names.
    pub sources: bool,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum NoPage {
    /// The recording does not say what the page is made of.
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    /// It cannot be packed.
    #[error("cannot compress the page: {0}")]
    Compress(#[from] std::io::Error),
    /// It has this many bytes with the least detail, too.
    #[error("the page would be {0} bytes, and should be less than {MOST_BYTES}")]
    Large(usize),
}

/// The page of a recording and, if there are others, of what changed. `tell` receives what is done.
pub fn page(
    recording: &Recording,
    compared: Compared,
    options: &Options,
    tell: &dyn Fn(Step),
) -> Result<String, NoPage> {
    let sliced = Sliced::new(time_parts::borders(recording));
    let open = Recordings::new(recording, compared).with_slices(&sliced);
    let (sums, _) = open.session().sums(&Query::default()).map_err(NoAnswer::from)?;
    std::thread::scope(|scope| {
        // The advice reads all events, and the page takes what else it needs from the same pass.
        let (send, news) = channel();
        let (alone, outlined, sums, sliced) = (open.alone(), open.again(), &sums, &sliced);
        let advice = scope.spawn(move || {
            let view = alone.session().view(&Query::default())?;
            let (by_view, read) = (view.clone(), send.clone());
            // The other side may be gone.
            let mut pass = EventPass::new(recording, sums)
                .cutting(sliced, Which::Crossed)
                .looking(move |looks| _ = send.send(News::AtEnd(Box::new((by_view, looks)))))
                .telling(move |share| _ = read.send(News::Read(share)));
            alone.advice(&mut pass, (sums, &view), options.sources)
        });
        let outline = scope.spawn(move || Outline::of(outlined, sums));
        for news in news {
            match news {
                News::Read(share) => tell(Step::Reading(share)),
                News::AtEnd(found) => {
                    let (view, looks) = *found;
                    open.session().know_looks(view, looks);
                    break;
                }
            }
        }
        let outline = joined(outline)?;
        page_of(&open, options, outline, || joined(advice), tell)
    })
}

/// What a thread returns.
fn joined<T>(thread: ScopedJoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Events were read.
fn page_of<'a>(
    open: &Recordings<'a>,
    options: &Options,
    outline: Outline<'a>,
    advice: impl FnOnce() -> Result<Pack, NoAnswer>,
    tell: &dyn Fn(Step),
) -> Result<String, NoPage> {
    let part_sums = PartSums::of(open);
    let (whole, parts) = std::thread::scope(|scope| {
        let (part_sums, other) = (&part_sums, open.again());
        scope.spawn(move || part_sums.add_up(&other));
        let whole = Whole::of(open, outline)?;
        let tell = |done| tell(Step::AddingUp(done, PARTS));
        let parts = Parts::of(open, (&whole, part_sums), DETAILS[0], tell)?;
        Ok::<_, NoPage>((whole, parts))
    })?;
    tell(Step::Packing);
    let before = open.before();
    let whole_before = before.as_ref().map(Whole::alone).transpose()?;
    let before_with = before.as_ref().zip(whole_before.as_ref());
    let private = Private::new(options.home.as_deref());
    let finish = |mut pack: Pack| {
        if !options.keep_paths {
            pack.change(|value| private.value(value));
        }
        compressed(&pack.bytes())
    };
    let (about, advice) = (finish(open.about())?, finish(advice()?)?);
    let activity = finish(open.activity(&Query::of(View::Activity { intervals: INTERVALS }))?)?;
    let changes = finish(if before.is_some() {
        open.changes(&Query::default(), Some(MOST_CHANGES), &Changes::default())?
    } else {
        Pack::new(&NothingPack {})
    })?;
    let metrics_before = finish(match &before {
        Some(before) => Pack::new(&MetricsPack { metrics: before.metrics() }),
        None => Pack::new(&NothingPack {}),
    })?;
    let mut page = String::new();
    for detail in DETAILS {
        let (mut tree, sites) = (Tree::of(&whole.ranked, detail.nodes), whole.sites(open, detail));
        let texts = if options.sources { open.texts(&whole.selected.rows, &sites) } else { BTreeMap::new() };
        let shown_before = match before_with {
            Some((open, whole)) => {
                let tree = Tree::of(&whole.ranked, detail.nodes);
                open.profile(&whole.selected, Some((&tree, &whole.findings)), &whole.sites(open, detail))
            }
            None => Pack::new(&NothingPack {}),
        };
        let places = parts.places(&mut tree);
        let packs = [
            open.profile(&whole.selected, Some((&tree, &whole.findings)), &sites),
            open.patterns_of(&whole.patterns, &sites),
            Pack::new(&SourcesPack { sources: texts }),
            shown_before,
        ];
        let (all, sampled) = (packs.len() + parts.len(), packs.len() + parts.len().div_ceil(SAMPLED));
        // Some parts of all times come first.
        let mut order: Vec<usize> = (0..all).collect();
        order.sort_by_key(|number| number.checked_sub(packs.len()).is_some_and(|part| part % SAMPLED > 0));
        let mut data = vec![String::new(); all];
        let mut bytes: usize =
            [&about, &advice, &activity, &changes, &metrics_before].into_iter().map(String::len).sum();
        let is_last = detail == DETAILS[DETAILS.len() - 1];
        let mut before_parts = 0;
        let packed = in_order(
            0..all,
            RowSums::default,
            |adding, at| match packs.get(order[at]) {
                Some(pack) => finish(pack.clone()),
                None => finish(parts.pack(adding, order[at] - packs.len(), &places, &sites)),
            },
            |at, packed| {
                let packed = packed?;
                bytes += packed.len();
                data[order[at]] = packed;
                if at + 1 == packs.len() {
                    before_parts = bytes;
                }
                // With less detail, there is less to pack in vain. The last attempt says how large the page is.
                let expected = || before_parts + (bytes - before_parts) / (sampled - packs.len()) * parts.len();
                let is_too_large = bytes > MOST_BYTES || at + 1 == sampled && expected() > MOST_EXPECTED;
                if at >= packs.len() && is_too_large && !is_last { Err(None) } else { Ok(()) }
            },
        );
        match packed {
            Err(Some(why)) => return Err(NoPage::Compress(why)),
            Err(None) => continue,
            Ok(()) => {}
        }
        // The order in which the front end expects them.
        let fixed = [(0, &about), (3, &advice), (4, &activity), (6, &changes), (7, &metrics_before)];
        fixed.into_iter().for_each(|(place, pack)| data.insert(place, pack.clone()));
        page = html(&data);
        if page.len() < MOST_BYTES {
            return Ok(page);
        }
    }
    Err(NoPage::Large(page.len()))
}

/// Bytes of source files in a page at the most.
const MOST_SOURCE: usize = 2_000_000;

impl Recordings<'_> {
    /// The texts of the files in which the call sites that are shown are, by path, largest call sites first.
    fn texts(&self, rows: &[Row], sites: &Sites) -> BTreeMap<String, SourceText> {
        let frames = &self.recording().frames;
        let mut texts = BTreeMap::new();
        let mut bytes = 0;
        for row in sites.shown.iter().map(|&index| &rows[index]) {
            let file = row.frame.and_then(|frame| frames.frame(frame).file).map(|file| frames.text(file));
            let Some(file) = file.filter(|file| !texts.contains_key(*file)) else { continue };
            let Ok(read) = source_file::read(file, self.recording().about.started) else { continue };
            if bytes + read.text.len() > MOST_SOURCE {
                continue;
            }
            bytes += read.text.len();
            texts.insert(file.to_owned(), SourceText { text: read.text, is_newer: read.is_newer });
        }
        texts
    }
}

/// The numbers of some rows, behind their indices.
fn write_part(pack: &mut Pack, prefix: &str, rows: &SparseRows) {
    pack.columns(prefix, &PartColumns { index: rows.iter().map(|(index, _)| index as f64).collect() });
    metrics::write(pack, prefix, &rows.iter().map(|(_, values)| values).collect::<Vec<Values>>());
}

/// zlib's level: 8 takes up to twice as long for 0.4 to 1.2 % less, and 6 takes half as long for up to 9 % more.
const LEVEL: u32 = 7;

fn compressed(bytes: &[u8]) -> Result<String, std::io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map(|packed| BASE64.encode(packed))
}

fn html(data: &[String]) -> String {
    let bundle = Bundle::embedded();
    let hash = |text: &str| format!("'sha256-{}'", BASE64.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'",
        hash(&bundle.script),
        hash(&bundle.style)
    );
    // Base64 cannot end an element, whatever functions and files are called.
    let data: String =
        data.iter().map(|pack| format!("<script type=\"application/x-memtoll\">{pack}</script>\n")).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>memtoll</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n<div id=\"app\"></div>\n{data}\
         <script type=\"module\">{}</script>\n</html>\n",
        bundle.style, bundle.script
    )
}
