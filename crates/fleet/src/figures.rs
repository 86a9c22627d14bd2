//! What a run has as a whole, and no call stack of it: columns of `runs`.

use crate::error::Error;
use crate::selection::Selection;
use crate::spread::{Base, Values};
use crate::statement::{Select, Sql};
use crate::store::Store;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::{reserved, resident};
use memtoll_check::metric::Metric;
use memtoll_model::Recording;
use memtoll_text::format;

/// The figures, in the order of their columns.
pub const FIGURES: [Metric; 2] = [Metric::ResidentPeak, Metric::Reserved];

/// What a column holds of a run of which the figure is not known.
pub const UNKNOWN: f64 = -1.0;

/// The name of a figure's column.
pub fn column(figure: Metric) -> String {
    format!("{}_bytes", figure.key().replace('-', "_"))
}

/// What a recording says, bytes.
pub fn of(recording: &Recording, whole: &Sums) -> [f64; FIGURES.len()] {
    let resident = resident::together(recording, whole).map(|resident| resident.program);
    let reserved = reserved::of_sums(recording, whole).map(|reserved| reserved.bytes);
    [resident, reserved].map(|bytes| bytes.map_or(UNKNOWN, |bytes| bytes as f64))
}

/// The mean of the runs that know a figure.
pub struct Mean {
    /// How many runs know it.
    pub runs: u64,
    /// With what chance and the runs' spread leave open; of one run, both ends are infinitely far away.
    pub value: Estimate,
}

impl Mean {
    /// Of a store's runs; `None`: none of them knows the figure.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn of(store: &mut dyn Store, selection: &Selection, figure: Metric) -> Result<Option<Mean>, Error> {
        // Rows of `runs` stay when days are rolled up.
        let selection = Selection { rolls: None, ..selection.clone() };
        let mut sql = Sql::text("SELECT count(*), sum(value), sum(value * value) FROM (SELECT min(");
        sql.add(&column(figure)).add(") AS value FROM runs WHERE ").sql(&selection.condition(None));
        sql.add(" GROUP BY run_id").sql(&selection.drawn(store.dialect())).add(") AS r WHERE value >= 0");
        let rows = store.ask(&Select { sql, columns: 3 })?;
        let Some(row) = rows.first().filter(|row| row[0].number() > 0.0) else { return Ok(None) };
        let [runs, sum, squares] = [0, 1, 2].map(|index| row[index].number());
        let base = Base { runs, weights: runs, squares: runs };
        Ok(Some(Mean { runs: runs as u64, value: base.rate(Values { sum, squares, products: sum }) }))
    }
}

/// For people: what a run has as a whole.
///
/// # Errors
/// The store does not answer.
pub fn told(store: &mut dyn Store, selection: &Selection) -> Result<Vec<String>, Error> {
    let mut told = Vec::new();
    for figure in FIGURES {
        if let Some(Mean { runs, value }) = Mean::of(store, selection, figure)? {
            let shown = match value.low.is_finite() {
                true => memtoll_text::format::estimate(figure.unit(), value.value, value.low, value.high),
                false => figure.unit().show(value.value),
            };
            told.push(format!("A run's {}: {shown}, the mean of {}.", figure.name(), format::counted(runs, "run")));
        }
    }
    Ok(told)
}
