//! The comparison of two recordings as text, JSON and Markdown.

use crate::json::{JsonMetrics, SCHEMA_VERSION};
use crate::{format, names, table};
use comfy_table::Cell;
use memtoll_analysis::diff::{Change, Side, by_function, by_path, sort};
use memtoll_analysis::stacks::View;
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::summary::Metrics;
use serde::Serialize;

/// A comparison.
pub struct Diff<'a> {
    before: &'a Side<'a>,
    after: &'a Side<'a>,
    functions: Vec<Change>,
    paths: Vec<Change>,
}

type Total = (&'static str, fn(&Metrics) -> u64, bool);

/// What is compared of the whole: name, metric, whether it is bytes.
const TOTALS: [Total; 7] = [
    ("allocations", |m| m.allocations, false),
    ("reallocations", |m| m.reallocations, false),
    ("bytes allocated", |m| m.bytes_allocated, true),
    ("peak", |m| m.peak_bytes, true),
    ("live at end", |m| m.live_bytes, true),
    ("temporary", |m| m.temporary, false),
    ("free of null", |m| m.free_null_calls, false),
];

fn acquired(metrics: &Metrics) -> u64 {
    metrics.allocations + metrics.reallocations
}

impl<'a> Diff<'a> {
    /// Compares two recordings.
    pub fn new(before: &'a Side<'a>, after: &'a Side<'a>, view: &View) -> Self {
        let mut functions = by_function(before, after, view);
        let mut paths = by_path(before, after, view);
        sort(&mut functions, acquired);
        sort(&mut paths, acquired);
        Diff { before, after, functions, paths }
    }

    fn totals(&self) -> (&Metrics, &Metrics) {
        (&self.before.sums.total, &self.after.sums.total)
    }

    fn split<'b>(&self, changes: &'b [Change]) -> (Vec<&'b Change>, Vec<&'b Change>, Vec<&'b Change>) {
        let counts =
            |change: &&Change| change.difference(acquired) != 0 || change.difference(|m| m.bytes_allocated) != 0;
        let moved: Vec<&Change> = changes.iter().filter(counts).collect();
        let changed = moved.iter().copied().filter(|c| c.before.is_some() && c.after.is_some()).collect();
        let new = moved.iter().copied().filter(|c| c.before.is_none()).collect();
        let gone = moved.iter().copied().filter(|c| c.after.is_none()).collect();
        (changed, new, gone)
    }

    /// For people.
    pub fn text(&self, limit: usize, width: Option<usize>) -> String {
        let (before, after) = self.totals();
        let mut totals = table::new_table(&["before", "after", "change", "", "total"]);
        for (name, metric, is_bytes) in TOTALS {
            totals.add_row(total_cells(name, metric(before), metric(after), is_bytes).map(Cell::new));
        }
        let mut text = table::finish(totals);
        for (title, changes) in [("function", &self.functions), ("call path", &self.paths)] {
            let (changed, new, gone) = self.split(changes);
            for (what, list) in [("Changed", changed), ("New", new), ("Gone", gone)] {
                if !list.is_empty() {
                    text.push_str(&format!("\n{what}, by {title}\n"));
                    text.push_str(&self.change_table(&list, limit, width));
                }
            }
        }
        text
    }

    fn change_table(&self, changes: &[&Change], limit: usize, width: Option<usize>) -> String {
        let mut rows = table::new_table(&["allocations", "bytes", "peak", "where"]);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(46).max(30));
        for change in changes.iter().take(limit) {
            let place =
                change.place.as_deref().map(|place| format!(" ({})", names::last_part(place))).unwrap_or_default();
            rows.add_row([
                Cell::new(format::signed_count(change.difference(acquired))),
                Cell::new(format::signed_bytes(change.difference(|m| m.bytes_allocated))),
                Cell::new(format::signed_bytes(change.difference(|m| m.peak_bytes))),
                Cell::new(names::shorten(&format!("{}{place}", change.name.join(" < ")), room)),
            ]);
        }
        let mut text = table::finish(rows);
        if changes.len() > limit {
            text.push_str(&format!("… and {} more\n", changes.len() - limit));
        }
        text
    }

    /// For a pull request.
    pub fn markdown(&self, limit: usize) -> String {
        let (before, after) = self.totals();
        let mut text = String::from("| | before | after | change | |\n|---|---:|---:|---:|---:|\n");
        for (name, metric, is_bytes) in TOTALS {
            let [b, a, change, share, _] = total_cells(name, metric(before), metric(after), is_bytes);
            text.push_str(&format!("| {name} | {b} | {a} | {change} | {share} |\n"));
        }
        let (changed, new, gone) = self.split(&self.functions);
        for (what, list) in [("Changed", changed), ("New", new), ("Gone", gone)] {
            if list.is_empty() {
                continue;
            }
            text.push_str(&format!(
                "\n**{what}**\n\n| allocations | bytes | peak | function |\n|---:|---:|---:|---|\n"
            ));
            for change in list.iter().take(limit) {
                text.push_str(&format!(
                    "| {} | {} | {} | `{}` |\n",
                    format::signed_count(change.difference(acquired)),
                    format::signed_bytes(change.difference(|m| m.bytes_allocated)),
                    format::signed_bytes(change.difference(|m| m.peak_bytes)),
                    change.name.join(" < ").replace('|', "\\|")
                ));
            }
            if list.len() > limit {
                text.push_str(&format!("\n… and {} more\n", list.len() - limit));
            }
        }
        text
    }

    /// For scripts.
    pub fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct JsonChange<'a> {
            path: &'a [String],
            place: Option<&'a str>,
            before: Option<JsonMetrics>,
            after: Option<JsonMetrics>,
        }
        #[derive(Serialize)]
        struct JsonDiff<'a> {
            schema_version: u32,
            before: JsonMetrics,
            after: JsonMetrics,
            functions: Vec<JsonChange<'a>>,
            paths: Vec<JsonChange<'a>>,
        }
        let (before_tariff, after_tariff) = (Tariff::of(self.before.recording), Tariff::of(self.after.recording));
        fn list<'a>(changes: &'a [Change], before: &Tariff, after: &Tariff) -> Vec<JsonChange<'a>> {
            let convert = |change: &'a Change| JsonChange {
                path: &change.name,
                place: change.place.as_deref(),
                before: change.before.as_ref().map(|metrics| JsonMetrics::new(metrics, before)),
                after: change.after.as_ref().map(|metrics| JsonMetrics::new(metrics, after)),
            };
            changes.iter().map(convert).collect()
        }
        let (before, after) = self.totals();
        let text = serde_json::to_string_pretty(&JsonDiff {
            schema_version: SCHEMA_VERSION,
            before: JsonMetrics::new(before, &before_tariff),
            after: JsonMetrics::new(after, &after_tariff),
            functions: list(&self.functions, &before_tariff, &after_tariff),
            paths: list(&self.paths, &before_tariff, &after_tariff),
        })?;
        Ok(text + "\n")
    }
}

fn total_cells(name: &str, before: u64, after: u64, is_bytes: bool) -> [String; 5] {
    let show = |value| if is_bytes { format::bytes(value) } else { format::count(value) };
    let change = after as i64 - before as i64;
    let signed = if is_bytes { format::signed_bytes(change) } else { format::signed_count(change) };
    let share = match before {
        0 => String::new(),
        _ => format!("{:+.1} %", change as f64 * 100.0 / before as f64),
    };
    [show(before), show(after), signed, share, name.to_owned()]
}
