//! `memtoll fleet roll-up`, `memtoll fleet forget` and `memtoll fleet schema`

use super::parse::{parse_day, parse_name};
use super::{StoreArgument, failed};
use crate::exit::{self, Code};
use crate::output::{ColorChoice, Screen};
use memtoll_fleet::cluster::{tables_of, tables_over};
use memtoll_fleet::day::day;
use memtoll_fleet::open::open;
use memtoll_fleet::rollup::roll_up;
use memtoll_fleet::store::Purpose;
use memtoll_text::format::counted;

/// Add up the runs of whole days, so that questions about many runs take less time
///
/// Run it once a day. Answers are the same, with and without. Runs that are added later count, too: their days are asked
/// for run by run until they are rolled up again.
#[derive(clap::Args)]
pub struct RollUp {
    #[command(flatten)]
    store: StoreArgument,

    /// Roll up the days before this one (UTC), such as 2026-11-01, or at least this long ago, such as 2d
    #[arg(long, value_name = "DAY|AGE", default_value = "0d", value_parser = parse_day)]
    until: i64,

    /// Roll up all days again, with function names found since then
    #[arg(long)]
    again: bool,
}

impl RollUp {
    pub fn run(&self) -> Code {
        let until = day(self.until);
        let rolled =
            open(&self.store.store, Purpose::Ask).and_then(|mut store| roll_up(store.as_mut(), &until, self.again));
        match rolled {
            Ok(days) => {
                exit::say(format!("rolled up {} of services before {until}", counted(days, "day")));
                Code::Done
            }
            Err(error) => failed(&error),
        }
    }
}

/// Remove old runs from a store
///
/// Run it once a day to keep the store fast.
#[derive(clap::Args)]
pub struct Forget {
    #[command(flatten)]
    store: StoreArgument,

    /// Remove the runs that began before this day (UTC), such as 2026-08-01, or longer ago, such as 90d; only whole days
    #[arg(long, value_name = "DAY|AGE", value_parser = parse_day)]
    until: i64,
}

impl Forget {
    pub fn run(&self) -> Code {
        let until = day(self.until);
        match open(&self.store.store, Purpose::Forget).and_then(|mut store| store.forget(&until)) {
            Ok(runs) => {
                exit::say(format!("removed {} that began before {until}", counted(runs, "run")));
                Code::Done
            }
            Err(error) => failed(&error),
        }
    }
}

/// Print the SQL that makes a store in ClickHouse
///
/// memtoll fleet add creates the tables itself. Use this where it lacks the permission, and for clusters: create the tables on
/// each shard, and, in another database on one of them, the tables over all shards.
#[derive(clap::Args)]
pub struct Schema {
    /// The database
    #[arg(value_name = "DATABASE", value_parser = parse_name)]
    database: String,

    /// Make tables over all shards of this cluster, as the server's configuration calls it
    #[arg(long, value_name = "CLUSTER", requires = "of", value_parser = parse_name)]
    cluster: Option<String>,

    /// The database on the shards
    #[arg(long, value_name = "DATABASE", requires = "cluster", value_parser = parse_name)]
    of: Option<String>,
}

impl Schema {
    pub fn run(&self) -> Code {
        let statements = match (&self.cluster, &self.of) {
            (Some(cluster), Some(of)) => tables_over(&self.database, cluster, of),
            _ => tables_of(&self.database),
        };
        let text: String = statements.iter().map(|statement| format!("{statement};\n")).collect();
        Screen::stdout(ColorChoice::Never).print_exactly(&text)
    }
}
