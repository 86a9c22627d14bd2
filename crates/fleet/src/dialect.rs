//! Where SQLite and ClickHouse differ. All statements are written once, with the words that stand here.

use crate::layout::{Kind, Table};

/// The words of an engine.
#[derive(Debug)]
pub struct Dialect {
    /// Joins two tables, each row with all that fit.
    pub join: &'static str,
    /// Joins two tables, each row of the first one with one that fits, or with nothing.
    pub join_if: &'static str,
    /// Behind the name of a table whose rows may stand there twice until the engine finds time to merge them.
    pub merged: &'static str,
    /// Each stack with each of its functions that reports show, of the stacks that meet a condition.
    pub callers: fn(condition: &str) -> String,
    /// The stacks that have one of these functions, whether reports show it or not.
    pub holding: fn(functions: &str) -> String,
    /// What stands before and behind rows with a `stack` and a `service`, so that they get the function and the frame that lead
    /// the stack (`site`, `site_frame`): the first that the service does not fold, if there is one. `kept`: their other columns,
    /// which stay; `folded`: services with the functions that they fold; `condition`: on the stacks.
    pub led: fn(kept: &str, folded: &str, condition: &str) -> [String; 2],
    /// The rows of call stacks, with the service.
    pub sites_of_services: &'static str,
    /// The type of a column.
    pub column: fn(Kind) -> &'static str,
    /// What ends the declaration of a table: by day and service, or by its key.
    pub end: fn(&Table) -> String,
    /// A value of runs that chance gave them. Where it can be, it is one by which their rows are sorted.
    pub random: &'static str,
    /// A run as a text that is in the order of runs.
    pub run_text: fn(&str) -> String,
    /// A run of which the text is known.
    pub run_value: fn(&str) -> String,
    /// Whether the engine keeps the columns that only large stores need.
    pub is_partitioned: bool,
}

/// SQLite, in one file.
pub const SQLITE: Dialect = Dialect {
    join: "JOIN",
    join_if: "LEFT JOIN",
    merged: "",
    callers: |condition| {
        let condition = if condition.is_empty() { " WHERE" } else { &format!("{condition} AND") };
        format!("SELECT stack, function FROM callers{condition} is_hidden = 0")
    },
    holding: |functions| format!("SELECT stack FROM callers WHERE function IN ({functions})"),
    led: |kept, folded, condition| {
        let first = |of: &str, or: &str| {
            format!(
                "CASE WHEN (service, site) IN ({folded}) THEN coalesce((SELECT {of} FROM callers WHERE callers.stack = \
                 s.stack AND is_hidden = 0 AND (r.service, function) NOT IN ({folded}) ORDER BY depth LIMIT 1), {or}) \
                 ELSE {or} END AS {or}"
            )
        };
        [
            format!("SELECT {kept}, {}, {} FROM (", first("function", "site"), first("frame", "site_frame")),
            format!(") AS r JOIN (SELECT stack, site, site_frame FROM stacks{condition}) AS s USING (stack)"),
        ]
    },
    sites_of_services: "sites JOIN (SELECT upload AS run, service FROM runs) AS o USING (run)",
    column: |kind| match kind {
        Kind::Run | Kind::Stack | Kind::Key | Kind::Time | Kind::Count | Kind::Small => "INTEGER NOT NULL",
        Kind::Id | Kind::Keys => "BLOB NOT NULL",
        Kind::Text | Kind::Day => "TEXT NOT NULL",
        Kind::Number => "REAL NOT NULL",
    },
    end: |table| {
        // A whole number as the key is the row's own number; rows with other keys stand in their order.
        let is_number = |name| table.columns.iter().any(|column| column.name == name && column.kind != Kind::Id);
        let place = if matches!(table.key[..], [only] if is_number(only)) { "" } else { " WITHOUT ROWID" };
        format!(", PRIMARY KEY ({})){place}", table.key.join(", "))
    },
    random: "run_id",
    run_text: str::to_owned,
    run_value: str::to_owned,
    is_partitioned: false,
};

/// ClickHouse from version 18 on.
pub const CLICKHOUSE: Dialect = Dialect {
    join: "ALL INNER JOIN",
    join_if: "ANY LEFT JOIN",
    merged: " FINAL",
    callers: |condition| {
        let stacks = format!("SELECT stack, functions FROM stacks FINAL{condition}");
        format!("SELECT stack, function FROM ({stacks}) ARRAY JOIN functions AS function")
    },
    holding: |functions| {
        format!(
            "SELECT stack FROM stacks FINAL WHERE arrayExists(f -> f IN ({functions}), arrayConcat(functions, hidden))"
        )
    },
    led: |kept, folded, condition| {
        [
            // Old servers do not find `folded` inside `has` if the function takes one argument.
            format!(
                "SELECT {kept}, functions[place] AS site, function_frames[place] AS site_frame FROM (SELECT {kept}, \
                 functions, function_frames, greatest(1, arrayFirstIndex((f, all) -> NOT has(all, f), functions, \
                 arrayMap(f -> folded, functions))) AS place FROM (SELECT {kept}, stack, folded FROM ("
            ),
            format!(
                ") AS r ANY LEFT JOIN (SELECT service, groupUniqArray(function) AS folded FROM ({folded}) AS p GROUP BY \
                 service) AS w USING (service)) AS x ALL INNER JOIN (SELECT stack, functions, function_frames FROM \
                 stacks FINAL{condition}) AS s USING (stack)) AS y"
            ),
        ]
    },
    sites_of_services: "sites",
    column: |kind| match kind {
        Kind::Run | Kind::Stack | Kind::Id => "FixedString(16)",
        Kind::Key | Kind::Time => "Int64",
        Kind::Count => "UInt64",
        Kind::Small => "UInt32",
        Kind::Keys => "Array(Int64)",
        Kind::Text => "String",
        Kind::Day => "Date",
        Kind::Number => "Float64",
    },
    end: |table| {
        let engine = match table.replaced_by {
            Some(column) => format!("ReplacingMergeTree({column})"),
            None => "MergeTree".to_owned(),
        };
        let has_day = table.columns.iter().any(|column| column.kind == Kind::Day);
        let days = if has_day { format!(" PARTITION BY {}", table.partition) } else { String::new() };
        format!(") ENGINE = {engine}{days} ORDER BY ({})", table.key.join(", "))
    },
    random: "min(upload)",
    run_text: |run| format!("hex({run})"),
    run_value: |text| format!("toFixedString(unhex('{text}'), 16)"),
    is_partitioned: true,
};
