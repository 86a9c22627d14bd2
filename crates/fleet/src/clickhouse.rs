//! A store in ClickHouse, over HTTP.
//!
//! Nothing that a server may have done twice counts twice. Each attempt to add runs has keys of its own, and a run counts
//! from the moment on at which its row stands in `runs`, which is written last. If the connection breaks, everything is sent
//! again under new keys; rows of an attempt without a row in `runs` belong to nothing.

use crate::cluster::{self, SCHEMA};
use crate::dialect::{CLICKHOUSE, Dialect};
use crate::error::Error;
use crate::identity::{Id, hex};
use crate::row_binary::{RowBinary, days};
use crate::run::{Run, number};
use crate::schema::{OF_RUNS, VERSION};
use crate::statement::Sql;
use crate::store::{Added, Cell, Purpose, Rows, Store};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

/// How often runs are sent before that is given up.
const ATTEMPTS: u32 = 4;
/// How long the first pause between two attempts is; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(250);
/// A server that cannot be connected to for so long is away.
const CONNECT: Duration = Duration::from_secs(10);
/// A question may take this long.
const ANSWER: Duration = Duration::from_secs(600);
/// Rows that are sent together.
const BATCH: usize = 200_000;
/// Stacks that are asked for together.
const ASKED: usize = 2_000;

/// A store in ClickHouse.
pub struct ClickHouse {
    /// The address without a password, for users.
    name: String,
    url: String,
    user: Option<(String, String)>,
    database: String,
    agent: Agent,
}

/// Why a request failed.
enum Failure {
    /// Nobody answered, or the answer broke off: what was done is not known.
    Away(String),
    /// The server says no.
    Refused(String),
}

impl ClickHouse {
    /// Connects to a database, which is made if it is missing and runs are to be added.
    ///
    /// # Errors
    /// The server is away, or the database has another schema.
    pub fn open(address: &str, purpose: Purpose) -> Result<ClickHouse, Error> {
        let store = ClickHouse::at(address)?;
        store.check(purpose)?;
        Ok(store)
    }

    fn at(address: &str) -> Result<ClickHouse, Error> {
        let wrong = |why: &str| Error::Address { store: without_password(address), why: why.to_owned() };
        let (scheme, rest) = address.split_once("://").ok_or_else(|| wrong("it has no scheme"))?;
        let (authority, database) = rest.split_once('/').ok_or_else(|| wrong("it names no database"))?;
        if !cluster::is_name(database) {
            return Err(wrong("a database's name has letters, digits and _"));
        }
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let (protocol, port) = if scheme == "clickhouses" { ("https", 8443) } else { ("http", 8123) };
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let port = if has_port { String::new() } else { format!(":{port}") };
        let from_environment = |name: &str| std::env::var(name).ok();
        let user = match user {
            Some(user) => {
                let (user, password) = user.split_once(':').unwrap_or((user, ""));
                let password = match password {
                    "" => from_environment("CLICKHOUSE_PASSWORD").unwrap_or_default(),
                    given => given.to_owned(),
                };
                Some((user.to_owned(), password))
            }
            None => from_environment("CLICKHOUSE_USER")
                .map(|user| (user, from_environment("CLICKHOUSE_PASSWORD").unwrap_or_default())),
        };
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let agent = Agent::config_builder()
            .user_agent(concat!("memtoll/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(ANSWER))
            .http_status_as_error(false)
            .tls_config(tls)
            .build()
            .new_agent();
        Ok(ClickHouse {
            name: without_password(address),
            url: format!("{protocol}://{host}{port}/"),
            user,
            database: database.to_owned(),
            agent,
        })
    }

    /// Looks for the schema; makes it where there is none.
    fn check(&self, purpose: Purpose) -> Result<(), Error> {
        let find = format!("SELECT name FROM system.tables WHERE database = '{}'", self.database);
        let found = self.read(&find, "system")?;
        let has = |name: &str| found.iter().any(|row| row[0].text() == name);
        if has(SCHEMA) {
            let version = self.read(&format!("SELECT max(version) FROM {SCHEMA}"), &self.database)?;
            // The row is written after all tables: without it, somebody is about to make them.
            match version.first().map_or(0, |row| row[0].number() as i64) {
                VERSION => return Ok(()),
                0 => {}
                other => return Err(Error::schema(&self.name, other)),
            }
        } else if crate::schema::tables(true).iter().any(|table| has(table.name)) {
            return Err(Error::NotAStore(self.name.clone()));
        }
        if purpose != Purpose::Add {
            return Err(Error::Missing(self.name.clone()));
        }
        cluster::tables_of(&self.database).iter().try_for_each(|statement| self.make(statement, "system"))
    }

    /// Sends a statement, whose data is `data`; gives back what the server says.
    fn send(&self, query: &str, data: Option<&[u8]>, database: &str) -> Result<String, Failure> {
        let mut request = self.agent.post(&self.url).query("database", database);
        // Shards of a cluster answer together: what one of them needs of the others is asked first, and what is sent is
        // stored when the request is done.
        let settings =
            [("max_query_size", "67108864"), ("distributed_product_mode", "global"), ("insert_distributed_sync", "1")];
        request = request.query_pairs(settings);
        if let Some((user, password)) = &self.user {
            request = request.header("X-ClickHouse-User", user).header("X-ClickHouse-Key", password);
        }
        let sent = match data {
            Some(data) => {
                let zipped = gzip(data).map_err(|error| Failure::Away(error.to_string()))?;
                request.query("query", query).header("Content-Encoding", "gzip").send(&zipped[..])
            }
            None => request.send(query),
        };
        let mut response = sent.map_err(|error| Failure::Away(error.to_string()))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(u64::MAX).read_to_string();
        match (status, body) {
            (200, Ok(body)) => Ok(body),
            (200, Err(error)) => Err(Failure::Away(format!("the answer broke off: {error}"))),
            // A proxy has no server behind it.
            (502..=504, _) => Err(Failure::Away(format!("it answers with HTTP status {status}"))),
            (status, body) => {
                let body = body.unwrap_or_default();
                let first = body.lines().next().unwrap_or_default();
                let text = if first.is_empty() { format!("HTTP status {status}") } else { first.to_owned() };
                Err(Failure::Refused(text))
            }
        }
    }

    fn error(&self, failure: Failure) -> Error {
        let store = self.name.clone();
        match failure {
            Failure::Away(why) => Error::Away { store, why },
            Failure::Refused(why) => {
                let is_full = ["No space left", "NOT_ENOUGH_SPACE", "Cannot reserve", "Cannot write"]
                    .iter()
                    .any(|word| why.contains(word));
                if is_full { Error::Full { store, why } } else { Error::Engine { store, why } }
            }
        }
    }

    /// Does what may be done twice.
    fn make(&self, query: &str, database: &str) -> Result<(), Error> {
        self.retried(|| self.send(query, None, database)).map(|_| ())
    }

    fn read(&self, query: &str, database: &str) -> Result<Rows, Error> {
        let query = format!("{query} FORMAT JSONCompact");
        let text = self.retried(|| self.send(&query, None, database))?;
        let json: Value = serde_json::from_str(&text)
            .map_err(|error| self.error(Failure::Refused(format!("the answer cannot be read: {error}"))))?;
        let rows = json["data"].as_array().map_or(&[][..], Vec::as_slice);
        let cell = |value: &Value| match value {
            Value::String(text) => Cell::Text(text.clone()),
            // Servers differ in whether they quote large whole numbers; a key is no approximate number.
            Value::Number(number) if number.is_i64() || number.is_u64() => Cell::Text(number.to_string()),
            Value::Number(number) => Cell::Number(number.as_f64().unwrap_or(0.0)),
            _ => Cell::Number(0.0),
        };
        Ok(rows.iter().map(|row| row.as_array().map_or(&[][..], Vec::as_slice).iter().map(cell).collect()).collect())
    }

    /// Tries again as long as nobody answers.
    fn retried<T>(&self, mut act: impl FnMut() -> Result<T, Failure>) -> Result<T, Error> {
        let mut attempt = 1;
        loop {
            match act() {
                Err(Failure::Away(_)) if attempt < ATTEMPTS => pause(attempt),
                result => return result.map_err(|failure| self.error(failure)),
            }
            attempt += 1;
        }
    }

    /// Which of these runs the store has.
    fn known(&self, runs: &[&Run]) -> Result<FxHashSet<String>, Error> {
        let ids: Vec<String> = runs.iter().map(|run| format!("unhex('{}')", hex(&run.id))).collect();
        let query = format!("SELECT DISTINCT hex(run_id) FROM runs WHERE run_id IN ({})", fixed(&ids));
        let rows = self.read(&query, &self.database)?;
        Ok(rows.iter().map(|row| row[0].text().to_lowercase()).collect())
    }

    /// What the store has of these stacks: how many of their frames have names.
    fn known_stacks(&self, runs: &[&Run]) -> Result<FxHashMap<String, u32>, Error> {
        let ids: FxHashSet<Id> = runs.iter().flat_map(|run| run.stacks.iter().map(|stack| stack.id)).collect();
        let ids: Vec<String> = ids.iter().map(|id| format!("unhex('{}')", hex(id))).collect();
        let mut known = FxHashMap::default();
        for ids in ids.chunks(ASKED) {
            let query =
                format!("SELECT hex(stack), max(named) FROM stacks WHERE stack IN ({}) GROUP BY stack", fixed(ids));
            let rows = self.read(&query, &self.database)?;
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
    fn insert_names(&self, runs: &[&Run], known: &FxHashMap<String, u32>) -> Result<(), Failure> {
        let [mut functions, mut frames, mut stacks] = [const { RowBinary::new() }; 3];
        let mut sent: [FxHashSet<i64>; 2] = Default::default();
        let mut sent_stacks: FxHashSet<Id> = FxHashSet::default();
        let is_new = |stack: &crate::run::Stack| known.get(&hex(&stack.id)).is_none_or(|named| *named < stack.named);
        for run in runs.iter().filter(|run| run.stacks.iter().any(is_new)) {
            for function in run.functions.iter().filter(|function| sent[0].insert(function.key)) {
                functions.int(function.key).text(&function.name).text(&function.module).small(0);
            }
            for frame in run.frames.iter().filter(|frame| sent[1].insert(frame.key)) {
                frames.int(frame.key).int(frame.function).text(&frame.file).small(frame.line);
                frames.text(&frame.build_id).count(frame.address).small(frame.named);
            }
            for stack in run.stacks.iter().filter(|stack| is_new(stack)) {
                if sent_stacks.insert(stack.id) {
                    stacks.id(&stack.id).int(stack.function).int(stack.frame).ints(&stack.functions);
                    stacks.ints(&stack.frames).small(stack.named);
                }
            }
        }
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
            rows.day(day).text(&run.service).id(&upload).id(&run.id).text(&run.host).int(run.start_ns);
            rows.count(run.wall_ns).count(run.cpu_ns).small(run.sees_faults.into()).small(run.sees_switches.into());
        }
        self.insert("sites", sites)?;
        self.insert("totals", totals)?;
        self.insert("labels", labels)?;
        self.insert("runs", rows)
    }

    fn add_batch(&self, runs: &[&Run]) -> Result<Vec<Added>, Error> {
        let before = self.known(runs)?;
        let known_stacks = self.known_stacks(runs)?;
        self.retried(|| self.insert_names(runs, &known_stacks))?;
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

impl Store for ClickHouse {
    fn dialect(&self) -> &'static Dialect {
        &CLICKHOUSE
    }

    fn add(&mut self, runs: &[Run]) -> Result<Vec<Added>, Error> {
        let mut added = Vec::with_capacity(runs.len());
        let mut batch: Vec<&Run> = Vec::new();
        for run in runs {
            batch.push(run);
            if batch.iter().map(|run| run.sites.len()).sum::<usize>() >= BATCH {
                added.extend(self.add_batch(&batch)?);
                batch.clear();
            }
        }
        if !batch.is_empty() {
            added.extend(self.add_batch(&batch)?);
        }
        Ok(added)
    }

    fn forget(&mut self, until: &str) -> Result<u64, Error> {
        let engine = "SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'runs'";
        if self.read(engine, &self.database)?.first().is_some_and(|row| row[0].text() == "Distributed") {
            let why = "its rows are on the shards of a cluster: run memtoll fleet forget with each of these";
            return Err(Error::Engine { store: self.name.clone(), why: why.to_owned() });
        }
        let literal = quoted(until);
        let number = format!("SELECT uniqExact(run_id) FROM runs WHERE day < {literal}");
        let runs = self.read(&number, &self.database)?.first().map_or(0.0, |row| row[0].number());
        // First the runs: whatever is left of them then counts nowhere.
        for table in ["runs"].iter().chain(&OF_RUNS) {
            let days = format!(
                "SELECT DISTINCT partition FROM system.parts WHERE active AND database = currentDatabase() AND table =                  '{table}' AND partition < {literal} ORDER BY partition"
            );
            for day in self.read(&days, &self.database)? {
                self.make(&format!("ALTER TABLE {table} DROP PARTITION {}", quoted(&day[0].text())), &self.database)?;
            }
        }
        Ok(runs as u64)
    }

    fn ask(&mut self, sql: &Sql) -> Result<Rows, Error> {
        let mut parts = sql.text.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (part, value) in parts.zip(&sql.values) {
            text += &quoted(value);
            text += part;
        }
        self.read(&text, &self.database)
    }
}

/// Ids as values of the columns' type.
fn fixed(ids: &[String]) -> String {
    ids.iter().map(|id| format!("toFixedString({id}, 16)")).collect::<Vec<_>>().join(", ")
}

fn pause(attempt: u32) {
    std::thread::sleep(PAUSE * 2u32.saturating_pow(attempt.saturating_sub(1)));
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        match c {
            '\'' => literal += "\\'",
            '\\' => literal += "\\\\",
            '\0' => literal += "\\0",
            c => literal.push(c),
        }
    }
    literal + "'"
}

fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let Some((user, host)) = rest.rsplit_once('@') else { return address.to_owned() };
    format!("{scheme}://{}@{host}", user.split(':').next().unwrap_or_default())
}

fn gzip(data: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(data)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Kind, tables};

    #[test]
    fn addresses_are_understood_and_passwords_stay_secret() {
        let store = ClickHouse::at("clickhouse://ci:secret@db.example:9000/fleet").unwrap();
        assert_eq!((store.url.as_str(), store.database.as_str()), ("http://db.example:9000/", "fleet"));
        assert_eq!(store.name, "clickhouse://ci@db.example:9000/fleet");
        assert_eq!(store.user, Some(("ci".to_owned(), "secret".to_owned())));
        assert_eq!(ClickHouse::at("clickhouses://db/fleet").unwrap().url, "https://db:8443/");
        for wrong in ["clickhouse://db", "clickhouse:///fleet", "clickhouse://db/", "clickhouse://db/a;b"] {
            assert!(matches!(ClickHouse::at(wrong), Err(Error::Address { .. })), "{wrong}");
        }
    }

    #[test]
    fn texts_stay_texts() {
        assert_eq!(quoted("a'; DROP TABLE runs --\\"), "'a\\'; DROP TABLE runs --\\\\'");
    }

    #[test]
    fn each_column_is_written() {
        // What insert_runs writes, in the order of the declaration.
        let tables = tables(true);
        let kinds = |name: &str| -> Vec<Kind> {
            let table = tables.iter().find(|table| table.name == name).unwrap();
            table.columns.iter().map(|column| column.kind).collect()
        };
        use Kind::{Count, Day, Id, Key, Keys, Number, Run, Small, Stack, Text, Time};
        assert_eq!(kinds("runs"), [Day, Text, Run, Id, Text, Time, Count, Count, Small, Small]);
        assert_eq!(kinds("labels"), [Day, Text, Text, Run, Number]);
        assert_eq!(kinds("sites")[..7], [Day, Text, Run, Text, Count, Stack, Count]);
        assert_eq!(kinds("totals")[..6], [Day, Text, Run, Text, Count, Count]);
        assert_eq!(kinds("stacks"), [Stack, Key, Key, Keys, Keys, Small]);
        assert_eq!(kinds("frames"), [Key, Key, Text, Small, Text, Count, Small]);
        assert_eq!(kinds("functions"), [Key, Text, Text, Small]);
    }
}
