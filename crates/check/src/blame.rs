//! Which lines broke a limit.

use crate::budget::{Entry, What};
use crate::measured::Measured;
use crate::metric::Metric;
use memtoll_advise::Finding;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::site_text::site_text;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Recording};
use std::collections::BTreeMap;

/// Lines that are named, at most.
const MOST: usize = 3;

/// A line with its part of a broken limit.
#[derive(Clone, Debug)]
pub struct Line {
    /// As a report shows it.
    pub text: String,
    pub function: String,
    /// The source file, where it is known.
    pub file: Option<String>,
    /// The line, where it is known.
    pub line: Option<u32>,
    /// Its part, in the metric's unit; `None` of a finding, which says its figures itself.
    pub value: Option<f64>,
    /// Its part in the baseline, if there is one.
    pub before: Option<f64>,
}

impl Line {
    fn of(recording: &Recording, site: Option<&Row>, text: String) -> Line {
        let texts = site.and_then(|site| site.frame).map(|frame| Texts::of(&recording.frames, frame));
        Line {
            text,
            function: texts.as_ref().map_or(String::new(), |texts| texts.function.to_owned()),
            file: texts.as_ref().and_then(|texts| texts.file).map(str::to_owned),
            line: texts.and_then(|texts| texts.line),
            value: None,
            before: None,
        }
    }
}

/// The lines of a broken limit: those that have most more than in the baseline, or most of it if there is none.
pub fn blame(entry: &Entry, measured: &[Measured], baseline: &[Measured]) -> Vec<Line> {
    let Some(now) = measured.last() else { return Vec::new() };
    let metric = match entry.what {
        What::Metric(metric) => for_sites(metric),
        What::Findings => return findings(entry, now),
    };
    let before = baseline.last().map(|baseline| by_name(baseline, entry, metric));
    let mut all: Vec<Found> = by_name(now, entry, metric).into_values().collect();
    let was = |found: &Found| before.as_ref().map(|before| before.get(&found.name).map_or(0.0, |found| found.value));
    let grown = |found: &Found| found.value - was(found).unwrap_or(0.0);
    all.retain(|found| grown(found) > 0.0);
    all.sort_by(|a, b| grown(b).total_cmp(&grown(a)).then_with(|| a.name.cmp(&b.name)));
    let line = |found: &Found| Line {
        value: Some(found.value),
        before: was(found),
        ..Line::of(&now.recording, Some(&found.row), site_text(&now.recording, &found.row, None))
    };
    all.iter().take(MOST).map(line).collect()
}

/// What tells the lines of a limit: of a figure that no line has a part of, what makes it.
fn for_sites(metric: Metric) -> Metric {
    match metric {
        Metric::Figure(figure) => figure.about().lines.map_or(metric, Metric::Sum),
        Metric::Sum(_) => metric,
    }
}

fn findings(entry: &Entry, now: &Measured) -> Vec<Line> {
    let line = |finding: &Finding| Line {
        text: format!("{}: {}", finding.rule, finding.change),
        function: finding.function.clone(),
        file: finding.file.clone(),
        line: finding.line,
        value: None,
        before: None,
    };
    now.findings().iter().filter(|finding| entry.is_about(finding.rule)).take(MOST).map(line).collect()
}

/// What a call site is called in any build: lines change with every edit.
type Name = (Vec<String>, Option<String>);

struct Found {
    name: Name,
    /// Of all lines of this name.
    value: f64,
    /// The one that has most.
    row: Row,
    most: f64,
}

fn by_name(of: &Measured, entry: &Entry, metric: Metric) -> BTreeMap<Name, Found> {
    let mut all: BTreeMap<Name, Found> = BTreeMap::new();
    for row in of.sites_of(entry) {
        let frames = row.frame.iter().chain(&row.inlined);
        let function = |frame: &FrameId| qualified_name(Texts::of(&of.recording.frames, *frame).function).to_owned();
        let mut names: Vec<String> = frames.map(function).collect();
        if names.is_empty() {
            names.push(row.label.clone());
        }
        let (name, value) = ((names, row.type_name.clone()), of.share_of(&row, metric));
        let found = all.entry(name.clone());
        let found = found.or_insert_with(|| Found { name, value: 0.0, row: row.clone(), most: f64::MIN });
        found.value += value;
        if value > found.most {
            (found.most, found.row) = (value, row);
        }
    }
    all
}
