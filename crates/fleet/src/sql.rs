//! Statements, as text and values.

/// A statement with the texts that a user gave, which are never part of it.
#[derive(Clone, Debug, Default)]
pub struct Sql {
    /// With a `?` for each value.
    pub text: String,
    pub values: Vec<String>,
}

impl Sql {
    /// A statement without values.
    pub fn text(text: &str) -> Sql {
        Sql { text: text.to_owned(), values: Vec::new() }
    }

    pub fn add(&mut self, words: &str) -> &mut Sql {
        self.text += words;
        self
    }

    /// Adds a text as a value.
    pub fn bind(&mut self, value: &str) -> &mut Sql {
        self.text += "?";
        self.values.push(value.to_owned());
        self
    }

    /// Adds a whole number.
    pub fn number(&mut self, number: i64) -> &mut Sql {
        self.text += &number.to_string();
        self
    }

    /// Adds another statement.
    pub fn sql(&mut self, other: &Sql) -> &mut Sql {
        self.text += &other.text;
        self.values.extend_from_slice(&other.values);
        self
    }
}

/// A statement that gives rows.
#[derive(Clone, Debug)]
pub struct Select {
    /// The statement.
    pub sql: Sql,
    /// How many values each row has. A server on which others than memtoll have a hand may give others.
    pub columns: usize,
}
