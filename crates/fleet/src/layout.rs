//! How a table is laid out.

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One upload of a run.
    Run,
    /// A call stack.
    Stack,
    /// 128 bits.
    Id,
    /// A function or a frame.
    Key,
    /// Several of them.
    Keys,
    Text,
    /// A day, UTC.
    Day,
    /// Ns since 1970.
    Time,
    /// A count, bytes, or ns.
    Count,
    Small,
    /// Any number.
    Number,
}

#[derive(Debug)]
pub struct Column {
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Whether it is there only to find rows faster in large stores.
    pub is_for_large: bool,
}

#[derive(Debug)]
pub struct Table {
    pub name: &'static str,
    pub columns: Vec<Column>,
    /// Where it is sorted by.
    pub key: Vec<&'static str>,
    /// Of rows with the same key, the one with the largest value here counts.
    pub replaced_by: Option<&'static str>,
    /// What parts of it can be dropped.
    pub partition: &'static str,
    /// What decides on which shard of a cluster a row is: a run's rows are together, and so are rows that replace each other.
    pub shard: &'static str,
}

impl Table {
    /// The statement that adds a row: a `?` for each column. `or`: what happens to one whose key is there.
    pub fn insertion(&self, or: &str) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        format!("INSERT {or}INTO {} ({}) VALUES ({})", self.name, names.join(", "), vec!["?"; names.len()].join(", "))
    }
}
