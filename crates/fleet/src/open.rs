//! Finds the engine of a store by its address.

use crate::clickhouse::ClickHouse;
use crate::error::Error;
use crate::sqlite::Sqlite;
use crate::store::{Purpose, Store};
use std::path::Path;

/// Opens a store: the path of a file, or `clickhouse://HOST:PORT/DATABASE`.
pub fn open(store: &str, purpose: Purpose) -> Result<Box<dyn Store>, Error> {
    let wrong = |why: &str| Error::Address { store: store.to_owned(), why: why.to_owned() };
    match store.split_once("://") {
        Some(("clickhouse" | "clickhouses", _)) => Ok(Box::new(ClickHouse::open(store, purpose)?)),
        Some(("file", path)) => Ok(Box::new(Sqlite::open(Path::new(path), purpose)?)),
        Some((scheme, _)) => Err(wrong(&format!("unknown kind of store: {scheme}://"))),
        None if store.is_empty() => Err(wrong("it is empty")),
        None => Ok(Box::new(Sqlite::open(Path::new(store), purpose)?)),
    }
}
