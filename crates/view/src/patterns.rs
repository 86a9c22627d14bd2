//! How call sites use memory, as columns: histograms of sizes and lifetimes, both together, growth, threads.

use crate::pack::Pack;
use crate::packs::{HistogramColumns, PatternColumns, PatternsPack, SizeLifetimeColumns};
use crate::profile::Sites;
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_analysis::patterns::{Patterns, RowPattern, patterns};
use memtoll_trace::cells::Cells;
use memtoll_trace::histogram::Histogram;

impl Recordings<'_> {
    /// How the call sites of a profile use memory, in the order in which it shows them.
    pub(crate) fn patterns(&self, selected: &Selected, sites: &Sites) -> Pack {
        self.patterns_of(&self.all_patterns(selected), sites)
    }

    /// How all call sites use memory.
    pub(crate) fn all_patterns(&self, selected: &Selected) -> Patterns {
        let mut patterns = patterns(&mut self.stacks(&selected.view), &selected.sums, &selected.rows);
        if !self.recording().sees_frees() {
            patterns.rows.iter_mut().for_each(|row| {
                (row.lifetimes, row.cells, row.released_elsewhere) = (Histogram::default(), Cells::default(), 0);
            });
        }
        patterns
    }

    /// Those of the call sites that are shown, and of the others together.
    pub(crate) fn patterns_of(&self, patterns: &Patterns, sites: &Sites) -> Pack {
        let all = together(&patterns.rows, sites);
        let unit = self.tariff.ns(1.0);
        let mut pack = Pack::new(&PatternsPack { damage: patterns.damage.clone(), cell_unit: unit });
        pack.columns("sizes", &histograms(&all, |row| &row.sizes, 1.0));
        pack.columns("lifetimes", &histograms(&all, |row| &row.lifetimes, unit));
        pack.columns("cells", &cells(&all));
        let column = |of: &dyn Fn(&RowPattern) -> u64| all.iter().map(|row| of(row) as f64).collect::<Vec<f64>>();
        pack.columns(
            "rows",
            &PatternColumns {
                grown_steps: column(&|row| row.reallocated.steps.total() + row.replaced.steps.total()),
                grown_blocks: column(&|row| row.reallocated.blocks() + row.replaced.blocks()),
                elsewhere: column(&|row| row.released_elsewhere),
                acquiring: column(&|row| row.acquiring.count),
            },
        );
        pack
    }
}

/// The patterns of call sites, numbered as `sites` shows them; those of all others are one's.
fn together(rows: &[RowPattern], sites: &Sites) -> Vec<RowPattern> {
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
        }
    }
    all
}

/// The buckets of each site's histogram.
fn histograms(rows: &[RowPattern], of: fn(&RowPattern) -> &Histogram, scale: f64) -> HistogramColumns {
    let mut columns = HistogramColumns::default();
    for (site, row) in rows.iter().enumerate() {
        for (low, high, count) in of(row).buckets() {
            columns.site.push(site as f64);
            columns.low.push((low as f64 * scale).round());
            columns.high.push((high as f64 * scale).round());
            columns.count.push(count as f64);
        }
    }
    columns
}

/// Released blocks of each site by size and lifetime.
fn cells(rows: &[RowPattern]) -> SizeLifetimeColumns {
    let mut columns = SizeLifetimeColumns::default();
    for (site, row) in rows.iter().enumerate() {
        for (size, lifetime, count) in row.cells.iter() {
            columns.site.push(site as f64);
            columns.size.push(f64::from(size));
            columns.lifetime.push(f64::from(lifetime));
            columns.count.push(count as f64);
        }
    }
    columns
}
