//! Figures of whole runs, as means over a store.

use crate::error::Error;
use crate::run_figures::FIGURES;
use crate::selection::Selection;
use crate::spread::{Base, Values};
use crate::sql::{Select, Sql};
use crate::store::Store;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::Figure;
use memtoll_text::format;

/// The mean of the runs that know a figure.
pub struct Mean {
    /// How many runs know it.
    pub runs: u64,
    /// With what chance and the runs' spread leave open; of one run, both ends are infinitely far away.
    pub value: Estimate,
}

impl Mean {
    /// Of a store's runs; `None`: none of them knows the figure.
    pub fn of(store: &mut dyn Store, selection: &Selection, figure: Figure) -> Result<Option<Mean>, Error> {
        // Rows of `runs` stay when days are rolled up.
        let selection = Selection { rolls: None, ..selection.clone() };
        let mut sql = Sql::text("SELECT count(*), sum(value), sum(value * value) FROM (SELECT min(");
        sql.add(figure.about().key).add(") AS value FROM runs WHERE ").sql(&selection.condition(None));
        sql.add(" GROUP BY run_id").sql(&selection.drawn(store.dialect())).add(") AS r WHERE value >= 0");
        let rows = store.ask(&Select { sql, columns: 3 })?;
        let Some(row) = rows.first().filter(|row| row[0].number() > 0.0) else { return Ok(None) };
        let [runs, sum, squares] = [0, 1, 2].map(|index| row[index].number());
        let base = Base { runs, weights: runs, squares: runs };
        Ok(Some(Mean { runs: runs as u64, value: base.rate(Values { sum, squares, products: sum }) }))
    }
}

/// For people: what a run has as a whole.
pub fn told(store: &mut dyn Store, selection: &Selection) -> Result<Vec<String>, Error> {
    let mut told = Vec::new();
    for figure in FIGURES {
        if let Some(Mean { runs, value }) = Mean::of(store, selection, figure)? {
            let shown = match value.low.is_finite() {
                true => format::estimate(figure.about().unit, value.value, value.low, value.high),
                false => figure.about().unit.show(value.value),
            };
            told.push(format!(
                "A run's {}: {shown}, the mean of {}.",
                figure.about().title,
                format::counted(runs, "run")
            ));
        }
    }
    Ok(told)
}
