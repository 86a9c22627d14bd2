//! Collapsed stacks, as flame graph tools read them: frames from the thread's entry on, separated by semicolons, then a
//! number; times are in ns.

use crate::format::Format;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_query::export::Export;
use memtoll_query::rows::Row;
use memtoll_query::{Answer, Shown, View};
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
            View::Totals => Ok(View::Table { group: GroupBy::Path, limit: None }),
            View::Table { group: GroupBy::Path | GroupBy::Site, limit } => {
                Ok(View::Table { group: GroupBy::Path, limit })
            }
            View::Table { .. } => Err("collapsed stacks are call paths: leave --group out"),
            _ => Err("collapsed stacks are call paths: expected --format text or json"),
        }
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let (Shown::Table(table), Some(metric)) = (&answer.shown, answer.metric) else { return Ok(()) };
        for row in &table.sites {
            if let Some(line) = line(row, metric) {
                writeln!(out, "{line}")?;
            }
        }
        Ok(())
    }
}

fn line(row: &Row, metric: Metric) -> Option<String> {
    let value = row.figures.of(metric).filter(|value| *value > 0)?;
    let names: Vec<String> = row.path.iter().rev().map(|place| place.function.replace([';', '\n'], ",")).collect();
    let stack = if names.is_empty() { row.function.clone() } else { names.join(";") };
    Some(format!("{stack} {value}"))
}

impl Format for Collapsed {
    fn extension(&self) -> &'static str {
        "collapsed"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let Some(metric) = answer.metric else { return Vec::new() };
        vec![format!(
            "each call path has one number, \"{}\"; --metric takes another one. There are no lines of source files",
            metric.about().name
        )]
    }
}
