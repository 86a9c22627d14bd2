//! The tables of a ClickHouse server as statements: those that hold rows, and those that spread rows over the shards of a
//! cluster.

use crate::dialect::CLICKHOUSE;
use crate::schema::{VERSION, tables};

/// The table that says which schema a database has.
pub(crate) const SCHEMA: &str = "memtoll_schema";

/// Whether a text may be the name of a database or a cluster.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Makes a database with the tables of a store. The last statement says that all are there.
pub fn tables_of(database: &str) -> Vec<String> {
    let mut all = vec![
        format!("CREATE DATABASE IF NOT EXISTS {database}"),
        format!("CREATE TABLE IF NOT EXISTS {database}.{SCHEMA} (version Int64) ENGINE = MergeTree ORDER BY (version)"),
    ];
    all.extend(tables(&CLICKHOUSE).iter().map(|table| table.declaration(&CLICKHOUSE, Some(database))));
    all.push(format!("INSERT INTO {database}.{SCHEMA} VALUES ({VERSION})"));
    all
}

/// Makes a database whose tables stand for those of the database `of` on all shards of a cluster.
pub fn tables_over(database: &str, cluster: &str, of: &str) -> Vec<String> {
    let spread = |table: &str, key: &str| {
        format!(
            "CREATE TABLE IF NOT EXISTS {database}.{table} AS {of}.{table} ENGINE = \
             Distributed({cluster}, {of}, {table}, cityHash64({key}))"
        )
    };
    let mut all = vec![format!("CREATE DATABASE IF NOT EXISTS {database}")];
    all.extend(tables(&CLICKHOUSE).iter().map(|table| spread(table.name, table.shard)));
    all.push(spread(SCHEMA, "version"));
    all
}
