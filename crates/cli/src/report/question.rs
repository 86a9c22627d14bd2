//! What the options of `memtoll report` ask.

use super::{Arguments, Format};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::tree::{By, Direction};
use memtoll_model::Recording;
use memtoll_query::query::{Query, TreeQuery, View};
use memtoll_report::{lanes, page_chart};

/// Intervals of lanes for scripts.
const INTERVALS: usize = 500;

impl Arguments {
    /// The question. `width`: columns of the terminal, if there is one.
    pub(super) fn query(&self, recording: &Recording, width: Option<usize>) -> Result<Query, &'static str> {
        let asked = self.view(recording, width)?;
        let is_of_pages = matches!(asked, View::Resident { .. }) || self.metric.is_some_and(Metric::is_of_pages);
        if self.selection.is_at_look() && !is_of_pages {
            return Err(
                "--at with anything but a time goes with --resident, or with --metric resident, never-touched, slack or pinned: \
                        expected a time such as 1.25s",
            );
        }
        let (view, is_all) = match self.format {
            Format::Text => (asked, false),
            Format::Export(export) => (export.view(asked)?, export.has_details()),
        };
        let of_sums = matches!(view, View::Totals | View::Table { .. });
        Ok(Query {
            findings: of_sums && (is_all || matches!(view, View::Totals)),
            patterns: is_all,
            details: of_sums && is_all,
            ..self.selection.query(view, self.metric)
        })
    }

    /// What is to be shown, whatever the format. `Totals` is the summary.
    fn view(&self, recording: &Recording, width: Option<usize>) -> Result<View, &'static str> {
        let shape = &self.shape;
        let by = match self.group {
            Some(GroupBy::Module) => Ok(Some(By::Module)),
            Some(GroupBy::Type) => Ok(Some(By::Type)),
            None => Ok(None),
            Some(_) => Err("call trees are sorted by module or by type: expected --group module or --group type"),
        };
        let tree = |direction| {
            let whole = TreeQuery::whole(direction);
            Ok(View::Tree(TreeQuery { min_percent: self.min_percent, by: by?, ..whole }))
        };
        let is_table = shape.flat || self.group.is_some() || self.metric.is_some() || self.selection.paid;
        if shape.tree {
            return tree(Direction::Callees);
        }
        if shape.callers {
            return tree(Direction::Callers);
        }
        Ok(match shape.list {
            Some(what) => View::List { of: what },
            None if shape.lanes => View::Lanes {
                intervals: match self.format {
                    Format::Text => lanes::intervals(recording, width),
                    Format::Export(_) => INTERVALS,
                },
            },
            None if shape.regions => View::Regions,
            None if shape.recorder => View::Recorder,
            None if shape.grown => View::Grown,
            None if shape.resident => View::Resident {
                at: self.selection.instant(),
                cells: if self.chart.is_some() { page_chart::CELLS } else { 0 },
            },
            None if is_table || matches!(self.format, Format::Export(_)) && self.limit.is_some() => {
                View::Table { group: self.group.unwrap_or(GroupBy::Site), limit: self.rows() }
            }
            None => View::Totals,
        })
    }

    /// The most rows; exports have all of them.
    fn rows(&self) -> Option<usize> {
        /// Of a table for people.
        const ROWS: usize = 40;
        self.limit.or(matches!(self.format, Format::Text).then_some(ROWS))
    }
}
