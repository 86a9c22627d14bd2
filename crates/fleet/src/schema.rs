//! The tables of a store, declared once for both engines.

use crate::columns::{METRICS, name};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::layout::{Column, Kind, Table};
use crate::run_figures::FIGURES;
use memtoll_analysis::metric::Metric;

/// Grows when a table changes its meaning. A store of another version is refused.
pub const VERSION: i64 = 10;

/// The tables whose rows belong to a run, beside `runs`.
pub const OF_RUNS: [&str; 3] = ["labels", "totals", "sites"];

/// The tables that have sums of whole days.
pub const OF_DAYS: [&str; 3] = ["rolls", "rolled_runs", "rolled_sums"];

/// All tables of a store.
pub fn tables(dialect: &Dialect) -> Vec<Table> {
    let large = dialect.is_partitioned;
    use Kind::{Count, Day, Id, Key, Keys, Number, Run, Small, Stack, Text, Time};
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_for_large: false };
    let for_large = |name: &str, kind| Column { name: name.to_owned(), kind, is_for_large: true };
    // What a window of a process group costs; `more`: of a part of it.
    let costs = |more: Option<Column>| -> Vec<Column> {
        let keys = [
            for_large("day", Day),
            for_large("service", Text),
            column("run", Run),
            column("process", Text),
            column("window_ns", Count),
        ];
        keys.into_iter().chain(more).chain(METRICS.map(|metric| column(name(metric), Count))).collect()
    };
    let mut all = vec![
        Table {
            name: "runs",
            columns: vec![
                column("day", Day),
                column("service", Text),
                column("upload", Run),
                column("run_id", Id),
                column("host", Text),
                column("recording", Text),
                column("start_ns", Time),
                column("wall_ns", Count),
                column("program_ns", Count),
                column("sees_faults", Small),
                column("sees_switches", Small),
                column("sees_frees", Small),
            ]
            .into_iter()
            .chain(FIGURES.map(|figure| column(figure.about().key, Number)))
            .collect(),
            key: if large { vec!["service", "day", "run_id"] } else { vec!["upload"] },
            replaced_by: None,
            partition: "day",
            shard: "run_id",
        },
        Table {
            name: "labels",
            columns: vec![
                for_large("day", Day),
                column("name", Text),
                column("value", Text),
                column("run", Run),
                column("number", Number),
            ],
            key: vec!["name", "value", "run"],
            replaced_by: None,
            partition: "day",
            shard: "run",
        },
        Table {
            name: "sites",
            columns: costs(Some(column("stack", Stack))),
            key: match large {
                true => vec!["service", "run", "process", "window_ns", "stack"],
                false => vec!["run", "process", "window_ns", "stack"],
            },
            replaced_by: None,
            partition: "day",
            shard: "run",
        },
        Table {
            name: "totals",
            columns: costs(None),
            key: match large {
                true => vec!["service", "run", "process", "window_ns"],
                false => vec!["run", "process", "window_ns"],
            },
            replaced_by: None,
            partition: "day",
            shard: "run",
        },
        Table {
            name: "stacks",
            columns: vec![
                column("stack", Stack),
                column("site", Key),
                column("site_frame", Key),
                for_large("functions", Keys),
                for_large("function_frames", Keys),
                for_large("hidden", Keys),
                column("frames", Keys),
                column("named", Small),
            ],
            key: vec!["stack"],
            replaced_by: Some("named"),
            partition: "",
            shard: "stack",
        },
        Table {
            name: "frames",
            columns: vec![
                column("frame", Key),
                column("function", Key),
                column("place", Key),
                column("file", Text),
                column("line", Small),
                column("build_id", Text),
                column("address", Count),
                column("named", Small),
            ],
            key: vec!["frame"],
            replaced_by: Some("named"),
            partition: "",
            shard: "frame",
        },
        Table {
            name: "functions",
            columns: vec![
                column("function", Key),
                column("name", Text),
                column("whole", Text),
                column("module", Text),
                column("same", Key),
                column("folded_with", Key),
                column("named", Small),
            ],
            key: vec!["function"],
            replaced_by: Some("named"),
            partition: "",
            shard: "function",
        },
        Table {
            name: "wrappers",
            columns: vec![column("service", Text), column("folded_with", Key)],
            key: vec!["service", "folded_with"],
            replaced_by: None,
            partition: "",
            shard: "folded_with",
        },
    ];
    all.extend(of_days());
    if !large {
        all.push(Table {
            name: "callers",
            columns: vec![
                column("stack", Stack),
                column("function", Key),
                column("frame", Key),
                column("depth", Small),
                column("is_hidden", Small),
            ],
            key: vec!["stack", "function"],
            replaced_by: None,
            partition: "",
            shard: "stack",
        });
        all.push(Table {
            name: "stack_ids",
            columns: vec![column("id", Id), column("stack", Stack)],
            key: vec!["id"],
            replaced_by: None,
            partition: "",
            shard: "id",
        });
    }
    all.iter_mut().for_each(|table| table.columns.retain(|column| large || !column.is_for_large));
    all
}

/// What runs of a day and service are told apart by when they are rolled up: what questions ask for, and which runs count.
pub const ROLLED_BY: [&str; 7] =
    ["slice", "is_versioned", "version", "sees_faults", "sees_switches", "sees_frees", "has_cpu"];

/// What all runs of a service on a day come to: see [`crate::rollup`].
fn of_days() -> [Table; 3] {
    use Kind::{Count, Day, Key, Number, Small, Text, Time};
    let column = |name: &str, kind| Column { name: name.to_owned(), kind, is_for_large: false };
    let table = |name, more: &[&'static str], values: Vec<Column>| {
        let key: Vec<&'static str> = ["day", "service", "roll"].into_iter().chain(more.iter().copied()).collect();
        let columns = key.iter().map(|name| match *name {
            "day" => column(name, Day),
            "service" | "version" => column(name, Text),
            "roll" | "function" => column(name, Key),
            name => column(name, Small),
        });
        let columns = columns.chain(values).collect();
        Table { name, columns, key, replaced_by: None, partition: "day", shard: "roll" }
    };
    let of_runs = [("number", Count), ("cpu_s", Number), ("cpu_s_squares", Number), ("first_ns", Time)];
    let of_runs = of_runs.map(|(name, kind)| column(name, kind)).into();
    let of_metric = |metric| {
        let [sum, squares, by_cpu] = rolled_names(metric);
        [column(&sum, Count), column(&squares, Number), column(&by_cpu, Number)]
    };
    [
        table("rolls", &[], ["turn", "uploads", "wrappers"].map(|name| column(name, Count)).into()),
        table("rolled_runs", &ROLLED_BY, of_runs),
        table(
            "rolled_sums",
            &[&["kind"], &ROLLED_BY[..], &["function"]].concat(),
            METRICS.into_iter().flat_map(of_metric).collect(),
        ),
    ]
}

/// The columns of what runs have of a metric: their sum, the sum of squares, and that of products with seconds of CPU.
pub fn rolled_names(metric: Metric) -> [String; 3] {
    let name = name(metric);
    [name.to_owned(), format!("{name}_squares"), format!("{name}_by_cpu")]
}

impl Table {
    /// The statement that makes it. `database`: where, if not in the one that is open.
    pub fn declaration(&self, dialect: &Dialect, database: Option<&str>) -> String {
        let database = database.map_or(String::new(), |database| format!("{database}."));
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} {}", column.name, (dialect.column)(column.kind))).collect();
        format!("CREATE TABLE IF NOT EXISTS {database}{} ({}{}", self.name, columns.join(", "), (dialect.end)(self))
    }
}

/// Why a store whose schema is another one is refused.
pub(crate) fn other_version(store: &str, found: i64) -> Error {
    let next = if found > VERSION {
        "use the memtoll that made it, or a newer one"
    } else {
        "add the recordings to a new store"
    };
    Error::Schema { store: store.to_owned(), found, known: VERSION, next }
}
