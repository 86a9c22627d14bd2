//! Which runs and which of their stacks are asked for.

use crate::chosen_rollups::Rolls;
use crate::columns::seen;
use crate::day::day;
use crate::dialect::Dialect;
use crate::run::{HOST, SERVICE};
use crate::sql::Sql;
use memtoll_analysis::metric::Metric;
use regex::Regex;

/// 2100-01-01.
const LAST_DAY_NS: i64 = 47_482 * 86_400_000_000_000;

/// A part of a store.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Labels that runs must have.
    pub labels: Vec<(String, String)>,
    /// Only runs that began at this time or later: ns since 1970.
    pub since_ns: Option<i64>,
    /// Only runs that began before this time.
    pub until_ns: Option<i64>,
    /// Only processes of these programs. Empty: all.
    pub processes: Vec<String>,
    /// Only call stacks with a function or module that matches.
    pub filter: Option<Regex>,
    /// The most runs, drawn by chance, but always the same ones. `None`: all.
    pub sample: Option<u64>,
    /// What stands for a part of the runs; the statements then ask only the others. `None`: nothing.
    pub rolls: Option<Rolls>,
}

impl Selection {
    /// With further labels.
    pub fn with(&self, labels: &[(String, String)]) -> Selection {
        let mut all = self.clone();
        all.labels.extend_from_slice(labels);
        all
    }

    /// Whether parts of runs count only.
    pub fn has_parts(&self) -> bool {
        self.filter.is_some() || !self.processes.is_empty()
    }

    /// The condition on runs of which a metric is known. `run`: how the table calls them.
    pub fn condition(&self, metric: Option<Metric>) -> Sql {
        let mut sql = Sql::text("1 = 1");
        for (name, value) in &self.labels {
            match name.as_str() {
                SERVICE | HOST => sql.add(" AND ").add(name).add(" = ").bind(value),
                _ => sql
                    .add(" AND upload IN (SELECT run FROM labels WHERE name = ")
                    .bind(name)
                    .add(" AND value = ")
                    .bind(value)
                    .add(")"),
            };
        }
        if let Some(since) = self.since_ns {
            sql.add(" AND start_ns >= ").number(since);
        }
        if let Some(until) = self.until_ns {
            sql.add(" AND start_ns < ").number(until);
        }
        if let Some(seen) = metric.and_then(seen) {
            sql.add(" AND ").add(seen).add(" = 1");
        }
        if let Some(rolls) = &self.rolls {
            sql.sql(&rolls.others());
        }
        sql
    }

    /// The condition on rows that belong to runs, in a store whose tables have days and services: with it, the engine reads
    /// no others.
    pub fn parts(&self) -> Sql {
        // The runs decide; days beyond those that an engine has are left to them.
        let day = |ns: i64| day(ns.min(LAST_DAY_NS));
        let mut sql = Sql::default();
        for (_, value) in self.labels.iter().filter(|(name, _)| name == SERVICE) {
            sql.add(" AND service = ").bind(value);
        }
        if let Some(since) = self.since_ns {
            sql.add(" AND day >= ").bind(&day(since));
        }
        if let Some(until) = self.until_ns {
            sql.add(" AND day <= ").bind(&day(until));
        }
        if let Some(rolls) = &self.rolls {
            sql.sql(&rolls.days());
        }
        sql
    }

    /// What ends a statement that gives runs.
    pub fn drawn(&self, dialect: &Dialect) -> Sql {
        let mut sql = Sql::default();
        if let Some(sample) = self.sample {
            sql.add(&format!(" ORDER BY {} LIMIT ", dialect.random)).number(sample as i64);
        }
        sql
    }

    /// For people: `service=git, version=1.5`.
    pub fn shown(&self) -> String {
        let labels: Vec<String> = self.labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if labels.is_empty() { "all runs".to_owned() } else { labels.join(", ") }
    }
}
