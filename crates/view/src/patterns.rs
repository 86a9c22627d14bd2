//! How call sites use memory, as columns: histograms of sizes and lifetimes, both together, growth, threads.

use crate::pack::Pack;
use crate::profile::Sites;
use memtoll_analysis::patterns::RowPattern;
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::histogram::Histogram;
use serde_json::json;

/// Writes the patterns of call sites, numbered as `sites` shows them; those of all others are one's.
pub(crate) fn write(pack: &mut Pack, rows: &[RowPattern], sites: &Sites, tariff: &Tariff) {
    let mut number = vec![sites.shown.len(); rows.len()];
    sites.shown.iter().enumerate().for_each(|(shown, &row)| number[row] = shown);
    let mut all = vec![RowPattern::default(); sites.values.len()];
    for (row, number) in rows.iter().zip(number) {
        if let Some(sum) = all.get_mut(number) {
            sum.sizes.add(&row.sizes);
            sum.lifetimes.add(&row.lifetimes);
            sum.cells.add(&row.cells);
            sum.reallocated.add(&row.reallocated);
            sum.replaced.add(&row.replaced);
            sum.released_elsewhere = sum.released_elsewhere.wrapping_add(row.released_elsewhere);
            // Of several sites, the threads may be the same ones.
            sum.acquiring.count = sum.acquiring.count.max(row.acquiring.count);
            sum.releasing.count = sum.releasing.count.max(row.releasing.count);
        }
    }
    histograms(pack, "sizes", &all, |row| &row.sizes, 1.0);
    histograms(pack, "lifetimes", &all, |row| &row.lifetimes, tariff.ns(1.0));
    cells(pack, &all, tariff.ns(1.0));
    let mut column = |name: &str, of: &dyn Fn(&RowPattern) -> u64| {
        pack.column(name, &all.iter().map(|row| of(row) as f64).collect::<Vec<f64>>());
    };
    column("grown.steps", &|row| row.reallocated.steps.total() + row.replaced.steps.total());
    column("grown.blocks", &|row| row.reallocated.blocks() + row.replaced.blocks());
    column("elsewhere", &|row| row.released_elsewhere);
    column("acquiring", &|row| row.acquiring.count);
    column("releasing", &|row| row.releasing.count);
}

/// The buckets of each site's histogram: the site, lowest and highest value, and how many.
fn histograms(pack: &mut Pack, name: &str, rows: &[RowPattern], of: fn(&RowPattern) -> &Histogram, scale: f64) {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for (site, row) in rows.iter().enumerate() {
        for (low, high, count) in of(row).buckets() {
            let bucket = [site as f64, (low as f64 * scale).round(), (high as f64 * scale).round(), count as f64];
            columns.iter_mut().zip(bucket).for_each(|(column, value)| column.push(value));
        }
    }
    for (column, values) in ["site", "low", "high", "count"].iter().zip(&columns) {
        pack.column(&format!("{name}.{column}"), values);
    }
}

/// Released blocks of each site by size and lifetime: the site, the powers of both, and how many.
fn cells(pack: &mut Pack, rows: &[RowPattern], unit: f64) {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for (site, row) in rows.iter().enumerate() {
        for (size, lifetime, count) in row.cells.iter() {
            let cell = [site as f64, f64::from(size), f64::from(lifetime), count as f64];
            columns.iter_mut().zip(cell).for_each(|(column, value)| column.push(value));
        }
    }
    for (column, values) in ["site", "size", "lifetime", "count"].iter().zip(&columns) {
        pack.column(&format!("cells.{column}"), values);
    }
    pack.set("cells.unit", json!(unit));
}
