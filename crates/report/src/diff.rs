//! The comparison of two recordings as text, JSON and Markdown.

use crate::json::{JsonMetrics, SCHEMA_VERSION};
use crate::{format, names, table};
use comfy_table::Cell;
use memtoll_analysis::diff::{Change, Side, by_function, by_path, sort};
use memtoll_analysis::stacks::View;
use memtoll_analysis::tariff::{Costs, Tariff};
use memtoll_trace::summary::Metrics;
use serde::Serialize;

/// A comparison.
pub struct Diff<'a> {
    before: &'a Side<'a>,
    after: &'a Side<'a>,
    tariffs: [Tariff; 2],
    functions: Vec<Change>,
    paths: Vec<Change>,
}

/// What is compared: a number of things, bytes, or time.
enum Compared {
    Count(&'static str, fn(&Metrics) -> u64),
    Bytes(&'static str, fn(&Metrics) -> u64),
    Nanoseconds(&'static str, fn(&Costs) -> f64),
}

const TOTALS: [Compared; 11] = [
    Compared::Count("allocations", |m| m.allocations),
    Compared::Count("reallocations", |m| m.reallocations),
    Compared::Bytes("bytes allocated", |m| m.bytes_allocated),
    Compared::Bytes("peak", |m| m.peak_bytes),
    Compared::Bytes("live at end", |m| m.live_bytes),
    Compared::Count("temporary", |m| m.temporary),
    Compared::Count("free of null", |m| m.free_null_calls),
    Compared::Count("page faults", faults),
    Compared::Nanoseconds("inside the allocator", |c| c.allocator),
    Compared::Nanoseconds("page faults' time", |c| c.faults),
    Compared::Nanoseconds("mappings and waiting", |c| c.mapping + c.waiting),
];

fn acquired(metrics: &Metrics) -> u64 {
    metrics.allocations + metrics.reallocations
}

fn faults(metrics: &Metrics) -> u64 {
    metrics.faults + metrics.major_faults + metrics.huge_faults + metrics.file_faults
}

impl<'a> Diff<'a> {
    /// Compares two recordings.
    pub fn new(before: &'a Side<'a>, after: &'a Side<'a>, view: &View) -> Self {
        let mut functions = by_function(before, after, view);
        let mut paths = by_path(before, after, view);
        sort(&mut functions, acquired);
        sort(&mut paths, acquired);
        let tariffs = [before, after].map(|side| Tariff::of(side.recording));
        Diff { before, after, tariffs, functions, paths }
    }

    fn totals(&self) -> (&Metrics, &Metrics) {
        (&self.before.sums.total, &self.after.sums.total)
    }

    /// What changed enough to be shown: any call or byte, or a hundredth of all page faults.
    fn split<'b>(&self, changes: &'b [Change]) -> (Vec<&'b Change>, Vec<&'b Change>, Vec<&'b Change>) {
        let (before, after) = self.totals();
        let many_faults = (faults(before).max(faults(after)) / 100).max(10);
        let counts = |change: &&Change| {
            change.difference(acquired) != 0
                || change.difference(|m| m.bytes_allocated) != 0
                || change.difference(faults).unsigned_abs() >= many_faults
        };
        let moved: Vec<&Change> = changes.iter().filter(counts).collect();
        let changed = moved.iter().copied().filter(|c| c.before.is_some() && c.after.is_some()).collect();
        let new = moved.iter().copied().filter(|c| c.before.is_none()).collect();
        let gone = moved.iter().copied().filter(|c| c.after.is_none()).collect();
        (changed, new, gone)
    }

    /// What all of it costs more than before, seconds.
    fn cost_difference(&self, change: &Change) -> f64 {
        let cost =
            |metrics: &Option<Metrics>, tariff: &Tariff| metrics.as_ref().map_or(0.0, |m| tariff.costs(m).total());
        (cost(&change.after, &self.tariffs[1]) - cost(&change.before, &self.tariffs[0])) / 1e9
    }

    /// Before, after, difference, that in percent, and what it is.
    fn total_cells(&self, compared: &Compared) -> [String; 5] {
        let (before, after) = self.totals();
        let percent = |before: f64, after: f64| match before {
            0.0 => String::new(),
            _ => format!("{:+.1} %", (after - before) * 100.0 / before),
        };
        let (name, [before, after, change], share) = match compared {
            Compared::Count(name, metric) => {
                let (b, a) = (metric(before), metric(after));
                let texts = [format::count(b), format::count(a), format::signed_count(a as i64 - b as i64)];
                (name, texts, percent(b as f64, a as f64))
            }
            Compared::Bytes(name, metric) => {
                let (b, a) = (metric(before), metric(after));
                let texts = [format::bytes(b), format::bytes(a), format::signed_bytes(a as i64 - b as i64)];
                (name, texts, percent(b as f64, a as f64))
            }
            Compared::Nanoseconds(name, part) => {
                let [b, a] = [(before, 0), (after, 1)].map(|(m, side)| part(&self.tariffs[side].costs(m)) / 1e9);
                let texts = [format::seconds(b), format::seconds(a), format::signed_seconds(a - b)];
                (name, texts, percent(b, a))
            }
        };
        [before, after, change, share, (*name).to_owned()]
    }

    /// The heading of the column that counts calls.
    fn acquisitions(&self) -> &'static str {
        let (before, after) = self.totals();
        format::acquisitions(before.reallocations + after.reallocations)
    }

    /// For people.
    pub fn text(&self, limit: usize, width: Option<usize>) -> String {
        let mut totals = table::new_table(&["before", "after", "change", "", "total"]);
        for compared in &TOTALS {
            totals.add_row(self.total_cells(compared).map(Cell::new));
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
        let mut rows = table::new_table(&[self.acquisitions(), "bytes", "peak", "cost", "where"]);
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(56).max(30));
        for change in changes.iter().take(limit) {
            let place =
                change.place.as_deref().map(|place| format!(" ({})", names::last_part(place))).unwrap_or_default();
            rows.add_row([
                Cell::new(format::signed_count(change.difference(acquired))),
                Cell::new(format::signed_bytes(change.difference(|m| m.bytes_allocated))),
                Cell::new(format::signed_bytes(change.difference(|m| m.peak_bytes))),
                Cell::new(format::signed_seconds(self.cost_difference(change))),
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
        let mut text = String::from("| | before | after | change | |\n|---|---:|---:|---:|---:|\n");
        for compared in &TOTALS {
            let [b, a, change, share, name] = self.total_cells(compared);
            text.push_str(&format!("| {name} | {b} | {a} | {change} | {share} |\n"));
        }
        let (changed, new, gone) = self.split(&self.functions);
        for (what, list) in [("Changed", changed), ("New", new), ("Gone", gone)] {
            if list.is_empty() {
                continue;
            }
            text.push_str(&format!(
                "\n**{what}**\n\n| {} | bytes | peak | cost | function |\n|---:|---:|---:|---:|---|\n",
                self.acquisitions()
            ));
            for change in list.iter().take(limit) {
                text.push_str(&format!(
                    "| {} | {} | {} | {} | `{}` |\n",
                    format::signed_count(change.difference(acquired)),
                    format::signed_bytes(change.difference(|m| m.bytes_allocated)),
                    format::signed_bytes(change.difference(|m| m.peak_bytes)),
                    format::signed_seconds(self.cost_difference(change)),
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
        let [before_tariff, after_tariff] = &self.tariffs;
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
            before: JsonMetrics::new(before, before_tariff),
            after: JsonMetrics::new(after, after_tariff),
            functions: list(&self.functions, before_tariff, after_tariff),
            paths: list(&self.paths, before_tariff, after_tariff),
        })?;
        Ok(text + "\n")
    }
}
