//! A store in one file.

use crate::day::day;
use crate::dialect::{Dialect, SQLITE};
use crate::error::Error;
use crate::identity::Id;
use crate::layout::Table;
use crate::run::{Function, Run, Stack, number};
use crate::schema::{OF_DAYS, OF_RUNS, VERSION, other_version, tables};
use crate::sql::{Select, Sql};
use crate::store::{Added, Cell, Purpose, Rows, Store};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params_from_iter,
};
use std::path::Path;
use std::time::Duration;

/// Says that a file is a store: "MTFL".
const APPLICATION: i64 = 0x4d54_464c;
/// How long a process that adds waits for another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// A store in a file of SQLite.
pub struct Sqlite {
    name: String,
    connection: Connection,
    tables: Vec<Table>,
}

impl Sqlite {
    /// Opens a file.
    pub fn open(path: &Path, purpose: Purpose) -> Result<Sqlite, Error> {
        let name = path.display().to_string();
        if purpose != Purpose::Add && !path.exists() {
            return Err(Error::Missing(name));
        }
        // Who asks may have to undo what a process that was killed has left. A file that cannot be written is only read.
        let flags = match purpose {
            Purpose::Add => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Purpose::Ask | Purpose::Forget => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let failed = |error: rusqlite::Error| explain(&name, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(PATIENCE).map_err(failed)?;
        // In one transaction: another one may be making the tables.
        let transaction = connection.unchecked_transaction().map_err(failed)?;
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        let found = (number("application_id").map_err(failed)?, number("user_version").map_err(failed)?);
        let number_of_tables = "SELECT count(*) FROM sqlite_schema";
        let is_new = connection.query_row(number_of_tables, [], |row| row.get::<_, i64>(0)).map_err(failed)? == 0;
        transaction.commit().map_err(failed)?;
        match found {
            (APPLICATION, VERSION) => {}
            (APPLICATION, other) => return Err(other_version(&name, other)),
            _ if is_new && purpose == Purpose::Add => {}
            _ => return Err(Error::NotAStore(name)),
        }
        // A cache of 64 MiB; what is sorted stays in memory.
        connection
            .execute_batch("PRAGMA cache_size = -65536; PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 1073741824;")
            .map_err(failed)?;
        let mut store = Sqlite { name, connection, tables: tables(&SQLITE) };
        if is_new {
            store.make()?;
        }
        Ok(store)
    }

    fn make(&mut self) -> Result<(), Error> {
        let mut text = format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};");
        self.tables.iter().for_each(|table| text += &format!("{};", table.declaration(&SQLITE, None)));
        text += "CREATE UNIQUE INDEX IF NOT EXISTS runs_by_id ON runs (run_id);";
        let make = |connection: &mut Connection| {
            // Another one may be making it at the same time.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute_batch(&text)?;
            transaction.commit()
        };
        make(&mut self.connection).map_err(|error| explain(&self.name, &error))
    }

    fn add_one(&mut self, run: &Run) -> rusqlite::Result<Added> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let added = Upload { transaction: &transaction, tables: &self.tables }.add(run)?;
        transaction.commit()?;
        Ok(added)
    }
}

impl Store for Sqlite {
    fn dialect(&self) -> &'static Dialect {
        &SQLITE
    }

    fn add(&mut self, runs: &[Run]) -> Result<Vec<Added>, Error> {
        runs.iter().map(|run| self.add_one(run).map_err(|error| explain(&self.name, &error))).collect()
    }

    fn forget(&mut self, until: &str) -> Result<u64, Error> {
        let forget = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for table in OF_RUNS {
                let text = format!("DELETE FROM {table} WHERE run IN (SELECT upload FROM runs WHERE day < ?)");
                transaction.execute(&text, [until])?;
            }
            for table in OF_DAYS {
                transaction.execute(&format!("DELETE FROM {table} WHERE day < ?"), [until])?;
            }
            let runs = transaction.execute("DELETE FROM runs WHERE day < ?", [until])?;
            transaction.commit()?;
            Ok(runs as u64)
        };
        forget(&mut self.connection).map_err(|error| explain(&self.name, &error))
    }

    fn change(&mut self, sql: &Sql) -> Result<(), Error> {
        let changed = self.connection.execute(&sql.text, params_from_iter(&sql.values));
        changed.map(|_| ()).map_err(|error| explain(&self.name, &error))
    }

    fn ask(&mut self, Select { sql, .. }: &Select) -> Result<Rows, Error> {
        let ask = || {
            let mut statement = self.connection.prepare(&sql.text)?;
            let columns = statement.column_count();
            let rows = statement.query_map(params_from_iter(&sql.values), |row| {
                (0..columns).map(|column| Ok(cell(row.get_ref(column)?))).collect::<rusqlite::Result<Vec<Cell>>>()
            })?;
            rows.collect::<rusqlite::Result<Rows>>()
        };
        ask().map_err(|error| explain(&self.name, &error))
    }
}

fn cell(value: ValueRef) -> Cell {
    match value {
        ValueRef::Null => Cell::Number(0.0),
        ValueRef::Integer(number) => Cell::Text(number.to_string()),
        ValueRef::Real(number) => Cell::Number(number),
        ValueRef::Text(text) | ValueRef::Blob(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
    }
}

/// A transaction in which a run is added.
struct Upload<'a> {
    transaction: &'a Transaction<'a>,
    tables: &'a [Table],
}

impl Upload<'_> {
    /// The statement that adds a row to a table.
    fn insertion(&self, table: &str, or: &str) -> rusqlite::Result<rusqlite::Statement<'_>> {
        let found = self.tables.iter().find(|of| of.name == table);
        self.transaction.prepare(&found.map(|of| of.insertion(or)).unwrap_or_default())
    }

    fn add(&self, run: &Run) -> rusqlite::Result<Added> {
        let known = "SELECT upload FROM runs WHERE run_id = ?";
        let known: Option<i64> = self.transaction.query_row(known, [&run.id[..]], |row| row.get(0)).optional()?;
        // Names may have been found since.
        self.names(run)?;
        let stacks = self.stacks(run)?;
        if known.is_some() {
            return Ok(Added::Known);
        }
        let last: Option<i64> = self.transaction.query_row("SELECT max(upload) FROM runs", [], |row| row.get(0))?;
        let upload = last.unwrap_or(0) + 1;
        let about: [Value; 12] = [
            day(run.start_ns).into(),
            run.service.clone().into(),
            upload.into(),
            run.id.to_vec().into(),
            run.host.clone().into(),
            run.recording.clone().into(),
            run.start_ns.into(),
            (run.wall_ns as i64).into(),
            (run.program_ns as i64).into(),
            run.sees_faults.into(),
            run.sees_switches.into(),
            run.sees_frees.into(),
        ];
        let figures = run.figures.map(Value::Real);
        self.insertion("runs", "")?.execute(params_from_iter(about.into_iter().chain(figures)))?;
        let mut labels = self.insertion("labels", "")?;
        for (name, value) in &run.labels {
            labels.execute((name, value, upload, number(value)))?;
        }
        let mut sites = self.insertion("sites", "")?;
        for site in &run.sites {
            let mut values: Vec<Value> = vec![
                upload.into(),
                site.process.clone().into(),
                (site.window_ns as i64).into(),
                stacks[site.stack].into(),
            ];
            values.extend(site.values.iter().map(|value| Value::Integer(*value as i64)));
            sites.execute(params_from_iter(values))?;
        }
        let mut totals = self.insertion("totals", "")?;
        for total in &run.totals {
            let mut values: Vec<Value> =
                vec![upload.into(), total.process.clone().into(), (total.window_ns as i64).into()];
            values.extend(total.values.iter().map(|value| Value::Integer(*value as i64)));
            totals.execute(params_from_iter(values))?;
        }
        Ok(Added::New)
    }

    fn names(&self, run: &Run) -> rusqlite::Result<()> {
        let mut functions = self.insertion("functions", "OR IGNORE ")?;
        for function in &run.functions {
            let Function { key, name, whole, module, same, folded_with } = function;
            functions.execute((key, name, whole, module, same, folded_with, 0))?;
        }
        let mut wrappers = self.insertion("wrappers", "OR IGNORE ")?;
        for key in &run.wrappers {
            wrappers.execute((&run.service, key))?;
        }
        let mut known = self.transaction.prepare("SELECT named FROM frames WHERE frame = ?")?;
        let mut frames = self.insertion("frames", "OR REPLACE ")?;
        for frame in &run.frames {
            let named: Option<u32> = known.query_row([frame.key], |row| row.get(0)).optional()?;
            if named.is_none_or(|named| named < frame.named) {
                let address = frame.address as i64;
                let (key, function, place) = (frame.key, frame.function, frame.place);
                let row = (key, function, place, &frame.file, frame.line, &frame.build_id, address, frame.named);
                frames.execute(row)?;
            }
        }
        Ok(())
    }

    /// The numbers that the store has for a run's stacks.
    fn stacks(&self, run: &Run) -> rusqlite::Result<Vec<i64>> {
        let last: Option<i64> = self.transaction.query_row("SELECT max(stack) FROM stacks", [], |row| row.get(0))?;
        let mut next = last.unwrap_or(0) + 1;
        let known = "SELECT stack, named FROM stack_ids JOIN stacks USING (stack) WHERE id = ?";
        let mut known = self.transaction.prepare(known)?;
        let mut ids = self.insertion("stack_ids", "")?;
        let mut write = StackWriter {
            stacks: self.insertion("stacks", "OR REPLACE ")?,
            callers: self.insertion("callers", "")?,
            forget: self.transaction.prepare("DELETE FROM callers WHERE stack = ?")?,
        };
        let mut numbers = Vec::with_capacity(run.stacks.len());
        for stack in &run.stacks {
            let id: &Id = &stack.id;
            let found = known.query_row([&id[..]], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?)));
            let number = match found.optional()? {
                Some((number, named)) => {
                    if named < stack.named {
                        write.stack(number, stack)?;
                    }
                    number
                }
                None => {
                    ids.execute((&id[..], next))?;
                    write.stack(next, stack)?;
                    next += 1;
                    next - 1
                }
            };
            numbers.push(number);
        }
        Ok(numbers)
    }
}

struct StackWriter<'a> {
    stacks: rusqlite::Statement<'a>,
    callers: rusqlite::Statement<'a>,
    forget: rusqlite::Statement<'a>,
}

impl StackWriter<'_> {
    fn stack(&mut self, number: i64, stack: &Stack) -> rusqlite::Result<()> {
        let frames: Vec<u8> = stack.frames.iter().flat_map(|frame| frame.to_le_bytes()).collect();
        let site = &stack.shown[0];
        self.stacks.execute((number, site.function, site.frame, frames, stack.named))?;
        self.forget.execute([number])?;
        for (depth, shown) in (0i64..).zip(&stack.shown) {
            self.callers.execute((number, shown.function, shown.frame, depth, 0))?;
        }
        for function in &stack.hidden {
            self.callers.execute((number, function, 0, 0, 1))?;
        }
        Ok(())
    }
}

/// What went wrong, for users.
fn explain(store: &str, error: &rusqlite::Error) -> Error {
    let store = store.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full { store, why: error.to_string() },
        // A limit on the size of files looks like this.
        Some(ErrorCode::SystemIoFailure) => Error::Full { store, why: error.to_string() },
        Some(ErrorCode::NotADatabase) => Error::NotAStore(store),
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            Error::Away { store, why: error.to_string() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            let why = format!("another process has been writing to it for {} s", PATIENCE.as_secs());
            Error::Away { store, why }
        }
        _ => Error::Engine { store, why: error.to_string() },
    }
}
