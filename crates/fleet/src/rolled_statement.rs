//! The SQL of what roll-ups say.

use crate::chosen_rollups::Rolls;
use crate::columns::name;
use crate::grouping::{Buckets, By, Per, Runs, Sites};
use crate::run::{SERVICE, VERSION};
use crate::schema::rolled_names;
use crate::sql::Sql;

/// Which rows of a roll-up have the sums.
pub fn kind(by: By) -> Option<u32> {
    match by {
        By::All | By::Service => Some(0),
        By::Function => Some(1),
        By::FunctionWithCallees => Some(2),
        By::Name => Some(3),
        By::NameWithCallees => Some(4),
        By::Line | By::Module | By::Process | By::Host => None,
    }
}

impl Rolls {
    /// The condition on their rows.
    fn condition(&self, runs: &Runs) -> Sql {
        let mut sql = Sql::text(&format!("roll IN ({})", self.listed()));
        for (label, value) in &runs.selection.labels {
            let column = if label == SERVICE { " AND service = " } else { " AND is_versioned = 1 AND version = " };
            sql.add(column).bind(value);
        }
        if let Some(seen) = crate::columns::seen(runs.metric) {
            sql.add(&format!(" AND {seen} = 1"));
        }
        if *runs.per == Per::Cpu {
            sql.add(" AND has_cpu = 1");
        }
        if let Some(Buckets::Label(VERSION)) = runs.buckets {
            sql.add(" AND is_versioned = 1");
        }
        sql
    }

    /// What rows are grouped by.
    fn bucket(runs: &Runs) -> Option<&'static str> {
        runs.buckets.map(|buckets| match buckets {
            Buckets::Day => "day",
            Buckets::Label(VERSION) => "version",
            Buckets::Label(_) => "service",
        })
    }

    /// As [`crate::statement::base`] has it of the other runs.
    pub fn base(&self, runs: &Runs) -> Sql {
        let (weights, squares) = match runs.per {
            Per::Cpu => ("sum(cpu_s)", "sum(cpu_s_squares)"),
            _ => ("sum(number) * 1.0", "sum(number) * 1.0"),
        };
        let bucket = Rolls::bucket(runs).unwrap_or("''");
        let mut sql = Sql::text(&format!(
            "SELECT {bucket} AS k, sum(number) AS p0, {weights} AS p1, {squares} AS p2, min(first_ns) AS p3 FROM \
             rolled_runs WHERE "
        ));
        sql.sql(&self.condition(runs)).add(" GROUP BY k");
        sql
    }

    fn sums(&self, sites: &Sites, runs: &Runs, values: &[String]) -> Sql {
        let key = match (Rolls::bucket(runs), sites.by) {
            (Some(bucket), _) => bucket,
            (None, By::Service) => "service",
            (None, By::All) => "''",
            (None, _) => "function",
        };
        let values: Vec<String> = values.iter().enumerate().map(|(n, value)| format!("{value} AS p{n}")).collect();
        let mut sql = Sql::text(&format!("SELECT {key} AS k, {} FROM rolled_sums WHERE ", values.join(", ")));
        sql.add(&format!("kind = {} AND ", kind(sites.by).unwrap_or_default()));
        sql.sql(&self.condition(runs)).add(" GROUP BY k");
        sql
    }

    /// As [`Sites::totals`] has it of the other runs.
    pub fn totals(&self, sites: &Sites) -> Sql {
        let runs = Runs { selection: sites.selection, metric: sites.metrics[0], per: sites.per, buckets: None };
        let sums: Vec<String> = sites.metrics.iter().map(|metric| format!("sum({})", name(*metric))).collect();
        self.sums(sites, &runs, &sums)
    }

    /// As [`Sites::spreads`] has it of the other runs.
    pub fn spreads(&self, sites: &Sites, runs: &Runs) -> Sql {
        let [sum, squares, by_cpu] = rolled_names(sites.metrics[0]).map(|name| format!("sum({name})"));
        let products = if *runs.per == Per::Cpu { by_cpu } else { format!("{sum} * 1.0") };
        self.sums(sites, runs, &[sum, squares, products])
    }
}
