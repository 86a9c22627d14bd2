//! A store in ClickHouse, over HTTP.
//!
//! Nothing that a server may have done twice counts twice. Each attempt to add runs has keys of its own, and a run counts
//! from the moment on at which its row stands in `runs`, which is written last. If the connection breaks, everything is sent
//! again under new keys; rows of an attempt without a row in `runs` belong to nothing.

mod add;
mod answer;

use crate::cluster::{self, SCHEMA};
use crate::dialect::{CLICKHOUSE, Dialect};
use crate::error::Error;
use crate::run::Run;
use crate::schema::{OF_DAYS, OF_RUNS, VERSION, other_version};
use crate::sql::{Select, Sql};
use crate::store::{Added, Purpose, Rows, Store};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

/// How often runs are sent before that is given up.
const ATTEMPTS: u32 = 4;
/// How long the first pause between two attempts is; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(250);
/// Time limit for connecting to a server.
const CONNECT: Duration = Duration::from_secs(10);
/// A question may take this long.
const ANSWER: Duration = Duration::from_secs(600);
/// An answer is no longer than this, bytes.
const LONGEST: u64 = 2 << 30;
/// Rows that are sent together.
const BATCH: usize = 200_000;
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
    /// There was no answer, or it broke off: what was done is not known.
    Away(String),
    /// The server says no.
    Refused(String),
}

impl ClickHouse {
    /// Connects to a database, which is made if it is missing and runs are to be added.
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
        let found = self.read(&find, "system", 1)?;
        let has = |name: &str| found.iter().any(|row| row[0].text() == name);
        if has(SCHEMA) {
            let version = self.read(&format!("SELECT max(version) FROM {SCHEMA}"), &self.database, 1)?;
            // The row is written after all tables: without it, another process is about to make them.
            match version.first().map_or(0, |row| row[0].number() as i64) {
                VERSION => return Ok(()),
                0 => {}
                other => return Err(other_version(&self.name, other)),
            }
        } else if crate::schema::tables(&CLICKHOUSE).iter().any(|table| has(table.name)) {
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
        let body = response.body_mut().with_config().limit(LONGEST).read_to_string();
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

    fn read(&self, query: &str, database: &str, columns: usize) -> Result<Rows, Error> {
        let query = format!("{query} FORMAT JSONCompact");
        let text = self.retried(|| self.send(&query, None, database))?;
        answer::rows(&text, columns).map_err(|why| {
            self.error(Failure::Refused(format!("its answer cannot be read: {why}. Is it a ClickHouse server?")))
        })
    }

    /// Tries again as long as there is no answer.
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
        if self.read(engine, &self.database, 1)?.first().is_some_and(|row| row[0].text() == "Distributed") {
            let why = "its rows are on the shards of a cluster: run memtoll fleet forget with each of these";
            return Err(Error::Engine { store: self.name.clone(), why: why.to_owned() });
        }
        let literal = quoted(until);
        let number = format!("SELECT uniqExact(run_id) FROM runs WHERE day < {literal}");
        let runs = self.read(&number, &self.database, 1)?.first().map_or(0.0, |row| row[0].number());
        // First the runs: whatever is left of them then counts nowhere.
        for table in ["runs"].iter().chain(&OF_RUNS).chain(&OF_DAYS) {
            let days = format!(
                "SELECT DISTINCT partition FROM system.parts WHERE active AND database = currentDatabase() AND table =                  '{table}' AND partition < {literal} ORDER BY partition"
            );
            for day in self.read(&days, &self.database, 1)? {
                self.make(&format!("ALTER TABLE {table} DROP PARTITION {}", quoted(&day[0].text())), &self.database)?;
            }
        }
        Ok(runs as u64)
    }

    fn change(&mut self, sql: &Sql) -> Result<(), Error> {
        self.send(&with_values(sql), None, &self.database).map(|_| ()).map_err(|failure| self.error(failure))
    }

    fn ask(&mut self, Select { sql, columns }: &Select) -> Result<Rows, Error> {
        self.read(&with_values(sql), &self.database, *columns)
    }
}

/// A statement as a server gets it.
fn with_values(sql: &Sql) -> String {
    let mut parts = sql.text.split('?');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (part, value) in parts.zip(&sql.values) {
        text += &quoted(value);
        text += part;
    }
    text
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
}
