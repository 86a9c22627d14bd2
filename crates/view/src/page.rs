//! One self-contained page: the front end, and packs of the whole recording and of slices of its time, compressed, which
//! the browser itself unpacks.

use crate::ask::Ask;
use crate::bundle::Bundle;
use crate::engine::Engine;
use crate::metrics::{COUNT, Values, values};
use crate::pack::Pack;
use crate::private::Private;
use crate::profile::Sites;
use crate::source_file;
use crate::tree::{Tree, write_values};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::write::GzEncoder;
use memtoll_analysis::sites::Row;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::io::Write;

/// Bytes of a page at the most.
pub const MOST_BYTES: usize = 5_000_000;

/// How detailed a page is; the first one that fits is taken.
const DETAILS: [Detail; 4] = [
    Detail { nodes: 20_000, sites: 3_000, slices: 50 },
    Detail { nodes: 8_000, sites: 1_500, slices: 40 },
    Detail { nodes: 3_000, sites: 600, slices: 25 },
    Detail { nodes: 800, sites: 200, slices: 10 },
];

#[derive(Clone, Copy)]
struct Detail {
    nodes: usize,
    sites: usize,
    /// Equal parts of the recording's time.
    slices: usize,
}

/// What a page is made of.
#[derive(Default)]
pub struct Options {
    /// Whether home folders stay in paths.
    pub keep_paths: bool,
    /// The home folder of whoever makes the page.
    pub home: Option<String>,
    /// Whether the page holds source files that the recording names.
    pub sources: bool,
}

/// The page. An error is a statement for the user.
pub fn page(engine: &mut Engine, ask: &Ask, options: &Options) -> Result<String, String> {
    let mut page = String::new();
    for detail in DETAILS {
        page = with_detail(engine, ask, options, detail)?;
        if page.len() < MOST_BYTES {
            return Ok(page);
        }
    }
    Err(format!("the page would be {} bytes, and should be less than {MOST_BYTES}", page.len()))
}

fn with_detail(engine: &mut Engine, ask: &Ask, options: &Options, detail: Detail) -> Result<String, String> {
    let private = Private::new(options.home.as_deref());
    let finish = |mut pack: Pack| {
        if !options.keep_paths {
            pack.change(|value| private.value(value));
        }
        compressed(&pack.bytes())
    };
    let whole = engine.find(ask)?;
    let mut tree = Tree::of(&engine.call_tree(ask, &whole)?, detail.nodes);
    let sites = engine.sites(whole.rows.iter(), detail.sites);
    let shown: FxHashMap<SiteKey, usize> =
        sites.shown.iter().enumerate().map(|(number, &index)| (key(&whole.rows[index]), number)).collect();
    let others = (sites.others > 0).then_some(sites.shown.len());
    let mut parts = Vec::new();
    let (begin, end) = (ask.from_ns.unwrap_or(0.0), ask.to_ns.unwrap_or_else(|| engine.ended_ns()));
    for number in 0..detail.slices {
        let at = |number: usize| begin + (end - begin) * number as f64 / detail.slices as f64;
        // The last one goes to the end, the others up to the next one's first instant.
        let to = if number + 1 == detail.slices { ask.to_ns } else { Some(engine.before(at(number + 1))) };
        let from = if number == 0 { ask.from_ns } else { Some(at(number)) };
        let part = Ask { from_ns: from, to_ns: to, ..ask.clone() };
        let found = engine.find(&part)?;
        let nodes = tree.part(&engine.call_tree(&part, &found)?);
        let mut rows: FxHashMap<usize, Values> = FxHashMap::default();
        for row in &found.rows {
            let Some(site) = shown.get(&key(row)).copied().or(others) else { continue };
            let values = values(&row.metrics);
            let sums = rows.entry(site).or_insert([0; COUNT]);
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let mut rows: Vec<(usize, Values)> = rows.into_iter().filter(|(_, row)| row.iter().any(|&n| n > 0)).collect();
        rows.sort_unstable_by_key(|(site, _)| *site);
        let mut pack = Pack::new();
        engine.describe(&found, &mut pack);
        pack.set("slice", json!({ "from_ns": at(number), "to_ns": at(number + 1) }));
        write_part(&mut pack, "tree", &nodes);
        write_part(&mut pack, "sites", &rows);
        parts.push(pack);
    }
    let mut packs = vec![engine.about()];
    let mut pack = Pack::new();
    engine.describe(&whole, &mut pack);
    engine.write(&mut pack, Some(&tree), &whole.rows, &sites);
    packs.push(pack);
    packs.push(engine.patterns_of(ask, &whole, &sites)?);
    packs.push(engine.advice()?);
    packs.push(engine.activity(ask)?);
    let mut sources = Pack::new();
    sources.set("sources", if options.sources { engine.texts(&whole.rows, &sites) } else { json!({}) });
    packs.push(sources);
    packs.extend(before(engine, detail)?);
    packs.append(&mut parts);
    let data = packs.into_iter().map(finish).collect::<Result<Vec<String>, String>>()?;
    Ok(html(&data))
}

/// What changed from the recording before, and that recording; empty packs if there is none.
fn before(engine: &mut Engine, detail: Detail) -> Result<[Pack; 2], String> {
    let Some(recording) = engine.compared_with() else { return Ok([Pack::new(), Pack::new()]) };
    let mut before = Engine::new(recording);
    let whole = before.find(&Ask::default())?;
    let tree = Tree::of(&before.call_tree(&Ask::default(), &whole)?, detail.nodes);
    let sites = before.sites(whole.rows.iter(), detail.sites);
    let mut pack = Pack::new();
    before.describe(&whole, &mut pack);
    before.write(&mut pack, Some(&tree), &whole.rows, &sites);
    Ok([engine.compare(&Ask::default())?, pack])
}

/// Bytes of source files in a page at the most.
const MOST_SOURCE: usize = 2_000_000;

impl Engine<'_> {
    /// The texts of the files in which the call sites that are shown are, by path, largest call sites first.
    fn texts(&self, rows: &[Row], sites: &Sites) -> Value {
        let frames = &self.recording().frames;
        let mut texts = Map::new();
        let mut bytes = 0;
        for row in sites.shown.iter().map(|&index| &rows[index]) {
            let file = row.frame.and_then(|frame| frames.frame(frame).file).map(|file| frames.text(file));
            let Some(file) = file.filter(|file| !texts.contains_key(*file)) else { continue };
            let Ok(read) = source_file::read(file, self.recording().about.started) else { continue };
            if bytes + read.text.len() > MOST_SOURCE {
                continue;
            }
            bytes += read.text.len();
            texts.insert(file.to_owned(), json!({ "text": read.text, "is_newer": read.is_newer }));
        }
        Value::Object(texts)
    }
}

/// What tells two call sites apart.
type SiteKey = (Option<u32>, Vec<u32>, Option<String>, String);

fn key(row: &Row) -> SiteKey {
    (row.frame, row.inlined.clone(), row.type_name.clone(), row.label.clone())
}

/// The numbers of some rows, behind their indices.
fn write_part(pack: &mut Pack, prefix: &str, rows: &[(usize, Values)]) {
    pack.column(&format!("{prefix}.index"), &rows.iter().map(|(index, _)| *index as f64).collect::<Vec<f64>>());
    write_values(pack, prefix, &rows.iter().map(|(_, values)| *values).collect::<Vec<Values>>());
}

fn compressed(bytes: &[u8]) -> Result<String, String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.map(|packed| BASE64.encode(packed)).map_err(|error| format!("cannot compress the page: {error}"))
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
