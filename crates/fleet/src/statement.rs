//! The SQL of all questions. It is the same for both engines but for the words of their dialects.
//!
//! An upload is one attempt to add a run; only those in `runs` count, and of several of one run, the first one. So rows of an
//! upload that was broken off count nowhere, whatever is done about them.

use crate::chosen_rollups::Rolls;
use crate::columns::{is_largest_of_windows, name};
use crate::dialect::Dialect;
use crate::grouping::{Buckets, By, Per, Runs, Sites};
use crate::identity::Key;
use crate::selection::Selection;
use crate::sql::{Select, Sql};
use memtoll_analysis::metric::Metric;

/// The condition on runs of which a metric is known, and what values are divided by.
fn counted(selection: &Selection, metric: Metric, per: &Per) -> Sql {
    let mut sql = selection.condition(Some(metric));
    match per {
        Per::Run => &mut sql,
        Per::Cpu => sql.add(" AND program_ns > 0"),
        Per::Label(label) => {
            sql.add(" AND upload IN (SELECT run FROM labels WHERE name = ").bind(label).add(" AND number > 0)")
        }
    };
    sql
}

/// The uploads that count.
fn uploads(selection: &Selection, metric: Metric, per: &Per, dialect: &Dialect) -> Sql {
    let mut sql = Sql::text("SELECT min(upload) AS run FROM runs WHERE ");
    sql.sql(&counted(selection, metric, per)).add(" GROUP BY run_id").sql(&selection.drawn(dialect));
    sql
}

/// The uploads that count with `weight` and, if groups are asked for, `bucket`, and when each began.
fn weights(runs: &Runs, dialect: &Dialect) -> Sql {
    let bucket = match runs.buckets {
        Some(Buckets::Day) => ", min(day) AS bucket",
        Some(Buckets::Label(crate::run::SERVICE)) => ", min(service) AS bucket",
        Some(Buckets::Label(crate::run::HOST)) => ", min(host) AS bucket",
        _ => "",
    };
    let weight = match runs.per {
        Per::Run => "1.0",
        Per::Cpu => "min(program_ns) / 1e9",
        Per::Label(_) => "0.0",
    };
    let own = if matches!(runs.per, Per::Label(_)) { "unweighed" } else { "weight" };
    let mut sql = Sql::text("SELECT min(upload) AS run, min(start_ns) AS began, ");
    sql.add(&format!("{weight} AS {own}{bucket} FROM runs WHERE "));
    sql.sql(&counted(runs.selection, runs.metric, runs.per))
        .add(" GROUP BY run_id")
        .sql(&runs.selection.drawn(dialect));
    if let Per::Label(label) = runs.per {
        let kept = if bucket.is_empty() { "" } else { ", bucket" };
        let inner = std::mem::take(&mut sql);
        sql.add(&format!("SELECT run, began, weight{kept} FROM (")).sql(&inner).add(") AS counted ").add(dialect.join);
        sql.add(" (SELECT run, min(number) AS weight FROM labels WHERE name = ").bind(label);
        sql.add(" AND number > 0 GROUP BY run) AS counters USING (run)");
    }
    if let (Some(Buckets::Label(label)), "") = (runs.buckets, bucket) {
        let inner = std::mem::take(&mut sql);
        sql.add("SELECT run, began, weight, bucket FROM (").sql(&inner).add(") AS weighed ").add(dialect.join);
        sql.add(" (SELECT run, min(value) AS bucket FROM labels WHERE name = ").bind(label);
        sql.add(" GROUP BY run) AS named USING (run)");
    }
    sql
}

/// By group: how many runs there are, their weights and the squares of these, and when the first one began.
pub fn base(runs: &Runs, dialect: &Dialect) -> Select {
    let bucket = if runs.buckets.is_some() { "bucket" } else { "''" };
    let mut plain = Sql::text(&format!("SELECT {bucket} AS k, count(*) AS p0, sum(weight) AS p1, "));
    plain.add("sum(weight * weight) AS p2, min(began) AS p3 FROM (").sql(&weights(runs, dialect));
    plain.add(") AS w GROUP BY k");
    let mut sql = Sql::text("SELECT k, sum(p0), sum(p1), sum(p2), min(p3) FROM (");
    sql.sql(&together(runs.selection, plain, |rolls| rolls.base(runs))).add(") AS u GROUP BY k");
    Select { sql, columns: 5 }
}

/// Figures of runs, and of those that are rolled up, in columns `k` and `p0` to `pN`; both may have the same keys.
fn together(selection: &Selection, plain: Sql, rolled: impl FnOnce(&Rolls) -> Sql) -> Sql {
    match &selection.rolls {
        None => plain,
        Some(rolls) if !rolls.leave_runs() => rolled(rolls),
        Some(rolls) => {
            let mut sql = plain;
            sql.add(" UNION ALL ").sql(&rolled(rolls));
            sql
        }
    }
}

/// Stacks that have one of these functions.
fn stacks_with(functions: &[Key], dialect: &Dialect) -> Sql {
    Sql::text(&(dialect.holding)(&listed_keys(functions)))
}

/// A value that rows have in common; nothing if they differ.
fn only(column: &str) -> String {
    format!("CASE WHEN min({column}) = max({column}) THEN min({column}) ELSE '' END")
}

/// Keys as SQL lists them; no function and no frame has the key -1.
fn listed_keys(keys: &[Key]) -> String {
    if keys.is_empty() { "-1".to_owned() } else { keys.iter().map(Key::to_string).collect::<Vec<_>>().join(", ") }
}

/// Services with the functions that they fold: those that reports of one of their runs fold.
fn folded(dialect: &Dialect) -> String {
    let Dialect { join, merged, .. } = dialect;
    format!(
        "SELECT service, function FROM (SELECT service, folded_with FROM wrappers) AS w {join} (SELECT function, folded_with \
         FROM functions{merged}) AS f USING (folded_with)"
    )
}

/// Rows of call stacks.
pub struct OfStacks<'a> {
    /// With a `stack` and, if functions are folded, a `service`.
    pub rows: Sql,
    /// Their other columns, which stay.
    pub kept: &'a str,
    /// The condition on the stacks, if not all count. It stands inside, so that no other stack is joined with its functions.
    pub condition: Sql,
    /// See [`Sites::folds`].
    pub folds: bool,
}

impl OfStacks<'_> {
    /// The rows with the function and the frame that lead their stacks.
    fn led(&self, dialect: &Dialect) -> Sql {
        let (kept, condition) = (self.kept, &self.condition.text);
        let [before, behind] = match self.folds {
            true => (dialect.led)(kept, &folded(dialect), condition),
            false => [
                format!("SELECT {kept}, site, site_frame FROM ("),
                format!(
                    ") AS r {} (SELECT stack, site, site_frame FROM stacks{}{condition}) AS s USING (stack)",
                    dialect.join, dialect.merged
                ),
            ],
        };
        let mut sql = Sql::text(&before);
        sql.sql(&self.rows).sql(&Sql { text: behind, values: self.condition.values.clone() });
        sql
    }

    /// The rows with their keys, called `k`, if sums are grouped by something that stacks have.
    pub fn keyed(&self, by: By, dialect: &Dialect) -> Option<Sql> {
        let Dialect { merged, join, .. } = dialect;
        let kept = self.kept;
        let joined = |keys: String| {
            let mut sql = Sql::text(&format!("SELECT {kept}, k FROM ("));
            sql.sql(&self.rows).add(&format!(") AS r {join} (")).sql(&Sql { text: keys, ..self.condition.clone() });
            sql.add(") AS m USING (stack)");
            sql
        };
        let callers = (dialect.callers)(&self.condition.text);
        // `of`: a column of the function or frame that leads.
        let of_leading = |leads: &str, table: &str, id: &str, of: &str| {
            let mut sql = Sql::text(&format!("SELECT {kept}, {of} AS k FROM (SELECT {kept}, {leads} AS {id} FROM ("));
            sql.sql(&self.led(dialect))
                .add(&format!(") AS l) AS n {join} (SELECT {id}, {of} FROM {table}{merged}) AS f USING ({id})"));
            sql
        };
        match by {
            By::Function => {
                let mut sql = Sql::text(&format!("SELECT {kept}, site AS k FROM ("));
                sql.sql(&self.led(dialect)).add(") AS l");
                Some(sql)
            }
            By::FunctionWithCallees => Some(joined(format!("SELECT stack, function AS k FROM ({callers}) AS c"))),
            By::NameWithCallees => Some(joined(format!(
                "SELECT DISTINCT stack, same AS k FROM ({callers}) AS c {join} \
                 (SELECT function, same FROM functions{merged}) AS f USING (function)"
            ))),
            By::Name => Some(of_leading("site", "functions", "function", "same")),
            By::Line => Some(of_leading("site_frame", "frames", "frame", "place")),
            By::Module => Some(of_leading("site", "functions", "function", "module")),
            By::All | By::Process | By::Service | By::Host => None,
        }
    }
}

/// The sum of a metric over rows of `totals`. A peak of all processes has a row of its own.
pub fn summed_total(metric: Metric) -> String {
    let name = name(metric);
    match is_largest_of_windows(metric) {
        true => format!("sum(CASE WHEN process = '' THEN {name} ELSE 0 END)"),
        false => format!("sum({name})"),
    }
}

/// Where the values of a row begin, behind its name, whole name, module, file and line.
pub const VALUES: usize = 5;

/// Which sums are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sums {
    OfAllRuns,
    OfEachRun,
}

impl Sites<'_> {
    /// Whether sums are grouped by something that stacks have.
    fn is_by_stack(&self) -> bool {
        !matches!(self.by, By::All | By::Process | By::Service | By::Host)
    }

    fn is_by_run(&self) -> bool {
        matches!(self.by, By::Service | By::Host)
    }

    fn is_largest(&self) -> bool {
        self.metrics.iter().any(|metric| is_largest_of_windows(*metric))
    }

    /// Columns by which sums stay apart, whatever they are grouped by.
    fn kept(&self, sums: Sums) -> Vec<&'static str> {
        let is_largest = self.is_largest();
        let run = (sums == Sums::OfEachRun || is_largest || self.is_by_run()).then_some("run");
        let process = (self.by == By::Process).then_some("process");
        run.into_iter().chain(is_largest.then_some("window_ns")).chain(process).collect()
    }

    /// The metrics' columns, such as `v0, v1`.
    fn listed(&self, show: impl Fn(usize) -> String) -> Vec<String> {
        (0..self.metrics.len()).map(show).collect()
    }

    /// Sums by stack, by program or by nothing.
    fn rows(&self, dialect: &Dialect, sums: Sums) -> Sql {
        let mut keys = self.kept(sums);
        let of_stacks = self.is_by_stack() || self.own.is_some();
        if of_stacks {
            keys.push("stack");
        }
        let of_services = of_stacks && self.folds;
        if of_services {
            keys.push("service");
        }
        // Stacks are added up when a run is added.
        let is_whole = !of_stacks && self.stacks.is_none();
        let is_together = is_whole && self.by != By::Process && self.selection.processes.is_empty();
        let table = match () {
            () if of_services => dialect.sites_of_services,
            () if is_whole => "totals",
            () => "sites",
        };
        let summed = self.listed(|n| match is_together {
            true => format!("{} AS v{n}", summed_total(self.metrics[n])),
            false => format!("sum({}) AS v{n}", name(self.metrics[n])),
        });
        let selected: Vec<String> = keys.iter().map(|key| (*key).to_owned()).chain(summed).collect();
        let mut sql = Sql::text("SELECT ");
        sql.add(&selected.join(", ")).add(&format!(" FROM {table} WHERE run IN ("));
        sql.sql(&uploads(self.selection, self.metrics[0], self.per, dialect)).add(")");
        if dialect.is_partitioned {
            sql.sql(&self.selection.parts());
        }
        if is_whole && !is_together {
            sql.add(" AND process <> ''");
        }
        if !self.selection.processes.is_empty() {
            sql.add(" AND process IN (");
            for (number, process) in self.selection.processes.iter().enumerate() {
                sql.add(if number > 0 { ", " } else { "" }).bind(process);
            }
            sql.add(")");
        }
        if let Some(functions) = self.stacks {
            sql.add(" AND stack IN (").sql(&stacks_with(functions, dialect)).add(")");
        }
        if !keys.is_empty() {
            sql.add(" GROUP BY ").add(&keys.join(", "));
        }
        sql
    }

    /// Sums by key, which is called `k`.
    fn grouped(&self, dialect: &Dialect, sums: Sums) -> Sql {
        let kept = self.kept(sums);
        let words =
            |more: Vec<String>| kept.iter().map(|key| (*key).to_owned()).chain(more).collect::<Vec<_>>().join(", ");
        let values = words(self.listed(|n| format!("v{n}")));
        let of_stacks = |rows: Sql| OfStacks { rows, kept: &values, condition: Sql::default(), folds: self.folds };
        let grouping = |keys: Vec<&str>| match keys.is_empty() {
            true => String::new(),
            false => format!(" GROUP BY {}", keys.join(", ")),
        };
        let mut sql = self.rows(dialect, sums);
        if let Some(functions) = self.own {
            let led = of_stacks(std::mem::take(&mut sql)).led(dialect);
            let sums = words(self.listed(|n| format!("sum(v{n}) AS w{n}")));
            sql.add(&format!("SELECT {sums} FROM (")).sql(&led);
            sql.add(&format!(") AS l WHERE site IN ({}){}", listed_keys(functions), grouping(kept.clone())));
            let renamed = words(self.listed(|n| format!("w{n} AS v{n}")));
            let inner = std::mem::take(&mut sql);
            sql.add(&format!("SELECT {renamed} FROM (")).sql(&inner).add(") AS o");
        }
        if self.is_by_stack() {
            let keyed = of_stacks(std::mem::take(&mut sql)).keyed(self.by, dialect).unwrap_or_default();
            let mut summed = vec!["k".to_owned()];
            summed.extend(self.listed(|n| format!("sum(v{n}) AS s{n}")));
            sql.add(&format!("SELECT {} FROM (", words(summed))).sql(&keyed).add(") AS m");
            sql.add(&grouping(kept.iter().copied().chain(["k"]).collect()));
        } else {
            let inner = std::mem::take(&mut sql);
            let (key, column) = match self.by {
                By::Process => ("process", None),
                By::Service => ("named", Some("service")),
                By::Host => ("named", Some("host")),
                _ => ("''", None),
            };
            let run: String = kept.iter().filter(|key| **key != "process").map(|key| format!("{key}, ")).collect();
            let values = self.listed(|n| format!("v{n} AS s{n}")).join(", ");
            sql.add(&format!("SELECT {run}{key} AS k, {values} FROM (")).sql(&inner).add(") AS r");
            if let Some(column) = column {
                let names = format!("(SELECT upload AS run, {column} AS named FROM runs) AS o");
                sql.add(&format!(" {} {names} USING (run)", dialect.join));
            }
        }
        if self.is_largest() {
            // The largest window of each run.
            let inner = std::mem::take(&mut sql);
            let values = self.listed(|n| format!("max(s{n}) AS t{n}")).join(", ");
            sql.add(&format!("SELECT run, k, {values} FROM (")).sql(&inner).add(") AS x GROUP BY run, k");
        }
        sql
    }

    fn value(&self) -> &'static str {
        if self.is_largest() { "t" } else { "s" }
    }

    /// The sums of all runs, by key, largest first, with a sum for each metric.
    pub fn totals(&self, dialect: &Dialect, limit: Option<usize>) -> Select {
        let v = self.value();
        let listed = |of: &str, to: &str| {
            (0..self.metrics.len()).map(|n| format!("sum({of}{n}) AS {to}{n}")).collect::<Vec<_>>().join(", ")
        };
        let mut plain = Sql::text(&format!("SELECT k, {} FROM (", listed(v, "p")));
        plain.sql(&self.grouped(dialect, Sums::OfAllRuns)).add(") AS y GROUP BY k");
        let mut sql = Sql::text(&format!("SELECT k, {} FROM (", listed("p", "a")));
        sql.sql(&together(self.selection, plain, |rolls| rolls.totals(self))).add(") AS z GROUP BY k");
        let values: Vec<String> = (0..self.metrics.len()).map(|n| format!("a{n}")).collect();
        self.named(sql, dialect, &values, limit)
    }

    /// Of each key: the sum over runs, the sum of squares, and that of products with weights. Absent runs have 0.
    pub fn spreads(&self, runs: &Runs, dialect: &Dialect) -> Select {
        let v = self.value();
        let key = if runs.buckets.is_some() { "bucket" } else { "k" };
        let mut plain = Sql::text(&format!(
            "SELECT {key} AS k, sum({v}0) AS p0, sum({v}0 * 1.0 * {v}0) AS p1, sum({v}0 * weight) AS p2 FROM ("
        ));
        plain
            .sql(&self.grouped(dialect, Sums::OfEachRun))
            .add(") AS y ")
            .add(dialect.join)
            .add(" (")
            .sql(&weights(runs, dialect));
        plain.add(&format!(") AS w USING (run) GROUP BY {key}"));
        let mut sql = Sql::text("SELECT k, sum(p0) AS a0, sum(p1) AS a1, sum(p2) AS a2 FROM (");
        sql.sql(&together(self.selection, plain, |rolls| rolls.spreads(self, runs))).add(") AS z GROUP BY k");
        self.named(sql, dialect, &["a0", "a1", "a2"].map(str::to_owned), None)
    }

    /// The runs that have most of the first metric: upload and value.
    pub fn of_each_run(&self, runs: &Runs, dialect: &Dialect, limit: usize) -> Select {
        let upload = (dialect.run_text)("run");
        let mut sql = Sql::text(&format!("SELECT {upload} AS k, sum({}0) / min(weight) AS a0 FROM (", self.value()));
        sql.sql(&self.grouped(dialect, Sums::OfEachRun)).add(") AS y ").add(dialect.join);
        sql.add(" (").sql(&weights(runs, dialect)).add(") AS w USING (run) GROUP BY run ORDER BY a0 DESC, k LIMIT ");
        sql.number(limit as i64);
        Select { sql, columns: 2 }
    }

    /// Rows with names for their keys, largest first: name, module, file, line, and the values.
    fn named(&self, inner: Sql, dialect: &Dialect, values: &[String], limit: Option<usize>) -> Select {
        let Dialect { join, merged, .. } = dialect;
        let listed = values.join(", ");
        let mut sql = Sql::default();
        match self.by {
            By::Function | By::FunctionWithCallees => {
                sql.add(&format!("SELECT name, whole, module, '' AS file, 0 AS line, {listed} FROM (")).sql(&inner);
                sql.add(&format!(
                    ") AS t {join} (SELECT function AS k, name, whole, module FROM functions{merged}) AS n USING (k)"
                ));
            }
            By::Name | By::NameWithCallees => {
                sql.add(&format!("SELECT name, whole, module, '' AS file, 0 AS line, {listed} FROM (")).sql(&inner);
                sql.add(&format!(
                    ") AS t {join} (SELECT k, min(n) AS name, min(w) AS whole, {} AS module FROM \
                     (SELECT same AS k, name AS n, whole AS w, module AS m FROM functions{merged}) AS f GROUP BY k) AS n USING (k)",
                    only("m")
                ));
            }
            By::Line => {
                sql.add(&format!("SELECT name, whole, module, file, line, {listed} FROM (")).sql(&inner);
                sql.add(&format!(
                    ") AS t {join} (SELECT k, min(n) AS name, min(w) AS whole, {} AS module, min(p) AS file, min(l) AS line FROM \
                     (SELECT place AS k, function, file AS p, line AS l FROM frames{merged}) AS p {join} \
                     (SELECT function, name AS n, whole AS w, module AS m FROM functions{merged}) AS f USING (function) GROUP BY k) \
                     AS n USING (k)",
                    only("m")
                ));
            }
            _ => {
                sql.add(&format!(
                    "SELECT k AS name, '' AS whole, '' AS module, '' AS file, 0 AS line, {listed} FROM ("
                ));
                sql.sql(&inner).add(") AS t");
            }
        }
        sql.add(" ORDER BY a0 DESC, name, whole, module, file, line");
        if let Some(limit) = limit {
            sql.add(" LIMIT ").number(limit as i64);
        }
        Select { sql, columns: VALUES + values.len() }
    }
}

/// Keys, names, whole names and modules of all functions.
pub fn functions(dialect: &Dialect) -> Select {
    let sql = Sql::text(&format!("SELECT function, name, whole, module FROM functions{}", dialect.merged));
    Select { sql, columns: 4 }
}

/// The whole names of functions that share their names with others.
pub fn overloads(dialect: &Dialect) -> Select {
    let Dialect { join, merged, .. } = dialect;
    let sql = format!(
        "SELECT DISTINCT whole FROM (SELECT name, whole FROM functions{merged}) AS f {join} (SELECT name FROM \
         functions{merged} GROUP BY name HAVING min(whole) < max(whole)) AS o USING (name)"
    );
    Select { sql: Sql::text(&sql), columns: 1 }
}

/// How many functions services fold.
pub fn wrappers() -> Select {
    let sql = "SELECT service, count(DISTINCT folded_with) AS number FROM wrappers GROUP BY service";
    Select { sql: Sql::text(sql), columns: 2 }
}

/// The columns of [`about_runs`].
#[derive(Clone, Copy)]
pub enum AboutRuns {
    Start = 1,
    Wall,
    Cpu,
    Service,
    Host,
    Recording,
}

/// What a store has of each of these uploads.
pub fn about_runs(uploads: &[String], dialect: &Dialect) -> Select {
    let upload = (dialect.run_text)("upload");
    let columns = format!("{upload} AS k, start_ns, wall_ns, program_ns, service, host, recording");
    let sql = Sql::text(&format!("SELECT {columns} FROM runs WHERE upload IN ({})", listed(uploads, dialect)));
    Select { sql, columns: 7 }
}

/// The value of a label of each of these uploads.
pub fn labels_of(uploads: &[String], label: &str, dialect: &Dialect) -> Select {
    let mut sql = Sql::text(&format!("SELECT {} AS k, value FROM labels WHERE name = ", (dialect.run_text)("run")));
    sql.bind(label).add(&format!(" AND run IN ({})", listed(uploads, dialect)));
    Select { sql, columns: 2 }
}

/// Uploads as a store wrote them; what is no upload is none.
fn listed(uploads: &[String], dialect: &Dialect) -> String {
    let is_upload = |text: &&String| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let all: Vec<String> = uploads.iter().filter(is_upload).map(|text| (dialect.run_value)(text)).collect();
    if all.is_empty() { (dialect.run_value)("0") } else { all.join(", ") }
}

/// Services and labels that runs have, some of each: name and value.
pub fn labels() -> [Select; 2] {
    let services = "SELECT DISTINCT 'service' AS name, service AS value FROM runs ORDER BY value LIMIT 10";
    let labels = "SELECT DISTINCT name, value FROM labels ORDER BY name, value LIMIT 20";
    [services, labels].map(|text| Select { sql: Sql::text(text), columns: 2 })
}
