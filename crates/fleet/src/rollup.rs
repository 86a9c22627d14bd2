//! Roll-ups: what all runs of a service on a day come to. Questions then read a row for each version and function, however
//! many runs there were.
//!
//! A roll-up has the sum over runs, the sum of squares, and that of products with seconds of CPU, all that an interval needs:
//! of each function by itself, of each function with all that it calls, and of all together; and of functions by their names
//! alone, since squares of sums do not add up. Runs whose answers differ are told apart: by version, and by what is known of
//! them.
//!
//! It stands for the runs that were there when it was made. If others of its day and service have come since, it counts
//! nowhere, and these runs are asked one by one until they are rolled up again. So they are, where functions that lead are
//! asked for, when a run has shown that a function of their service allocates for its callers. Like a run, a roll-up counts from the moment
//! on at which its row stands in `rolls`, which is written last.

use crate::chosen_rollups::Rolls;
use crate::columns::{METRICS, is_largest_of_windows, name};
use crate::day::day;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::grouping::{Buckets, By, Per};
use crate::identity::Key;
use crate::question::folded;
use crate::rolled_statement::kind;
use crate::run::{SERVICE, VERSION};
use crate::schema::{ROLLED_BY, tables};
use crate::selection::Selection;
use crate::sql::{Select, Sql};
use crate::statement::{OfStacks, summed_total};
use crate::store::Store;
use std::collections::BTreeMap;

/// Runs that one statement rolls up: this bounds the memory that it takes.
const TOGETHER: usize = 2_000;
const DAY_NS: i64 = 86_400_000_000_000;

/// A day and a service.
type Group = (String, String);

/// A roll-up of a group.
#[derive(Clone, Copy)]
struct Roll {
    key: Key,
    /// Of several ones with the same runs, the last one counts.
    turn: u64,
    /// How many uploads the group had.
    uploads: u64,
    /// How many keys of functions to fold the service had. Further ones come, and all stay.
    wrappers: u64,
}

/// Rolls up the runs that began before a day, such as `2026-11-01`, as far as they are not yet; how many days of services
/// these were. `again`: all of them, with the names that are known now.
pub fn roll_up(store: &mut dyn Store, until: &str, again: bool) -> Result<u64, Error> {
    let rolls = rolls(store)?;
    // The number first: of what is added meanwhile, the roll-up may know more than it says.
    let folded = folded(store)?;
    let mut condition = Sql::text(" AND day < ");
    condition.bind(until);
    let mut number = 0;
    for (group, uploads) in uploads(store, &condition)? {
        let last = rolls.get(&group);
        let wrappers = folded.get(&group.1).copied().unwrap_or(0);
        let now = (uploads, wrappers);
        if again || last.is_none_or(|last| (last.uploads, last.wrappers) != now) {
            let turn = last.map_or(0, |last| last.turn) + 1;
            let roll = Roll { key: fastrand::i64(1..), turn, uploads, wrappers };
            number += u64::from(roll_up_group(store, &group, roll)?);
        }
    }
    Ok(number)
}

/// How many uploads the days of services have.
fn uploads(store: &mut dyn Store, condition: &Sql) -> Result<BTreeMap<Group, u64>, Error> {
    let mut sql = Sql::text("SELECT day, service, count(*) AS uploads FROM runs WHERE 1 = 1");
    sql.sql(condition).add(" GROUP BY day, service");
    let rows = store.ask(&Select { sql, columns: 3 })?;
    Ok(rows.iter().map(|row| ((row[0].text(), row[1].text()), row[2].number() as u64)).collect())
}

/// The last roll-up of each group.
fn rolls(store: &mut dyn Store) -> Result<BTreeMap<Group, Roll>, Error> {
    let sql = Sql::text("SELECT day, service, roll, turn, uploads, wrappers FROM rolls");
    let mut last: BTreeMap<Group, Roll> = BTreeMap::new();
    for row in store.ask(&Select { sql, columns: 6 })? {
        let Ok(key) = row[2].text().parse() else { continue };
        let [turn, uploads, wrappers] = [3, 4, 5].map(|column| row[column].number() as u64);
        let roll = Roll { key, turn, uploads, wrappers };
        let known = last.entry((row[0].text(), row[1].text())).or_insert(roll);
        if (known.turn, known.key) < (roll.turn, roll.key) {
            *known = roll;
        }
    }
    Ok(last)
}

/// Makes a roll-up; false, if runs were added meanwhile, which it may have or not.
fn roll_up_group(store: &mut dyn Store, group: &Group, roll: Roll) -> Result<bool, Error> {
    let dialect = store.dialect();
    let mut of_group = Sql::text("day = ");
    of_group.bind(&group.0).add(" AND service = ").bind(&group.1);
    let text = (dialect.run_text)("run");
    let mut all = Sql::text(&format!("SELECT {text} AS shown FROM (SELECT min(upload) AS run FROM runs WHERE "));
    all.sql(&of_group).add(" GROUP BY run_id) AS u ORDER BY run");
    let runs: Vec<String> = store.ask(&Select { sql: all, columns: 1 })?.iter().map(|row| row[0].text()).collect();
    for (number, runs) in runs.chunks(TOGETHER).enumerate() {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else { continue };
        let [first, last] = [first, last].map(|run| (dialect.run_value)(run));
        let slice =
            Slice { group, of_group: &of_group, key: roll.key, number, first, last, folds: roll.wrappers > 0, dialect };
        store.change(&slice.runs_rolled_up())?;
        for by in [By::All, By::Function, By::FunctionWithCallees, By::Name, By::NameWithCallees] {
            store.change(&slice.sums_rolled_up(by))?;
        }
    }
    let mut condition = Sql::text(" AND ");
    condition.sql(&of_group);
    if uploads(store, &condition)?.get(group) != Some(&roll.uploads) {
        return Ok(false);
    }
    let mut sql = Sql::text("INSERT INTO rolls (day, service, roll, turn, uploads, wrappers) VALUES (");
    sql.bind(&group.0).add(", ").bind(&group.1);
    sql.add(&format!(", {}, {}, {}, {})", roll.key, roll.turn, roll.uploads, roll.wrappers));
    store.change(&sql)?;
    Ok(true)
}

/// A part of the runs of a group.
struct Slice<'a> {
    group: &'a Group,
    of_group: &'a Sql,
    key: Key,
    number: usize,
    /// The first and the last upload.
    first: String,
    last: String,
    /// Whether the service folds functions into their callers.
    folds: bool,
    dialect: &'static Dialect,
}

impl Slice<'_> {
    /// The condition on uploads that count.
    fn uploads(&self) -> Sql {
        let Slice { of_group, first, last, .. } = self;
        let mut sql = Sql::text("");
        sql.sql(of_group).add(&format!(" AND upload >= {first} AND upload <= {last}"));
        sql.add(" AND upload IN (SELECT min(upload) FROM runs WHERE ").sql(of_group).add(" GROUP BY run_id)");
        sql
    }

    /// The runs, with what they are told apart by, and their seconds of CPU.
    fn runs(&self) -> Sql {
        let mut sql = Sql::text(
            "SELECT run, coalesce(labelled, 0) AS is_versioned, coalesce(label, '') AS version, sees_faults, \
             sees_switches, sees_frees, has_cpu, cpu, began FROM (SELECT upload AS run, sees_faults, sees_switches, \
             sees_frees, program_ns > 0 AS has_cpu, program_ns / 1e9 AS cpu, start_ns AS began FROM runs WHERE ",
        );
        sql.sql(&self.uploads()).add(") AS r ").add(self.dialect.join_if);
        sql.add(" (SELECT run, 1 AS labelled, min(value) AS label FROM labels WHERE name = ").bind(VERSION);
        if self.dialect.is_partitioned {
            sql.add(" AND day = ").bind(&self.group.0);
        }
        sql.add(" GROUP BY run) AS l USING (run)");
        sql
    }

    /// What begins a statement that adds rows to a table; `more`: the values behind the roll-up's key.
    fn insertion(&self, table: &str, more: &str) -> Sql {
        let all = tables(self.dialect);
        let columns = all.iter().filter(|of| of.name == table).flat_map(|of| &of.columns);
        let columns: Vec<&str> = columns.map(|column| column.name.as_str()).collect();
        let mut sql = Sql::text(&format!("INSERT INTO {table} ({}) SELECT ", columns.join(", ")));
        sql.bind(&self.group.0).add(", ").bind(&self.group.1);
        sql.add(&format!(", {}{more}, {}, {}", self.key, self.number, ROLLED_BY[1..].join(", ")));
        sql
    }

    fn runs_rolled_up(&self) -> Sql {
        let mut sql = self.insertion("rolled_runs", "");
        sql.add(", count(*), sum(cpu), sum(cpu * cpu), min(began) FROM (").sql(&self.runs());
        sql.add(") AS w GROUP BY ").add(&ROLLED_BY[1..].join(", "));
        sql
    }

    fn sums_rolled_up(&self, by: By) -> Sql {
        let listed = |show: &dyn Fn(usize) -> String| (0..METRICS.len()).map(show).collect::<Vec<_>>().join(", ");
        let of = |alias: &str| listed(&|n| format!("sum({}) AS {alias}{n}", name(METRICS[n])));
        let sums = listed(&|n| format!("sum(v{n}) AS s{n}"));
        let together = listed(&|n| format!("{} AS s{n}", summed_total(METRICS[n])));
        // Of the windows of a run, they are added up, or the largest one counts.
        let of_run = listed(&|n| match is_largest_of_windows(METRICS[n]) {
            true => format!("max(s{n}) AS t{n}"),
            false => format!("sum(s{n}) AS t{n}"),
        });
        let of_runs = listed(&|n| format!("sum(t{n}), sum(t{n} * 1.0 * t{n}), sum(t{n} * cpu)"));
        let mut rows = Sql::text(" WHERE run IN (SELECT upload FROM runs WHERE ");
        rows.sql(&self.uploads()).add(")");
        if self.dialect.is_partitioned {
            rows.add(" AND ").sql(self.of_group);
            rows.add(&format!(" AND run >= {} AND run <= {}", self.first, self.last));
        }
        let mut sql = self.insertion("rolled_sums", &format!(", {}", kind(by).unwrap_or_default()));
        sql.add(&format!(", k, {of_runs} FROM (SELECT run, k, {of_run} FROM ("));
        let mut of_stacks = Sql::text(" WHERE stack IN (SELECT stack FROM sites");
        of_stacks.sql(&rows).add(")");
        let mut sites = Sql::text("SELECT ");
        sites.bind(&self.group.1).add(" AS service, run, window_ns, stack, ").add(&of("v"));
        sites.add(" FROM sites").sql(&rows).add(" GROUP BY run, window_ns, stack");
        let kept = format!("run, window_ns, {}", listed(&|n| format!("v{n}")));
        let of_stacks = OfStacks { rows: sites, kept: &kept, condition: of_stacks, folds: self.folds };
        match of_stacks.keyed(by, self.dialect) {
            None => sql.add(&format!("SELECT run, window_ns, 0 AS k, {together} FROM totals")).sql(&rows),
            Some(keyed) => sql.add(&format!("SELECT run, window_ns, k, {sums} FROM (")).sql(&keyed).add(") AS m"),
        };
        let group = if by == By::All { "run, window_ns" } else { "run, window_ns, k" };
        sql.add(&format!(" GROUP BY {group}) AS x GROUP BY run, k) AS y {} (", self.dialect.join)).sql(&self.runs());
        sql.add(&format!(") AS w USING (run) GROUP BY {}, k", ROLLED_BY[1..].join(", ")));
        sql
    }
}

/// The same selection, with the roll-ups that stand for a part of its runs.
pub fn rolled(
    store: &mut dyn Store,
    selection: &Selection,
    by: By,
    per: &Per,
    buckets: Option<Buckets>,
) -> Result<Selection, Error> {
    let is_known = |label: &str| [SERVICE, VERSION].contains(&label);
    let fits = kind(by).is_some()
        && selection.processes.is_empty()
        && selection.filter.is_none()
        && selection.sample.is_none()
        && selection.labels.iter().all(|(label, _)| is_known(label))
        && !matches!(per, Per::Label(_))
        && !matches!(buckets, Some(Buckets::Label(label)) if !is_known(label));
    let mut rolls = if fits { rolls(store)? } else { BTreeMap::new() };
    if matches!(by, By::Function | By::Name) && !rolls.is_empty() {
        let folded = folded(store)?;
        rolls.retain(|(_, service), roll| roll.wrappers == folded.get(service).copied().unwrap_or(0));
    }
    if rolls.is_empty() {
        return Ok(selection.clone());
    }
    // Days that are asked for as a whole.
    let first = selection.since_ns.map(|since| day(since.saturating_add(DAY_NS - 1)));
    let end = selection.until_ns.map(day);
    let is_whole =
        |day: &String| first.as_ref().is_none_or(|first| day >= first) && end.as_ref().is_none_or(|end| day < end);
    let mut used = Rolls::default();
    for (group, uploads) in uploads(store, &selection.parts())? {
        match rolls.get(&group).filter(|roll| roll.uploads == uploads && is_whole(&group.0)) {
            Some(roll) => used.keys.push(roll.key),
            None => drop(used.days.insert(group.0)),
        }
    }
    let rolls = (!used.keys.is_empty()).then_some(used);
    Ok(Selection { rolls, ..selection.clone() })
}
