//! `memtoll view --store`

use super::{Arguments, listen};
use crate::exit::{self, Code};
use memtoll_fleet::open::open;
use memtoll_fleet::pages::page;
use memtoll_fleet::store::Purpose;
use memtoll_view::serve::store_pages::Page;
use std::sync::{Mutex, PoisonError};

/// Shows what a store says, until the process ends.
pub fn show(store: &str, arguments: &Arguments) -> Code {
    let store = match open(store, Purpose::Ask) {
        Ok(store) => Mutex::new(store),
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let listening = match listen(arguments) {
        Ok(listening) => listening,
        Err(code) => return code,
    };
    listening.serve_pages(&|url| {
        // A question that made another thread panic says nothing about this one.
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = page(store.as_mut(), url);
        Page { status: answer.status, kind: answer.kind, body: answer.body }
    });
    Code::Done
}
