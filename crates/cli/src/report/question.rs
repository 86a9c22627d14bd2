//! What the options of `memtoll report` ask.

use super::{Arguments, Format, Group};
use memtoll_analysis::tree::Direction;
use memtoll_model::Recording;
use memtoll_query::query::{Query, TreeQuery, View, When};
use memtoll_report::lanes;
use regex::Regex;

/// Intervals of lanes for scripts.
const INTERVALS: usize = 500;

/// Seconds from `1.25s`, `300ms`, `15us`, or a plain number of seconds.
pub fn parse_time(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0), ("", 1.0)];
    let value = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    value.ok_or_else(|| format!("expected a time such as 1.25s, 300ms or 15us, found \"{text}\""))
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl Arguments {
    /// The question. `width`: columns of the terminal, if there is one.
    pub(super) fn query(&self, recording: &Recording, width: Option<usize>) -> Result<Query, &'static str> {
        let asked = self.view(recording, width);
        let (view, is_all) = match self.format {
            Format::Text => (asked, false),
            Format::Export(export) => (export.view(asked)?, export.has_details()),
        };
        let of_sums = matches!(view, View::Totals | View::Table { .. });
        let pattern = |regex: &Option<Regex>| regex.as_ref().map(|regex| regex.as_str().to_owned());
        Ok(Query {
            when: self.when(),
            processes: self.process.clone(),
            threads: self.thread.clone(),
            filter: pattern(&self.stacks.filter),
            fold: pattern(&self.stacks.fold),
            unfold: self.stacks.unfold,
            min_size: self.min_size,
            max_size: self.max_size,
            paid: self.paid,
            metric: self.sort,
            findings: of_sums && (is_all || matches!(view, View::Totals)),
            patterns: is_all,
            details: of_sums && is_all,
            view,
        })
    }

    fn when(&self) -> When {
        match (self.at, self.between_marks.as_deref()) {
            (Some(at), _) => When::At { ns: ns(at) },
            (_, Some([from, to])) => When::Marks { from: from.clone(), to: to.clone() },
            _ if self.from.is_none() && self.to.is_none() => When::All,
            _ => When::Span { from_ns: self.from.map(ns), to_ns: self.to.map(ns) },
        }
    }

    /// What is to be shown, whatever the format. `Totals` is the summary.
    fn view(&self, recording: &Recording, width: Option<usize>) -> View {
        let shape = &self.shape;
        let tree = |direction| View::Tree(TreeQuery { min_percent: self.min_percent, ..TreeQuery::whole(direction) });
        let is_table = shape.flat || self.group.is_some() || self.sort.is_some() || self.paid;
        match shape.list {
            Some(what) => View::List { of: what.into() },
            None if shape.tree => tree(Direction::Callees),
            None if shape.callers => tree(Direction::Callers),
            None if shape.lanes => View::Lanes {
                intervals: match self.format {
                    Format::Text => lanes::intervals(recording, width),
                    Format::Export(_) => INTERVALS,
                },
            },
            None if shape.regions => View::Regions,
            None if shape.recorder => View::Recorder,
            None if is_table || matches!(self.format, Format::Export(_)) && self.limit.is_some() => {
                View::Table { group: self.group.unwrap_or(Group::Site).into(), limit: self.rows() }
            }
            None => View::Totals,
        }
    }

    /// So many rows at the most; exports have all of them.
    fn rows(&self) -> Option<usize> {
        /// Of a table for people.
        const ROWS: usize = 40;
        self.limit.or(matches!(self.format, Format::Text).then_some(ROWS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1.25s"), Ok(1.25));
        assert_eq!(parse_time("300ms"), Ok(0.3));
        assert_eq!(parse_time("2"), Ok(2.0));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
    }
}
