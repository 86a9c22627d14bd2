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
    /// Each stack with each of its functions, of the stacks that meet a condition.
    pub callers: fn(condition: &str) -> String,
    /// Each stack that meets a condition, with the function and the frame that lead it (`site`, `site_frame`). Where the stored
    /// ones are a wrapper's, the first function that is no wrapper leads, if there is one. `wrappers`: their keys, at least one.
    pub led: fn(condition: &str, wrappers: &str) -> String,
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
    callers: |condition| format!("SELECT stack, function FROM callers{condition}"),
    led: |condition, wrappers| {
        let first = |of: &str, or: &str| {
            format!(
                "CASE WHEN site IN ({wrappers}) THEN coalesce((SELECT {of} FROM callers WHERE callers.stack = stacks.stack \
                 AND function NOT IN ({wrappers}) ORDER BY depth LIMIT 1), {or}) ELSE {or} END AS {or}"
            )
        };
        format!("SELECT stack, {}, {} FROM stacks{condition}", first("function", "site"), first("frame", "site_frame"))
    },
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
    led: |condition, wrappers| {
        format!(
            "SELECT stack, if(place = 0, site, functions[place]) AS site, if(place = 0, site_frame, \
             function_frames[place]) AS site_frame FROM (SELECT stack, site, site_frame, functions, function_frames, \
             if(site IN ({wrappers}), arrayFirstIndex(f -> f NOT IN ({wrappers}), functions), 0) AS place \
             FROM stacks FINAL{condition})"
        )
    },
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
