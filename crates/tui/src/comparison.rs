//! What changed between two recordings, or between two spans of one.

use memtoll_analysis::diff::{Change, Quantity, Values};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::titles::Titles;
use memtoll_query::comparison::{Answers, Comparison, Side};
use memtoll_query::{Impossible, Query, Session};
use memtoll_text::visible;
use std::slice::from_ref;

/// What is compared. Of two recordings, `before` is asked of the first one.
#[derive(Clone, PartialEq, Debug)]
pub struct Sides {
    pub before: Query,
    pub after: Query,
    pub group: GroupBy,
}

/// A row of both sides.
pub struct Row {
    pub name: String,
    pub values: Values,
}

/// All rows, what changed most first; they add up to `whole`, with what is `elsewhere`.
pub struct Compared {
    pub rows: Vec<Row>,
    pub elsewhere: Values,
    /// Why that is so.
    pub why_elsewhere: &'static str,
    pub whole: Values,
    pub titles: Titles,
    known: Vec<Quantity>,
}

impl Compared {
    /// `before`: the recording before; `None`: both sides are of one.
    pub fn of<'r>(sides: &Sides, before: Option<&Session<'r>>, after: &Session<'r>) -> Result<Compared, Impossible> {
        let side = |session, query: &Query| Side { sessions: from_ref(session), query: query.clone() };
        let answers = Answers::ask([side(before.unwrap_or(after), &sides.before), side(after, &sides.after)])?;
        let comparison = Comparison::new(&answers, sides.group);
        let changes = || comparison.changes.iter().chain(&comparison.within_noise);
        let names = comparison.names(changes());
        let row = |(change, name): (&Change, String)| Row { name: visible(&name), values: change.values.clone() };
        let rows = changes().zip(names).map(row).collect();
        let known = comparison.quantities().collect();
        let titles = comparison.titles();
        let why_elsewhere = match comparison.is_filtered {
            true => "call stacks that do not match, and peaks of processes at different times",
            false => "processes reach their peaks at different times",
        };
        Ok(Compared { rows, elsewhere: comparison.elsewhere, why_elsewhere, whole: comparison.whole, titles, known })
    }

    /// The metric, if it is compared and known on both sides.
    pub fn quantity(&self, metric: Metric) -> Option<Quantity> {
        self.known.iter().copied().find(|quantity| quantity.metric() == metric)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_model::Recording;
    use memtoll_query::View;
    use std::path::Path;

    #[test]
    fn rows_and_what_is_elsewhere_are_the_whole() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden");
        let all = ["tiny", "forks", "costs"]
            .map(|name| Recording::open(&golden.join(name).with_extension("memtoll")).unwrap());
        let mut compared = 0;
        for (before, after) in [(0, 1), (1, 2), (2, 0)] {
            let sessions = Session::of_all([&all[before], &all[after]]);
            for group in [GroupBy::Site, GroupBy::Function] {
                let whole = || Query::of(View::Totals);
                let sides = Sides { before: whole(), after: whole(), group };
                let found = Compared::of(&sides, Some(&sessions[0]), &sessions[1]).unwrap();
                for &quantity in &found.known {
                    let parts = found.rows.iter().map(|row| &row.values).chain([&found.elsewhere]);
                    let sum = parts.fold([0.0; 2], |sum, part| {
                        let [before, after] = part.of(quantity).means();
                        [sum[0] + before, sum[1] + after]
                    });
                    // Sums of times are not exact to the last bit.
                    let whole = found.whole.of(quantity).means();
                    assert!(
                        (0..2).all(|side| (sum[side] - whole[side]).abs() <= 1e-9 * whole[side].abs()),
                        "{:?}",
                        quantity.metric()
                    );
                    compared += usize::from(sum[0] > 0.0 && sum[1] > 0.0);
                }
            }
        }
        assert!(compared >= 12, "{compared}");
    }
}
