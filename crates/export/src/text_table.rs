//! A table of texts, each once. The first one is empty: a number 0 says that there is none.

use rustc_hash::FxHashMap;

/// Such a table.
pub struct TextTable {
    all: Vec<String>,
    numbers: FxHashMap<String, usize>,
}

impl TextTable {
    /// With the empty text.
    pub fn new() -> TextTable {
        let mut table = TextTable { all: Vec::new(), numbers: FxHashMap::default() };
        table.number("");
        table
    }

    /// The number of a text.
    pub fn number(&mut self, text: &str) -> usize {
        if let Some(known) = self.numbers.get(text) {
            return *known;
        }
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    /// All texts.
    pub fn into_texts(self) -> Vec<String> {
        self.all
    }
}
