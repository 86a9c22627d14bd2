//! How runs are sent.

use super::{ATTEMPTS, ClickHouse, Failure, pause};
use crate::error::Error;
use crate::identity::{Id, Key, hex};
use crate::row_binary::{RowBinary, days};
use crate::run::{Run, number};
use crate::store::Added;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// Stacks that are asked for together.
const ASKED: usize = 20_000;

impl ClickHouse {
    /// Which of these runs the store has.
    fn known(&self, runs: &[&Run]) -> Result<FxHashSet<String>, Error> {
        let ids: Vec<Id> = runs.iter().map(|run| run.id).collect();
        let query = format!("SELECT DISTINCT hex(run_id) FROM runs WHERE run_id IN ({})", listed(&ids));
        let rows = self.read(&query, &self.database, 1)?;
        Ok(rows.iter().map(|row| row[0].text().to_lowercase()).collect())
    }

    /// What the store has of these stacks: how many of their frames have names.
    fn known_stacks(&self, runs: &[&Run]) -> Result<FxHashMap<String, u32>, Error> {
        let ids: FxHashSet<Id> = runs.iter().flat_map(|run| run.stacks.iter().map(|stack| stack.id)).collect();
        let ids: Vec<Id> = ids.into_iter().collect();
        let mut known = FxHashMap::default();
        for ids in ids.chunks(ASKED) {
            let query =
                format!("SELECT hex(stack), max(named) FROM stacks WHERE stack IN ({}) GROUP BY stack", listed(ids));
            let rows = self.read(&query, &self.database, 2)?;
            known.extend(rows.iter().map(|row| (row[0].text().to_lowercase(), row[1].number() as u32)));
        }
        Ok(known)
    }

    fn insert(&self, table: &str, rows: RowBinary) -> Result<(), Failure> {
        if rows.bytes.is_empty() {
            return Ok(());
        }
        let query = format!("INSERT INTO {table} FORMAT RowBinary");
        self.send(&query, Some(&rows.bytes), &self.database).map(|_| ())
    }

    /// Sends names, which replace worse ones and may come twice.
    fn insert_names(
        &self,
        runs: &[&Run],
        known: &FxHashMap<String, u32>,
        known_wrappers: &BTreeSet<(String, Key)>,
    ) -> Result<(), Failure> {
        let [mut functions, mut frames, mut stacks, mut wrappers] = [const { RowBinary::new() }; 4];
        let mut sent: [FxHashSet<i64>; 2] = Default::default();
        let mut sent_stacks: FxHashSet<Id> = FxHashSet::default();
        let is_new = |stack: &crate::run::Stack| known.get(&hex(&stack.id)).is_none_or(|named| *named < stack.named);
        for run in runs.iter().filter(|run| run.stacks.iter().any(is_new)) {
            for function in run.functions.iter().filter(|function| sent[0].insert(function.key)) {
                functions.int(function.key).text(&function.name).text(&function.whole).text(&function.module);
                functions.int(function.same).int(function.folded_with).small(0);
            }
            for frame in run.frames.iter().filter(|frame| sent[1].insert(frame.key)) {
                frames.int(frame.key).int(frame.function).int(frame.place).text(&frame.file).small(frame.line);
                frames.text(&frame.build_id).count(frame.address).small(frame.named);
            }
            for stack in run.stacks.iter().filter(|stack| is_new(stack)) {
                if sent_stacks.insert(stack.id) {
                    let [shown, at]: [Vec<Key>; 2] = [
                        stack.shown.iter().map(|shown| shown.function).collect(),
                        stack.shown.iter().map(|shown| shown.frame).collect(),
                    ];
                    stacks.id(&stack.id).int(shown[0]).int(at[0]).ints(&shown).ints(&at).ints(&stack.hidden);
                    stacks.ints(&stack.frames).small(stack.named);
                }
            }
        }
        let of_run = |run: &Run| run.wrappers.iter().map(|key| (run.service.clone(), *key)).collect::<Vec<_>>();
        let of_runs: BTreeSet<(String, Key)> = runs.iter().flat_map(|run| of_run(run)).collect();
        for (service, key) in of_runs.difference(known_wrappers) {
            wrappers.text(service).int(*key);
        }
        self.insert("wrappers", wrappers)?;
        self.insert("functions", functions)?;
        self.insert("frames", frames)?;
        self.insert("stacks", stacks)
    }

    /// Sends runs under new keys. They count when the last request is done.
    fn insert_runs(&self, runs: &[&Run]) -> Result<(), Failure> {
        let [mut sites, mut totals, mut labels, mut rows] = [const { RowBinary::new() }; 4];
        for run in runs {
            let mut upload = Id::default();
            fastrand::fill(&mut upload);
            let day = days(run.start_ns);
            for site in &run.sites {
                sites.day(day).text(&run.service).id(&upload).text(&site.process).count(site.window_ns);
                sites.id(&run.stacks[site.stack].id);
                site.values.iter().for_each(|value| {
                    sites.count(*value);
                });
            }
            for total in &run.totals {
                totals.day(day).text(&run.service).id(&upload).text(&total.process).count(total.window_ns);
                total.values.iter().for_each(|value| {
                    totals.count(*value);
                });
            }
            for (name, value) in &run.labels {
                labels.day(day).text(name).text(value).id(&upload).number(number(value));
            }
            rows.day(day).text(&run.service).id(&upload).id(&run.id).text(&run.host).text(&run.recording);
            rows.int(run.start_ns)
                .count(run.wall_ns)
                .count(run.program_ns)
                .small(run.sees_faults.into())
                .small(run.sees_switches.into());
            rows.small(run.sees_frees.into());
            run.figures.iter().for_each(|figure| {
                rows.number(*figure);
            });
        }
        self.insert("sites", sites)?;
        self.insert("totals", totals)?;
        self.insert("labels", labels)?;
        self.insert("runs", rows)
    }

    /// Adds runs that are sent together.
    pub(super) fn add_batch(&self, runs: &[&Run]) -> Result<Vec<Added>, Error> {
        let before = self.known(runs)?;
        let known_stacks = self.known_stacks(runs)?;
        let known_wrappers = self.read("SELECT DISTINCT service, folded_with FROM wrappers", &self.database, 2)?;
        let known_wrappers =
            known_wrappers.iter().filter_map(|row| Some((row[0].text(), row[1].text().parse().ok()?))).collect();
        self.retried(|| self.insert_names(runs, &known_stacks, &known_wrappers))?;
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        let is_known = |run: &Run| before.contains(&hex(&run.id));
        let verdicts: Vec<Added> = runs
            .iter()
            .map(|run| if is_known(run) || !seen.insert(run.id) { Added::Known } else { Added::New })
            .collect();
        let fresh: Vec<&Run> =
            runs.iter().zip(&verdicts).filter(|(_, added)| **added == Added::New).map(|(run, _)| *run).collect();
        let mut attempt = 1;
        let mut left = fresh;
        while !left.is_empty() {
            match self.insert_runs(&left) {
                Ok(()) => break,
                Err(Failure::Away(_)) if attempt < ATTEMPTS => pause(attempt),
                Err(failure) => return Err(self.error(failure)),
            }
            attempt += 1;
            // What broke off may have been done.
            let done = self.known(&left)?;
            left.retain(|run| !done.contains(&hex(&run.id)));
        }
        Ok(verdicts)
    }
}

/// Ids as values of the columns' type. They are one text: a server takes six times as long to read an expression for each.
fn listed(ids: &[Id]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| hex(id)).collect();
    format!(
        "SELECT toFixedString(unhex(id), 16) FROM (SELECT arrayJoin(splitByChar(',', '{}')) AS id) AS ids",
        ids.join(",")
    )
}

#[cfg(test)]
mod tests {
    use crate::dialect::CLICKHOUSE;
    use crate::layout::Kind;
    use crate::schema::tables;

    #[test]
    fn each_column_is_written() {
        // What insert_runs writes, in the order of the declaration.
        let tables = tables(&CLICKHOUSE);
        let kinds = |name: &str| -> Vec<Kind> {
            let table = tables.iter().find(|table| table.name == name).unwrap();
            table.columns.iter().map(|column| column.kind).collect()
        };
        use Kind::{Count, Day, Id, Key, Keys, Number, Run, Small, Stack, Text, Time};
        assert_eq!(
            kinds("runs"),
            [Day, Text, Run, Id, Text, Text, Time, Count, Count, Small, Small, Small, Number, Number]
        );
        assert_eq!(kinds("labels"), [Day, Text, Text, Run, Number]);
        assert_eq!(kinds("sites")[..7], [Day, Text, Run, Text, Count, Stack, Count]);
        assert_eq!(kinds("totals")[..6], [Day, Text, Run, Text, Count, Count]);
        assert_eq!(kinds("stacks"), [Stack, Key, Key, Keys, Keys, Keys, Keys, Small]);
        assert_eq!(kinds("frames"), [Key, Key, Key, Text, Small, Text, Count, Small]);
        assert_eq!(kinds("wrappers"), [Text, Key]);
        assert_eq!(kinds("functions"), [Key, Text, Text, Text, Key, Key, Small]);
    }
}
