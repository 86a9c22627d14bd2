//! Collapsed stacks, as flame graph tools read them: frames from the thread's entry on, separated by semicolons, then a
//! number; times are in ns.

use crate::format::Format;
use crate::metrics::{Total, why_not};
use crate::samples::{Sample, Samples};
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::stacks::Texts;
use memtoll_query::export::Export;
use memtoll_query::{Answer, Shown, View};
use std::cmp::Reverse;
use std::io::Write;

/// One line for each call path of which the metric that rows are sorted by is not 0.
pub struct Collapsed;

impl Export for Collapsed {
    fn name(&self) -> &'static str {
        "collapsed"
    }

    fn help(&self) -> &'static str {
        "Call paths with one number each, for flame graphs"
    }

    fn view(&self, asked: View) -> Result<View, &'static str> {
        match asked {
            // Rows of a table take far more memory than what they are made from.
            View::Totals | View::Table { group: GroupBy::Path | GroupBy::Site, limit: None } => Ok(View::Totals),
            View::Table { group: GroupBy::Path | GroupBy::Site, limit } => {
                Ok(View::Table { group: GroupBy::Path, limit })
            }
            View::Table { .. } => Err("collapsed stacks are call paths: leave --group out"),
            _ => Err("collapsed stacks are call paths: expected --format text or json"),
        }
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let Some(metric) = answer.metric else { return Ok(()) };
        match &answer.shown {
            Shown::Table(table) => table.sites.iter().try_for_each(|row| {
                let names = row.path.iter().rev().map(|place| place.function);
                line(names, &row.function, row.figures.of(metric), out)
            }),
            _ => whole(answer, metric, out),
        }
    }
}

/// All call paths, those with the largest numbers first.
fn whole(answer: &Answer, metric: Metric, out: &mut dyn Write) -> std::io::Result<()> {
    let mut samples = Samples::by_path(answer);
    let value = |sample: &Sample| metric.known(&sample.metrics, answer.basis.tariff.sees());
    samples.all.sort_by_key(|sample| Reverse(value(sample)));
    let frames = &samples.recording.frames;
    samples.all.iter().try_for_each(|sample| {
        let path = samples.stacks.frames(sample.stack.path);
        let names = path.iter().rev().map(|frame| qualified_name(Texts::of(frames, *frame).function));
        line(names, "(no stack)", value(sample), out)
    })
}

/// `nameless`: what a stack without frames is called.
fn line<'a>(
    names: impl Iterator<Item = &'a str>,
    nameless: &str,
    value: Option<u64>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let Some(value) = value.filter(|value| *value > 0) else { return Ok(()) };
    let mut is_first = true;
    for name in names {
        let between = if is_first { "" } else { ";" };
        write!(out, "{between}{}", name.replace([';', '\n'], ","))?;
        is_first = false;
    }
    if is_first {
        write!(out, "{nameless}")?;
    }
    writeln!(out, " {value}")
}

impl Format for Collapsed {
    fn extension(&self) -> &'static str {
        "collapsed"
    }

    fn refuses(&self, answer: &Answer) -> Option<String> {
        let why = why_not(answer, answer.metric?)?;
        Some(format!("it has room for one metric, and {why}: expected another --metric"))
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let Some(metric) = answer.metric else { return Vec::new() };
        let name = metric.about().name;
        let one = format!(
            "each call path has one number, \"{name}\"; --metric takes another one. There are no lines of source files"
        );
        std::iter::once(one).chain(Total::of(answer).error(metric, name)).collect()
    }
}
