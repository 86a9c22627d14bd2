//! What can go wrong with a store.

/// Why a store does not do what it was asked for: what was expected, what was found, what to do next.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no file.
    #[error("there is no store {0}; memtoll fleet add makes one")]
    Missing(String),
    /// The address cannot be understood.
    #[error("expected the path of a file or clickhouse://HOST:PORT/DATABASE as the store; found \"{store}\": {why}")]
    Address {
        /// What was given.
        store: String,
        /// What is wrong with it.
        why: String,
    },
    /// The file is something else.
    #[error("{0} is no store of memtoll fleet: choose another file")]
    NotAStore(String),
    /// Another memtoll made it.
    #[error("{store} has schema {found}, and this memtoll knows schema {known}: {next}")]
    Schema {
        store: String,
        /// Its schema.
        found: i64,
        /// The schema of this memtoll.
        known: i64,
        /// What to do.
        next: &'static str,
    },
    /// There is no answer.
    #[error("cannot reach the store {store}: {why}")]
    Away {
        store: String,
        /// What the system says.
        why: String,
    },
    /// There is no room.
    #[error("the store {store} has no room left: {why}. What was not stored as a whole counts nowhere; make room")]
    Full {
        store: String,
        /// What the engine says.
        why: String,
    },
    /// The engine says no.
    #[error("the store {store} refuses: {why}")]
    Engine {
        store: String,
        /// What the engine says.
        why: String,
    },
    /// A question that the store cannot answer.
    #[error("{0}")]
    Question(String),
}
