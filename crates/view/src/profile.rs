//! A selection: its sums, its balance, findings, and call sites.

use crate::engine::{Engine, Found};
use crate::frames::FrameTable;
use crate::metrics::{self, COUNT, Values};
use crate::pack::Pack;
use crate::tree::{Tree, largest, write_values};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::sites::Row;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::{reserved, resident};
use rustc_hash::FxHashSet;
use serde_json::{Value, json};

/// Call sites that are shown.
pub(crate) struct Sites {
    /// Their indices among all rows.
    pub(crate) shown: Vec<usize>,
    /// Their numbers, and those of all others together, if there are others.
    pub(crate) values: Vec<Values>,
    /// How many others there are.
    pub(crate) others: usize,
}

impl Engine<'_> {
    /// What is not a column: totals, the balance, findings.
    pub(crate) fn describe(&self, found: &Found, pack: &mut Pack) {
        pack.set("totals", self.totals(found));
        pack.set("balance", self.balance(&found.sums));
        pack.set("memory", self.resident(&found.sums));
        pack.set("findings", found.findings.clone());
        pack.set("wrappers", found.wrappers.clone());
        pack.set("damage", json!(found.sums.damage));
    }

    /// All sums together: the number of each metric, and the interval of those that have one.
    fn totals(&self, found: &Found) -> Value {
        let total = &found.sums.total;
        let tariff = self.tariff();
        let numbers = metrics::values(total);
        let interval = |estimate: Estimate| json!([estimate.low, estimate.high]);
        let values: serde_json::Map<String, Value> =
            metrics::names().zip(numbers).map(|(name, value)| (name.to_owned(), json!(value))).collect();
        json!({
            "values": values,
            "intervals": {
                "cost": interval(tariff.estimates(total).total()),
                "allocator": interval(tariff.allocator(total)),
                "fault-time": interval(tariff.faults_of(total)),
                "mapping": interval(tariff.mapping(total)),
            },
            "processes": found.sums.counted().count(),
        })
    }

    /// The resident set and what is only reserved, bytes each; null: not known, as of a part of the time.
    fn resident(&self, sums: &Sums) -> Value {
        let resident = resident::together(self.recording(), sums);
        let reserved = reserved::of_sums(self.recording(), sums);
        json!({
            "resident": resident.map(|of| json!({ "bytes": of.program, "error": of.error })),
            "at_end": resident.and_then(|of| of.at_end).map(|of| json!({ "bytes": of.bytes, "error": of.error })),
            "reserved": reserved.map(|of| json!({ "bytes": of.bytes, "error": of.error })),
        })
    }

    /// Where the program's processor time went, ns each; null: not known. Parts and rest are `processor_ns` together, and the
    /// recorder's time is beside it.
    fn balance(&self, sums: &Sums) -> Value {
        let balance = Balance::of_all(self.recording(), sums);
        let part = |estimate: Estimate| json!({ "ns": estimate.value, "low": estimate.low, "high": estimate.high });
        let share = |factor: f64| part(balance.charged_faults.scaled(factor));
        let zeroing = match balance.costs.faults {
            faults if faults > 0.0 => (balance.costs.zeroing / faults).clamp(0.0, 1.0),
            _ => 0.0,
        };
        let rest = balance.rest().or_else(|| {
            let processor = balance.processor?;
            Some(Estimate::exact(processor).minus(balance.explained()))
        });
        json!({
            "processor_ns": balance.program().map(|program| program.value),
            "plain": balance.plain.map(part),
            "allocator": part(balance.allocator),
            "faults": share(1.0 - zeroing),
            "zeroing": share(zeroing),
            "mapping": part(balance.mapping),
            "other_faults": part(balance.other_faults),
            "recorder": balance.recorder.map(part),
            "rest": rest.map(part),
            "waiting_ns": self.tariff().sees().switches.then_some(balance.costs.waiting),
            "reading_ns": self.tariff().sees().switches.then_some(balance.costs.reading),
            "sees_faults": self.tariff().sees().faults,
        })
    }

    /// The numbers of the call sites that are shown one by one, and of the others together, if there are any.
    pub(crate) fn sites<'r>(&self, rows: impl Iterator<Item = &'r Row>, most: usize) -> Sites {
        let all: Vec<Values> = rows.map(|row| metrics::values(&row.metrics)).collect();
        let shown = largest(&all, most);
        let is_shown: FxHashSet<usize> = shown.iter().copied().collect();
        let mut others = [0; COUNT];
        for (_, values) in all.iter().enumerate().filter(|(index, _)| !is_shown.contains(index)) {
            others.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        let count = all.len() - shown.len();
        let mut values: Vec<Values> = shown.iter().map(|&index| all[index]).collect();
        values.extend((count > 0).then_some(others));
        Sites { shown, values, others: count }
    }

    /// The columns of call sites and of the tree, if there is one, with the names of their frames.
    pub(crate) fn write(&self, pack: &mut Pack, tree: Option<&Tree>, rows: &[Row], sites: &Sites) {
        let mut frames = FrameTable::default();
        if let Some(tree) = tree {
            tree.write(pack, |frame| frames.number(frame));
        }
        let shown = || sites.shown.iter().map(|&index| &rows[index]);
        let mut types: Vec<&str> = shown().filter_map(|row| row.type_name.as_deref()).collect();
        types.sort_unstable();
        types.dedup();
        let column = |of: &mut dyn FnMut(&Row) -> f64| {
            let others = std::iter::repeat_n(0.0, usize::from(sites.others > 0));
            shown().map(of).chain(others).collect::<Vec<f64>>()
        };
        let type_of = |row: &Row| row.type_name.as_deref().and_then(|name| types.binary_search(&name).ok());
        pack.column("sites.frame", &column(&mut |row| row.frame.map_or(0.0, |id| f64::from(frames.number(id)) + 1.0)));
        pack.column("sites.type", &column(&mut |row| type_of(row).map_or(0.0, |number| number as f64 + 1.0)));
        pack.column("sites.inlined", &column(&mut |row| row.inlined.len() as f64));
        let inlined =
            shown().flat_map(|row| &row.inlined).map(|&id| f64::from(frames.number(id))).collect::<Vec<f64>>();
        pack.column("sites.inlined_frames", &inlined);
        pack.column("sites.element", &column(&mut |row| row.element.map_or(0.0, |element| element.size as f64)));
        let elements = |row: &Row| memtoll_analysis::elements::elements(row).map_or(0.0, |elements| elements as f64);
        pack.column("sites.elements", &column(&mut |row| elements(row)));
        write_values(pack, "sites", &sites.values);
        pack.set("types", json!(types));
        pack.set("site_others", json!(sites.others));
        frames.write(self.recording(), "", pack);
    }
}
