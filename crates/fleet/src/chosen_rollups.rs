//! Roll-ups that stand for runs, see [`crate::rollup`].

use crate::identity::Key;
use crate::sql::Sql;
use std::collections::BTreeSet;

/// The roll-ups that stand for a part of the runs that are asked for.
#[derive(Clone, Debug, Default)]
pub struct Rolls {
    pub keys: Vec<Key>,
    /// The days of the other runs.
    pub days: BTreeSet<String>,
}

impl Rolls {
    /// Whether there are runs that they do not stand for.
    pub fn leave_runs(&self) -> bool {
        !self.days.is_empty()
    }

    /// Their keys, as SQL lists them.
    pub fn listed(&self) -> String {
        self.keys.iter().map(Key::to_string).collect::<Vec<_>>().join(", ")
    }

    /// The condition on runs that they do not stand for.
    pub fn others(&self) -> Sql {
        Sql::text(&format!(
            " AND (day, service) NOT IN (SELECT day, service FROM rolls WHERE roll IN ({}))",
            self.listed()
        ))
    }

    /// The condition on rows of these runs that makes an engine read no others.
    pub fn days(&self) -> Sql {
        let mut sql = Sql::text(" AND day IN (");
        for (number, day) in self.days.iter().enumerate() {
            sql.add(if number > 0 { ", " } else { "" }).bind(day);
        }
        sql.add(")");
        sql
    }
}
